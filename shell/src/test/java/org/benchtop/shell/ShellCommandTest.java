package org.benchtop.shell;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(300)
class ShellCommandTest {
    private static final Path SCRIPT = Path.of("/usr/bin/script");
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(200);

    @TempDir
    Path folder;

    private record Result(int exitCode, String out, String err) {}

    private static Result run(String... args) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int exitCode =
                Main.run(new PrintWriter(out, true), new PrintWriter(err, true), new Terminal(false, false, 100), args);
        return new Result(exitCode, out.toString(), err.toString());
    }

    private String script(String text) throws IOException {
        return Files.writeString(folder.resolve("a.jsh"), text).toString();
    }

    @Test
    void scriptSeesTheLab() throws IOException {
        String script = script("""
                var m = spec("tiny").memory("64MiB").build()
                if (!m.name().equals("tiny") || vms().size() != 0) {
                    throw new IllegalStateException(m.toString());
                }
                /exit 7
                """);

        Result result = run("shell", script);

        assertEquals(7, result.exitCode(), result.err());
    }

    @Test
    void scriptWithAnErrorGivesOne() throws IOException {
        Result result = run("shell", script("int a = 1;\nyaml(\"cpus: many\");\nSystem.exit(0);\n"));

        assertEquals(1, result.exitCode());
        assertTrue(result.err().contains("a.jsh:2: error: yaml:1:7 cpus:"), result.err());
    }

    @Test
    void scriptPrintsWithoutClassNames() throws IOException {
        PrintStream before = System.out;
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        System.setOut(new PrintStream(bytes, true, StandardCharsets.UTF_8));
        Result result;
        try {
            result = run("shell", script("print(1)\nprintln(\" two\")\nprintf(\"%s%n\", List.of(3))\n"));
        } finally {
            System.setOut(before);
        }

        assertEquals(0, result.exitCode(), result.err());
        assertEquals("1 two\n[3]\n", bytes.toString(StandardCharsets.UTF_8));
    }

    @Test
    void wrongMachineIsOneLine() throws IOException {
        Path yaml = Files.writeString(folder.resolve("vm.yaml"), "boot: { guest: nobody }\n");

        Result result = run("shell", yaml.toString());

        assertEquals(2, result.exitCode());
        assertEquals(1, result.err().lines().count(), result.err());
        assertTrue(result.err().contains("\"nobody\""), result.err());
    }

    @Test
    void startupScriptIsPrintedForPlainJshell() {
        Result result = run("shell", "--startup");

        assertEquals(0, result.exitCode());
        assertTrue(result.out().contains("import static org.benchtop.shell.lab.Lab.*"), result.out());
    }

    @Test
    void qemuCommandLineBecomesYaml() {
        Result result = run("from-qemu", "--", "qemu-system-x86_64", "-m", "1G", "-kernel", "k", "-display", "none");

        assertEquals(0, result.exitCode(), result.err());
        assertTrue(result.out().contains("memory: 1GiB"), result.out());
        assertTrue(result.err().contains("note: -display none is left out"), result.err());
    }

    /** JShell on a terminal of its own. */
    private static final class Session implements AutoCloseable {
        private final Process process;
        private final StringBuilder seen = new StringBuilder();

        Session(Path home) throws IOException {
            String classPath =
                    System.getProperty("surefire.test.class.path", System.getProperty("java.class.path", ""));
            String command = "stty rows 40 cols 120; exec '" + Path.of(System.getProperty("java.home"), "bin", "java")
                    + "' -XX:TieredStopAtLevel=1 --enable-native-access=ALL-UNNAMED"
                    + " --add-opens jdk.jshell/jdk.jshell=ALL-UNNAMED -Dbenchtop.home='"
                    + Path.of("").toAbsolutePath().resolveSibling("").normalize() + "' -Djava.util.prefs.userRoot='"
                    + home
                    + "' -cp '" + classPath + "' org.benchtop.shell.Main shell";
            ProcessBuilder builder = new ProcessBuilder(SCRIPT.toString(), "-qec", command, "/dev/null");
            builder.environment().put("TERM", "xterm");
            builder.redirectErrorStream(true);
            process = builder.start();
        }

        void type(String text) throws IOException {
            process.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
            process.getOutputStream().flush();
        }

        /** Waits for output that matches, and forgets it and all before. */
        void expect(String regex) throws IOException, InterruptedException {
            Pattern pattern = Pattern.compile(regex);
            InputStream output = process.getInputStream();
            long deadline = System.nanoTime() + PATIENCE_NANOS;
            while (true) {
                Matcher matcher = pattern.matcher(seen);
                if (matcher.find()) {
                    seen.delete(0, matcher.end());
                    return;
                }
                if (System.nanoTime() > deadline || !process.isAlive() && output.available() == 0) {
                    throw new AssertionError("no output matches " + regex + ": " + seen);
                }
                int available = output.available();
                if (available > 0) {
                    seen.append(new String(output.readNBytes(available), StandardCharsets.UTF_8));
                } else {
                    Thread.sleep(5);
                }
            }
        }

        int exitCode() throws InterruptedException {
            assertTrue(process.waitFor(200, TimeUnit.SECONDS), seen::toString);
            return process.exitValue();
        }

        @Override
        public void close() {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
    }

    @Test
    void terminalSessionEvaluatesCompletesExplainsAndIsInterrupted() throws Exception {
        assumeTrue(Files.isExecutable(SCRIPT), "needs " + SCRIPT + " (bsdutils)");
        try (Session session = new Session(folder)) {
            session.expect("lab> ");
            session.type("1 + 2\r");
            session.expect("==> 3");
            session.expect("lab> ");
            session.type("{ System.out.println(\"loop\" + \"ing\"); while (true) { } }\r");
            session.expect("looping");
            session.type("\003");
            session.expect("lab> ");
            session.type("vms().size()\r");
            session.expect("==> 0");
            session.expect("lab> ");
            session.type("bo\t");
            session.expect("boot\\(");
            session.type("\003");
            session.expect("lab> ");
            session.type("machine(\t");
            session.expect("Vm (?:Lab\\.)?machine\\(");
            session.type("\t");
            session.expect("nothing runs yet");
            session.type("q\003");
            session.expect("lab> ");
            session.type("/exit 3\r");

            assertEquals(3, session.exitCode());
        }
    }
}
