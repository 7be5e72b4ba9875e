package org.benchtop.shell;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import jdk.jshell.tool.JavaShellToolBuilder;

/** Runs a script and a session of {@code benchtop shell}, for the launcher: the classes that they need go into the AOT cache. */
public final class ShellTraining {
    private static final String SCRIPT = """
            int doubled(int n) {
                return 2 * n;
            }
            println(doubled(21));
            """;
    private static final String SESSION = """
            1 + 2
            int a = 1;
            String greet(String name) { return "hello " + name; }
            greet("you")
            undefined
            var vm = machine("{memory: 64MiB, boot: {guest: hello}}")
            vm.regs()
            vm.close()
            vms()
            /vars
            /exit
            """;

    private ShellTraining() {}

    /** Runs both; what they print is lost. */
    public static void run() throws Exception {
        Path script = Files.createTempFile("benchtop", ".jsh");
        try {
            Files.writeString(script, SCRIPT);
            PrintWriter nowhere = new PrintWriter(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
            int code = Main.run(nowhere, nowhere, new Terminal(false, false, 100), "shell", script.toString());
            if (code != 0) {
                throw new IOException("the script gave " + code);
            }
        } finally {
            Files.deleteIfExists(script);
        }
        PrintStream lost = new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
        int code = ShellCommand.tool(
                ShellCommand.startup(),
                JavaShellToolBuilder.builder()
                        .persistence(new HashMap<>())
                        .in(new ByteArrayInputStream(SESSION.getBytes(StandardCharsets.UTF_8)), null)
                        .out(lost)
                        .err(lost));
        if (code != 0) {
            throw new IOException("the session gave " + code);
        }
    }
}
