"""Drives the kernel with Jupyter's own client. Usage: protocol.py; the kernel is found by JUPYTER_DATA_DIR.

Prints a line for every check; the exit code is 1 if one has failed. Times are printed, never checked: machines differ.
"""
import hashlib
import hmac
import json
import os
import queue
import signal
import subprocess
import sys
import time
import uuid

import zmq
from jupyter_client.manager import KernelManager, start_new_kernel

TIMEOUT = 120
failures = 0


def check(name, good, detail=""):
    global failures
    print(("ok   " if good else "FAIL ") + name + (": " + str(detail) if detail != "" else ""), flush=True)
    failures += not good


class Run:
    """What a cell has shown."""

    def __init__(self, reply, messages):
        self.reply = reply["content"]
        self.messages = messages

    def text(self, name="stdout"):
        return "".join(m["content"]["text"] for m in self.messages
                       if m["msg_type"] == "stream" and m["content"]["name"] == name)

    def result(self, form="text/plain"):
        for m in self.messages:
            if m["msg_type"] == "execute_result":
                return m["content"]["data"].get(form)
        return None


def collect(kc, msg_id):
    messages = []
    while True:
        m = kc.get_iopub_msg(timeout=TIMEOUT)
        if m["parent_header"].get("msg_id") != msg_id:
            continue
        messages.append(m)
        if m["msg_type"] == "status" and m["content"]["execution_state"] == "idle":
            break
    while True:
        reply = kc.get_shell_msg(timeout=TIMEOUT)
        if reply["parent_header"].get("msg_id") == msg_id:
            return Run(reply, messages)


def run(kc, code, **options):
    return collect(kc, kc.execute(code, **options))


def ask(kc, msg_id):
    while True:
        reply = kc.get_shell_msg(timeout=TIMEOUT)
        if reply["parent_header"].get("msg_id") == msg_id:
            return reply["content"]


def await_text(kc, msg_id, wanted):
    while True:
        m = kc.get_iopub_msg(timeout=TIMEOUT)
        if m["parent_header"].get("msg_id") == msg_id and m["msg_type"] == "stream" and wanted in m["content"]["text"]:
            return


def execution(km, kc):
    r = run(kc, "int a = 20;\na + 22")
    check("expression", r.result() == "42", r.reply)
    r = run(kc, "int b = 1;", user_expressions={"sum": "a + b"})
    check("user expressions", r.reply["user_expressions"]["sum"]["data"]["text/plain"] == "21")
    r = run(kc, "throw new IllegalStateException(\"on purpose\", new RuntimeException(\"deep\"));")
    trace = "\n".join(r.reply["traceback"])
    check("error names class and cause", r.reply["ename"] == "IllegalStateException" and "deep" in trace, trace)
    check("error names no generated class", "$JShell$" not in trace and "REPL" not in trace)
    first = kc.execute("Thread.sleep(500); throw new RuntimeException();")
    second = kc.execute("System.out.println(\"no\")")
    collect(kc, first)
    check("stop on error", collect(kc, second).reply["status"] == "aborted")
    r = run(kc, "System.exit(1)")
    check("System.exit is refused", r.reply["status"] == "error" and run(kc, "1").result() == "1")
    r = run(kc, "int down(int n) { return 1 + down(n); }\ndown(1)")
    check("stack overflow", r.reply["ename"] == "StackOverflowError" and run(kc, "2").result() == "2")
    r = run(kc, "List<byte[]> full = new ArrayList<>(); while (true) full.add(new byte[64 << 20]);")
    check("heap exhausted", r.reply["ename"] == "OutOfMemoryError", r.reply["evalue"])
    check("alive after that", run(kc, "full = null; 3").result() == "3")
    start = time.time()
    r = run(kc, "for (int i = 0; i < 1_000_000; i++) System.out.println(i);")
    check("a million lines", r.text().count("\n") == 1_000_000, "%.2f s" % (time.time() - start))


def questions(km, kc):
    run(kc, "var words = List.of(\"x\", \"y\");")
    c = ask(kc, kc.complete("words.get(0).toUpp", 18))
    check("completion of members", "toUpperCase()" in c["matches"] or "toUpperCase(" in c["matches"], c["matches"])
    c = ask(kc, kc.complete("%%vm\ndrives:\n  d: { type: fi", 28))
    check("completion in YAML", c["matches"] == ["file"], c["matches"])
    c = ask(kc, kc.complete("%%v", 3))
    check("completion of magics", c["matches"] == ["%%vm"], c["matches"])
    c = ask(kc, kc.complete("machine(\"\").conso", 17))
    check("completion of the lab", any(m.startswith("console(") for m in c["matches"]), c["matches"])
    i = ask(kc, kc.inspect("String.valueOf(1)", 9))
    check("documentation of the JDK", i["found"] and "valueOf" in i["data"]["text/plain"])
    i = ask(kc, kc.inspect("machine(\"\")", 4))
    check("documentation of the lab", i["found"] and "nothing runs yet" in i["data"]["text/plain"], i["data"])
    check("complete", ask(kc, kc.is_complete("int i = 1;"))["status"] == "complete")
    check("incomplete", ask(kc, kc.is_complete("if (true) {"))["status"] == "incomplete")
    check("invalid", ask(kc, kc.is_complete("int ) 1"))["status"] == "invalid")
    h = ask(kc, kc.history(hist_access_type="tail", n=3, output=False, raw=True))["history"]
    check("history", any("words" in entry[2] for entry in h), h)
    check("comms", ask(kc, kc.comm_info())["comms"] == {})


def user_input(km, kc):
    msg_id = kc.execute("System.out.println(\"got \" + input(\"name? \"))", allow_stdin=True)
    question = kc.get_stdin_msg(timeout=TIMEOUT)
    check("prompt", question["content"] == {"prompt": "name? ", "password": False}, question["content"])
    kc.input("Grace")
    check("input", "got Grace" in collect(kc, msg_id).text())


def displays(km, kc):
    r = run(kc, "var id = display(html(\"<b>1</b>\")); updateDisplay(id, html(\"<b>2</b>\"));")
    kinds = [m["msg_type"] for m in r.messages]
    check("display and update", "display_data" in kinds and "update_display_data" in kinds, kinds)
    run(kc, "var gate = new CountDownLatch(1);")
    owner = kc.execute("Thread.ofPlatform().start(() -> { try { gate.await(); } catch (InterruptedException e) { } "
                       "System.out.println(\"late\"); });")
    collect(kc, owner)
    opener = kc.execute("gate.countDown();")
    while True:
        m = kc.get_iopub_msg(timeout=TIMEOUT)
        if m["msg_type"] == "stream" and "late" in m["content"]["text"]:
            check("late output belongs to its cell", m["parent_header"]["msg_id"] == owner)
            break
    while kc.get_shell_msg(timeout=TIMEOUT)["parent_header"].get("msg_id") != opener:
        pass


def interrupts(km, kc):
    for name, code in [("a busy loop", "while (true) { }"),
                       ("a sleep", "Thread.sleep(1_000_000);"),
                       ("a wait for a machine", "v.awaitExit();")]:
        if "v." in code:
            # A guest that never ends.
            r = run(kc, "var v = machine(\"{name: endless, memory: 64MiB, "
                        "boot: {guest: cpuburn, cmdline: seconds=3600}}\").start();")
            if r.reply["status"] != "ok":
                print("skip interrupt of a machine:", r.reply["evalue"], flush=True)
                continue
        msg_id = kc.execute("System.out.println(\"begun\");\n" + code)
        await_text(kc, msg_id, "begun")
        start = time.time()
        km.interrupt_kernel()
        r = collect(kc, msg_id)
        check("interrupt by message ends " + name, r.reply["status"] == "error",
              "%s after %.0f ms" % (r.reply["ename"], (time.time() - start) * 1000))
    r = run(kc, "vms().size()")
    if r.result() == "1":
        r = run(kc, "var was = v.state().toString(); v.pause(); v.regs(); v.close(); was + vms().size()")
        check("the machine is sane", r.result() == "RUNNING0", r.result())
    msg_id = kc.execute("System.out.println(\"begun\"); while (true) { }")
    await_text(kc, msg_id, "begun")
    pid = int(run_pid)
    start = time.time()
    os.kill(pid, signal.SIGINT)
    r = collect(kc, msg_id)
    check("interrupt by signal", r.reply["status"] == "error", "%.0f ms" % ((time.time() - start) * 1000))


def hostile(km, kc):
    info = km.get_connection_info()
    context = zmq.Context()
    socket = context.socket(zmq.DEALER)
    socket.linger = 1000
    socket.connect("tcp://%s:%d" % (info["ip"], info["shell_port"]))
    header = json.dumps({"msg_id": str(uuid.uuid4()), "session": "x", "username": "u", "date": "", "version": "5.4",
                         "msg_type": "execute_request"}).encode()
    parts = [header, b"{}", b"{}", b"{\"code\": \"System.out.println(1)\"}"]
    forged = hmac.new(b"guess", digestmod=hashlib.sha256)
    for part in parts:
        forged.update(part)
    for frames in [[b"<IDS|MSG>", forged.hexdigest().encode()] + parts,
                   [b"<IDS|MSG>"], [b""], [b"x"] * 20, [b"<IDS|MSG>", b"", b"", b"", b"", b""],
                   [os.urandom(1000) for _ in range(6)]]:
        socket.send_multipart(frames)
    for channel in ["control_port", "stdin_port", "hb_port"]:
        other = context.socket(zmq.DEALER)
        other.linger = 1000
        other.connect("tcp://%s:%d" % (info["ip"], info[channel]))
        other.send_multipart([b"", b"garbage", b"\xff" * 100])
        other.close()
    check("survives forged and malformed messages", run(kc, "4").result() == "4" and kc.is_alive())
    socket.close()
    context.term()


def restarts(km, kc):
    run(kc, "int gone = 1;")
    km.restart_kernel(now=False)
    kc.wait_for_ready(timeout=TIMEOUT)
    r = run(kc, "gone")
    check("restart forgets", r.reply["status"] == "error", r.reply.get("ename"))


def ends_with_its_server():
    """A server that is killed takes its kernel along."""
    server = subprocess.Popen([sys.executable, "-c", """
import sys, time
from jupyter_client.manager import start_new_kernel
km, kc = start_new_kernel(kernel_name="benchtop", startup_timeout=120)
msg_id = kc.execute("System.out.println(ProcessHandle.current().pid())")
while True:
    m = kc.get_iopub_msg(timeout=120)
    if m["msg_type"] == "stream":
        print(m["content"]["text"].strip(), flush=True)
        break
time.sleep(1000)
"""], stdout=subprocess.PIPE)
    pid = int(server.stdout.readline())
    server.kill()
    server.wait()
    deadline = time.time() + TIMEOUT
    start = time.time()
    while time.time() < deadline and os.path.exists("/proc/%d" % pid):
        time.sleep(0.05)
    check("ends with its server", not os.path.exists("/proc/%d" % pid), "%.1f s" % (time.time() - start))


def main():
    global run_pid
    # Ignored in what a shell starts in the background, and kernels would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    start = time.time()
    km, kc = start_new_kernel(kernel_name="benchtop", startup_timeout=TIMEOUT)
    print("kernel ready after %.2f s" % (time.time() - start), flush=True)
    try:
        run_pid = run(kc, "ProcessHandle.current().pid()").result()
        for part in [execution, questions, user_input, displays, interrupts, hostile, restarts]:
            try:
                part(km, kc)
            except queue.Empty:
                check(part.__name__ + " was answered in time", False)
        kc.shutdown()
        deadline = time.time() + TIMEOUT
        while km.is_alive() and time.time() < deadline:
            time.sleep(0.05)
        check("shutdown", not km.is_alive())
    finally:
        kc.stop_channels()
        if km.is_alive():
            km.shutdown_kernel(now=True)
    ends_with_its_server()
    sys.exit(1 if failures else 0)


main()
