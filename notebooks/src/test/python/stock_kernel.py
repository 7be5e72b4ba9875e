"""Uses the lab in a Java kernel of others. Usage: stock_kernel.py KERNEL JAR; KERNEL is found by JUPYTER_DATA_DIR.

Prints a line for every check; the exit code is 1 if one has failed. Works with JJava's own kernel, too.
"""
import sys

from jupyter_client.manager import start_new_kernel

TIMEOUT = 120
failures = 0


def run(kc, code):
    """Runs a cell; returns the reply, its result as text, and what it printed."""
    msg_id = kc.execute(code)
    result, text = "", ""
    while True:
        m = kc.get_iopub_msg(timeout=TIMEOUT)
        if m["parent_header"].get("msg_id") != msg_id:
            continue
        if m["msg_type"] == "execute_result":
            result = m["content"]["data"].get("text/plain", "")
        elif m["msg_type"] == "stream":
            text += m["content"]["text"]
        elif m["msg_type"] == "status" and m["content"]["execution_state"] == "idle":
            break
    while True:
        reply = kc.get_shell_msg(timeout=TIMEOUT)
        if reply["parent_header"].get("msg_id") == msg_id:
            return reply["content"], result, text


def check(name, code, wanted):
    global failures
    reply, result, text = run(KC, code)
    good = reply["status"] == "ok" and wanted in result + text
    print(("ok   " if good else "FAIL ") + name + ": " + (result + text).strip().replace("\n", " | ")[:200]
          + ("" if reply["status"] == "ok" else " ".join(reply.get("traceback", []))[:2000]), flush=True)
    failures += not good


KM, KC = start_new_kernel(kernel_name=sys.argv[1], startup_timeout=TIMEOUT)
try:
    reply, _, _ = run(KC, "org.benchtop.shell.lab.Lab.vms()")
    print("ok   " if reply["status"] == "error" else "FAIL ", "does not know Benchtop before", flush=True)
    failures += reply["status"] != "error"
    check("class path", "%classpath add " + sys.argv[2], "")
    check("import", "import static org.benchtop.shell.lab.Lab.*;\nimport java.time.Duration;", "")
    check("machine", "var vm = machine(\"{name: stock, memory: 64MiB, boot: {guest: hello}}\");\nvm.name()", "stock")
    check("boot", "vm.start().awaitExit(Duration.ofMinutes(1)).toString()", "GuestExit[code=0]")
    check("console", "vm.console().transcript()", "ello")
    check("registers", "vm.regs().toString()", "rip=")
    check("memory", "vm.mem(0x400000, 16).toString()", "00400000")
    check("disassembly", "vm.disasm(3).toString()", "=>")
    check("PCI", "vm.pci().toString()", "8086:1237")
    check("devices", "vm.devices().toString()", "isa-serial")
    check("exits", "vm.exits().toString()", "exits")
    check("mistakes", "try { machine(\"{memory: 64MiB, boot: {guest: helo}}\"); } catch (RuntimeException e) {"
          " System.out.println(e.getMessage()); }", "did you mean \"hello\"")
    check("close", "vm.close();\nvms().size()", "0")
finally:
    KC.stop_channels()
    KM.shutdown_kernel(now=True)
sys.exit(1 if failures else 0)
