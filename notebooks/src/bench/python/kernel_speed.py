"""How fast the kernel is, seen from Jupyter's own client; and whether it keeps its size.

Usage: /usr/bin/python3 notebooks/src/bench/python/kernel_speed.py [--cells N] [--json FILE] [--launcher FILE] [PART...]

Starts kernels by ./benchtop as Jupyter does, so it needs nothing but a build and Debian's python3-jupyter-client. Parts are
start, info, cell, print, complete, card, interrupt, prompt, leak; without names all of them run. Targets are those of the project; a figure
that misses one is marked and the exit code is 1.
"""
import argparse
import json
import os
import pathlib
import pty
import signal
import statistics
import sys
import tempfile
import time

HOME = pathlib.Path(__file__).resolve().parents[4]
TIMEOUT = 120
figures = {}


def note(name, value, unit, target=None, detail=""):
    """Prints and keeps a figure; it should not be above the target."""
    good = target is None or value <= target
    figures[name] = {"value": round(value, 4), "unit": unit, "target": target, "good": good}
    wanted = "" if target is None else "  target %g %s%s" % (target, unit, "" if good else "  MISSED")
    print("%-34s %10.4g %-6s%s%s" % (name, value, unit, wanted, "  (" + detail + ")" if detail else ""), flush=True)


def spread(values):
    return "median of %d, %.4g to %.4g" % (len(values), min(values), max(values))


class Kernel:
    """A running kernel and the client that asks it."""

    def __init__(self):
        from jupyter_client.manager import KernelManager
        self.manager = KernelManager(kernel_name="benchtop")
        self.begun = time.perf_counter()
        self.manager.start_kernel()
        self.client = self.manager.client()
        self.client.start_channels()
        self.ask(self.client.kernel_info())
        self.ready = time.perf_counter() - self.begun
        self.pid = self.manager.provisioner.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=False)

    def ask(self, msg_id):
        while True:
            reply = self.client.get_shell_msg(timeout=TIMEOUT)
            if reply["parent_header"].get("msg_id") == msg_id:
                return reply["content"]

    def run(self, code):
        """Runs a cell; returns its result as text, and what it printed."""
        msg_id = self.client.execute(code)
        result, text = None, []
        while True:
            m = self.client.get_iopub_msg(timeout=TIMEOUT)
            if m["parent_header"].get("msg_id") != msg_id:
                continue
            if m["msg_type"] == "execute_result":
                result = m["content"]["data"].get("text/plain")
            elif m["msg_type"] == "stream":
                text.append(m["content"]["text"])
            elif m["msg_type"] == "error":
                raise SystemExit("a cell failed: " + "\n".join(m["content"]["traceback"]))
            elif m["msg_type"] == "status" and m["content"]["execution_state"] == "idle":
                break
        self.ask(msg_id)
        return result, text

    def size(self):
        """What the kernel's process holds: bytes of live heap, descriptors, threads, mappings."""
        heap = int(self.run("for (int i = 0; i < 4; i++) { System.gc(); Thread.sleep(50); }\n"
                            "Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory()")[0])
        process = "/proc/%d/" % self.pid
        with open(process + "maps") as maps:
            mappings = sum(1 for _ in maps)
        with open(process + "status") as status:
            rss = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
        return {"heap": heap / 2**20, "rss": rss / 2**10, "descriptors": len(os.listdir(process + "fd")),
                "threads": len(os.listdir(process + "task")), "mappings": mappings}


def timed(action, times, warm=0):
    for _ in range(warm):
        action()
    took = []
    for _ in range(times):
        begin = time.perf_counter()
        action()
        took.append(time.perf_counter() - begin)
    return took


def start(options):
    ready, first = [], []
    # The first one fills the page cache.
    for i in range(8):
        with Kernel() as kernel:
            kernel.run("1 + 1")
            if i > 0:
                ready.append(kernel.ready)
                first.append(time.perf_counter() - kernel.begun)
    note("kernel ready", statistics.median(ready), "s", 0.8, spread(ready))
    note("first cell answered", statistics.median(first), "s", detail=spread(first))


def info(options):
    with Kernel() as kernel:
        took = [t * 1000 for t in timed(lambda: kernel.ask(kernel.client.kernel_info()), 100, 20)]
    note("kernel_info", statistics.median(took), "ms", 15, spread(took))


def cell(options):
    with Kernel() as kernel:
        numbers = iter(range(10**6))
        took = [t * 1000 for t in timed(lambda: kernel.run("1 + %d" % next(numbers)), 100, 20)]
        note("trivial cell", statistics.median(took), "ms", 60, spread(took))
        took = [t * 1000 for t in timed(lambda: kernel.run("var v%d = 1;" % next(numbers)), 50, 5)]
        note("cell with a variable", statistics.median(took), "ms", detail=spread(took))


def print_lines(options):
    code = "for (int i = 0; i < 10_000; i++) System.out.println(i);"
    with Kernel() as kernel:
        kernel.run("1")
        took, messages = [], 0
        for _ in range(11):
            begin = time.perf_counter()
            _, text = kernel.run(code)
            took.append(time.perf_counter() - begin)
            messages = len(text)
            assert "".join(text).count("\n") == 10_000
    note("10,000 println", statistics.median(took), "s", 0.2, spread(took) + ", the first %.3g, %d messages"
         % (took[0], messages))


QUESTIONS = ["machine(\"\").con", "vm.", "vm.console().", "Math.ab", "new Array", "System.out.pri", "List.of(1).stream().ma",
             "Duration.of", "plo", "var x = 3; x + word", "for (String s : words) { s.toU", "%%vm\ndrives:\n  d: { type: ",
             "%%vm\nmem", "%%", "import java.util.conc"]


def complete(options):
    with Kernel() as kernel:
        kernel.run("var words = List.of(\"a\");")
        kernel.run("var vm = machine(\"{memory: 64MiB, boot: {guest: hello}}\");")
        took, slow = [], {}
        for turn in range(6):
            for code in QUESTIONS:
                begin = time.perf_counter()
                answer = kernel.ask(kernel.client.complete(code, len(code)))
                spent = (time.perf_counter() - begin) * 1000
                assert answer["matches"], code
                if turn > 0:
                    took.append(spent)
                    slow.setdefault(code, []).append(spent)
                else:
                    slow[code + " (first time)"] = [spent]
        kernel.run("vm.close();")
    worst = max(slow, key=lambda code: statistics.median(slow[code]))
    note("completion", statistics.median(took), "ms", 150, spread(took))
    note("slowest completion", statistics.median(slow[worst]), "ms", detail=repr(worst))


def card(options):
    with Kernel() as kernel:
        kernel.run("var vm = boot(\"\"\"\nmemory: 64MiB\nboot: { guest: diskcheck, cmdline: seconds=0 }\n"
                   "drives:\n  d: { type: memory, size: 4MiB }\ndevices:\n  - { type: virtio-blk-pci, drive: d }\n\"\"\");\n"
                   "vm.awaitExit();")
        # In one method: between two statements of a cell there is the compiler.
        kernel.run("double card() { long begin = System.nanoTime(); render(vm); return (System.nanoTime() - begin) / 1e6; }")
        took = [float(kernel.run("card()")[0]) for _ in range(21)]
        note("VM card rendered", statistics.median(took), "ms", 50, spread(took) + ", the first %.3g" % took[0])
        took = [t * 1000 for t in timed(lambda: kernel.run("vm"), 20, 3)]
        note("cell that shows a VM", statistics.median(took), "ms", detail=spread(took))
        kernel.run("vm.close();")


def interrupt(options):
    """How long it takes from the request to the end of the cell."""
    with Kernel() as kernel:
        kernel.run("var v = machine(\"{memory: 64MiB, boot: {guest: cpuburn, cmdline: seconds=3600}}\").start();")
        for name, code in [("while (true) {}", "while (true) { }"), ("running VM call", "v.awaitExit();")]:
            took = []
            for _ in range(11):
                msg_id = kernel.client.execute("System.out.println(\"begun\");\n" + code)
                while True:
                    m = kernel.client.get_iopub_msg(timeout=TIMEOUT)
                    if m["msg_type"] == "stream" and "begun" in m["content"]["text"]:
                        break
                # Until the statement after the printing has been compiled and runs.
                time.sleep(0.3)
                begin = time.perf_counter()
                kernel.manager.interrupt_kernel()
                answer = kernel.ask(msg_id)
                took.append((time.perf_counter() - begin) * 1000)
                assert answer["status"] == "error", answer
            note("interrupt of " + name, statistics.median(took), "ms", 200, spread(took))
        kernel.run("v.close();")


def prompt(options):
    """From the command to the first prompt of a terminal session."""
    took = []
    for i in range(6):
        begin = time.perf_counter()
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ["TERM"] = "xterm"
            os.execv(options.launcher, [options.launcher, "shell"])
        seen = b""
        while b"lab> " not in seen:
            seen += os.read(terminal, 65536)
        if i > 0:
            took.append(time.perf_counter() - begin)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
    note("first prompt of benchtop shell", statistics.median(took), "s", detail=spread(took))


def leak(options):
    """Cells that make, run, show and close a machine: what is held after the first tenth is all that is ever held."""
    code = ("var vm = boot(\"{memory: 64MiB, boot: {guest: hello}}\");\nvm.awaitExit();\nvar shown = vm.summary();\n"
            "vm.close();\nshown")
    with Kernel() as kernel:
        warm = max(1, options.cells // 10)
        for _ in range(warm):
            kernel.run(code)
        early = kernel.size()
        begin = time.perf_counter()
        for _ in range(options.cells - warm):
            kernel.run(code)
        per_cell = (time.perf_counter() - begin) / (options.cells - warm)
        late = kernel.size()
    note("cell with the life of a VM", per_cell * 1000, "ms", detail="%d cells" % options.cells)
    # Of a cell the JVM keeps its classes, which it cannot unload one by one; a machine that is kept would be megabytes.
    for key, allowed, unit in [("heap", 0.015 * options.cells, "MiB"), ("rss", None, "MiB"), ("descriptors", 0, ""), ("threads", 0, ""),
                               ("mappings", 20, "")]:
        note(key + " growth", late[key] - early[key], unit, allowed,
             "%.0f after %d cells, %.0f after %d" % (early[key], warm, late[key], options.cells))


PARTS = {"start": start, "info": info, "cell": cell, "print": print_lines, "complete": complete, "card": card, "interrupt": interrupt,
         "prompt": prompt, "leak": leak}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cells", type=int, default=1000, help="how many cells the part leak runs (default: 1000)")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file, too")
    parser.add_argument("--launcher", metavar="FILE", default=str(HOME / "benchtop"), help="another build's launcher")
    parser.add_argument("parts", nargs="*", metavar="PART", help="of: " + ", ".join(PARTS))
    options = parser.parse_args()
    for part in options.parts:
        if part not in PARTS:
            parser.error("unknown part %s (known: %s)" % (part, ", ".join(PARTS)))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["JUPYTER_DATA_DIR"] = folder + "/data"
        os.environ["JUPYTER_RUNTIME_DIR"] = folder + "/runtime"
        os.environ["BENCHTOP_NO_BUILD"] = "1"
        os.environ["BENCHTOP_JAVA_OPTS"] = os.environ.get("BENCHTOP_JAVA_OPTS", "") + " -Dbenchtop.notebook.forget=true"
        spec = pathlib.Path(folder, "data/kernels/benchtop")
        spec.mkdir(parents=True)
        spec.joinpath("kernel.json").write_text(json.dumps({
            "argv": [options.launcher, "kernel", "start", "{connection_file}"], "display_name": "Benchtop",
            "language": "java", "interrupt_mode": "message"}))
        print("load before: %.2f %.2f %.2f, %d processors" % (*os.getloadavg(), os.cpu_count()), flush=True)
        for part in options.parts or PARTS:
            PARTS[part](options)
        print("load after: %.2f %.2f %.2f" % os.getloadavg(), flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=2) + "\n")
    sys.exit(0 if all(figure["good"] for figure in figures.values()) else 1)


main()
