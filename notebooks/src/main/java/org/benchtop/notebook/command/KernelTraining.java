package org.benchtop.notebook.command;

import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.benchtop.notebook.kernel.History;
import org.benchtop.notebook.kernel.Kernel;
import org.benchtop.notebook.magic.LabEnvironment;
import org.benchtop.notebook.wire.Channels;
import org.benchtop.notebook.wire.ConnectionFile;
import org.benchtop.notebook.wire.Json;
import org.benchtop.notebook.wire.MessageCodec;
import org.benchtop.shell.ShellTraining;
import org.jspecify.annotations.Nullable;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** Runs a kernel and a shell through ordinary sessions, for the launcher: the classes that they need go into the AOT cache. */
public final class KernelTraining {
    private static final int TIMEOUT_MILLIS = 30_000;
    private static final ConnectionFile ANY_PORTS =
            new ConnectionFile("tcp", "127.0.0.1", 0, 0, 0, 0, 0, "hmac-sha256", "training");
    private static final List<String> CELLS = List.of(
            "int a = 1;\nString greet(String name) { return \"hello \" + name; }\ngreet(\"you\")",
            "for (int i = 0; i < 1000; i++) System.out.println(i); List.of(1, 2, 3).stream().map(i -> i + a).toList()",
            "undefined",
            "throw new IllegalStateException(\"on purpose\");",
            "record Point(int x, int y) {}\nvar points = new ArrayList<Point>(); points.add(new Point(1, 2)); points",
            "%who",
            "%%vm\nmemory: 64MiB\nboot: { guest: hello }\n",
            "vm.start(); vm.awaitExit(Duration.ofSeconds(20)); vm",
            "vm.console()",
            "vm.stats()",
            "vm.exits()",
            "vm.regs()",
            "vm.close(); plot(1, 2, 3)",
            "display(html(\"<b>x</b>\"))");

    private final ZMQ.Socket shell;
    private final MessageCodec codec = new MessageCodec(ANY_PORTS.signatureScheme(), ANY_PORTS.key());

    private KernelTraining(ZMQ.Socket shell) {
        this.shell = shell;
    }

    /** Runs and ends the process. */
    public static void main(String[] args) throws Exception {
        System.setProperty("java.awt.headless", "true");
        Channels channels = new Channels(ANY_PORTS);
        LabEnvironment environment = new LabEnvironment();
        Kernel kernel = new Kernel(channels, environment, new History(Optional.empty()), () -> {});
        kernel.start();
        try (ZContext context = new ZContext()) {
            ZMQ.Socket shell = context.createSocket(SocketType.DEALER);
            shell.setReceiveTimeOut(TIMEOUT_MILLIS);
            shell.connect("tcp://127.0.0.1:" + channels.bound().shellPort());
            new KernelTraining(shell).run();
        }
        kernel.close();
        environment.close();
        channels.close();
        ShellTraining.run();
        System.exit(0);
    }

    private void run() {
        ask("kernel_info_request", new JsonObject());
        for (String cell : CELLS) {
            ask("execute_request", Json.object("code", cell, "silent", false, "store_history", true));
        }
        ask("complete_request", Json.object("code", "\"x\".toUp", "cursor_pos", 8));
        ask("complete_request", Json.object("code", "machine(\"\").con", "cursor_pos", 15));
        ask("complete_request", Json.object("code", "%%vm\ndrives:\n  d: { type: ", "cursor_pos", 27));
        ask("inspect_request", Json.object("code", "Math.abs(1)", "cursor_pos", 6));
        ask("inspect_request", Json.object("code", "machine(\"\")", "cursor_pos", 4));
        ask("is_complete_request", Json.object("code", "for (;;) {"));
        ask("history_request", Json.object("hist_access_type", "tail", "n", 10));
    }

    private void ask(String type, JsonObject content) {
        List<byte[]> frames =
                new ArrayList<>(codec.encode(List.of(), type, new JsonObject(), new JsonObject(), content, List.of()));
        for (int i = 0; i < frames.size(); i++) {
            shell.send(frames.get(i), i < frames.size() - 1 ? ZMQ.SNDMORE : 0);
        }
        byte @Nullable [] reply = shell.recv();
        while (reply != null && shell.hasReceiveMore()) {
            reply = shell.recv();
        }
    }
}
