package org.benchtop.notebook.magic;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.io.OutputStream;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.benchtop.notebook.kernel.History;
import org.benchtop.notebook.kernel.Kernel;
import org.benchtop.notebook.wire.Channels;
import org.benchtop.notebook.wire.ConnectionFile;
import org.benchtop.notebook.wire.Json;
import org.benchtop.notebook.wire.Message;
import org.benchtop.notebook.wire.TestClient;
import org.benchtop.notebook.wire.TestClient.Exchange;
import org.benchtop.shell.jshell.ApiSources;
import org.benchtop.shell.lab.Lab;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Cells with the lab, over real sockets: its magics, live views, mistakes. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(300)
class LabKernelTest {
    @TempDir
    static Path folder = Path.of("");

    private final Channels channels =
            new Channels(new ConnectionFile("tcp", "127.0.0.1", 0, 0, 0, 0, 0, "hmac-sha256", "secret"));
    private final LabEnvironment environment;
    private final Kernel kernel;
    private final TestClient client;

    LabKernelTest() {
        System.setProperty("java.awt.headless", "true");
        // Where sources are found: the checkout.
        System.setProperty(
                "benchtop.home", Path.of("").toAbsolutePath().resolveSibling("").toString());
        environment = new LabEnvironment();
        kernel = new Kernel(channels, environment, new History(Optional.empty()), () -> {});
        client = new TestClient(channels.bound());
    }

    @BeforeAll
    void start() throws InterruptedException {
        kernel.start();
        client.awaitPublished(message -> message.type().equals("iopub_welcome"));
        kernel.awaitReady();
    }

    @AfterEach
    void closeMachines() {
        Lab.closeAll();
    }

    @AfterAll
    void close() {
        client.close();
        kernel.close();
        environment.close();
        channels.close();
    }

    private static String data(Message message, String form) {
        return Json.string(Json.member(message.content(), "data"), form).orElse("");
    }

    private String good(String code) {
        Exchange exchange = client.execute(code);
        assertEquals("ok", exchange.status(), exchange::traceback);
        return exchange.result();
    }

    private String bad(String code) {
        Exchange exchange = client.execute(code);
        assertEquals("error", exchange.status(), exchange::result);
        return exchange.traceback();
    }

    // ---- machines

    @Test
    void yamlCellBecomesAMachineAndMayRunAgain() {
        String cell = "%%vm quick\nmemory: 64MiB\nboot: { guest: hello }\n";

        String shown = good(cell);
        good(cell);

        assertTrue(shown.contains("quick"), shown);
        assertEquals("1", good("vms().size()"));
        assertEquals("GuestExit[code=0]", good("quick.start(); quick.awaitExit()"));
    }

    @Test
    void mistakeInYamlIsMarkedWithoutAnyTrace() {
        String traceback = bad("%%vm\nmemory: 64MiB\nboot: { guest: hello }\ndevices:\n  - { type: virtio-blk-pc }\n");

        assertTrue(traceback.contains("cell:5:"), traceback);
        assertTrue(traceback.contains("did you mean \"virtio-blk-pci\"?"), traceback);
        assertTrue(traceback.contains("▶ 5 │   - { type: virtio-blk-pc }"), traceback);
        assertTrue(traceback.contains("^^^^"), traceback);
        assertFalse(traceback.contains("\tat ") || traceback.contains("    at "), traceback);
    }

    @Test
    void mistakeInYamlTextIsOneLine() {
        String traceback = bad("machine(\"\"\"\n  memory: 64MiB\n  cpus: many\n  \"\"\")");

        assertTrue(traceback.contains("yaml:2:7 cpus"), traceback);
        assertFalse(traceback.contains("org.benchtop"), traceback);
    }

    @Test
    void qemuCommandLineBecomesAMachine() {
        Exchange exchange = client.execute("%%qemu q\nqemu-system-x86_64 -m 64M \\\n  -smp 2 -kernel /dev/null\n");

        // There is no such kernel, so only the translation is seen; the machine's own message follows.
        String all = exchange.text("stdout") + (exchange.status().equals("error") ? exchange.traceback() : "");
        assertTrue(all.contains("memory: 64MiB") && all.contains("cpus: 2"), all);
        assertTrue(bad("%%qemu\n-m 64M -device floppy-of-the-future").contains("floppy-of-the-future"));
    }

    @Test
    void guestCellIsCompiledAndBooted() {
        good("%%guest seven\nimport org.benchtop.guests.rt.Console;\nConsole.println(\"from the cell\");\nreturn 7;");

        assertEquals("GuestExit[code=7]", good("var g = boot(seven); g.awaitExit()"));
        assertTrue(good("g.console().transcript()").contains("from the cell"));
        String traceback = bad("%%guest broken\nreturn \"text\";");
        assertTrue(traceback.contains("▶ 2 │ return \"text\";"), traceback);
    }

    @Test
    void mistakeInAGuestCellIsMarkedInItsLine() {
        String java = bad(
                "%%guest wrong\nimport org.benchtop.guests.rt.Console;\n\nint one = 1;\nint two = \"2\";\nreturn 0;");
        String missing = bad("%%guest wrong\nint one = 1;\n\nimport org.benchtop.nowhere.Console;\nreturn 0;");
        String heap = bad(
                "%%guest wrong\nimport org.benchtop.guests.rt.Console;\n\nint one = 1;\nObject o = new Object();\nreturn 0;");
        String method = bad(
                "%%guest wrong\nstatic class Inner {\n    static int deep() {\n        return \"x\".length();\n    }\n}\n"
                        + "static int main() {\n    return Inner.deep();\n}");

        assertTrue(java.contains("▶ 5 │ int two = \"2\";"), java);
        assertTrue(missing.contains("▶ 4 │ import org.benchtop.nowhere.Console;"), missing);
        assertTrue(heap.matches("(?s).*GuestWrong.main\\(\\) \\(cell \\d+, line 5\\): .*"), heap);
        assertTrue(heap.contains("▶ 5 │ Object o = new Object();"), heap);
        assertTrue(method.contains("▶ 4 │         return \"x\".length();"), method);
    }

    @Test
    void mistakeInGuestCodeIsToldByTheCellThatHasIt() {
        good(
                "int before = 1;\n\nclass Far {\n    static int main() {\n        Object o = new Object();\n        return 0;\n    }\n}");

        String there = bad("// another cell\nguest(\"far\", Far.class, \"main\")");
        String lambda = bad(
                "int around = 2;\nvar g = guest(\"lambda\", () -> {\n    Object o = new Object();\n    return 0;\n});");

        assertTrue(there.matches("(?s).*Far.main\\(\\) \\(cell \\d+, line 5\\): .*"), there);
        assertTrue(there.contains("▶ 2 │ guest(\"far\""), there);
        assertTrue(lambda.matches("(?s).*\\(cell \\d+, line 3\\): .*"), lambda);
        assertTrue(lambda.contains("▶ 3 │     Object o = new Object();"), lambda);
    }

    @Test
    void guestCodeIsCalledAsItWasTyped() {
        good("class Typed {\n    static int main() {\n        return 3;\n    }\n}");
        good("class Heap {\n    static int main() {\n        Object o = new Object();\n        return 0;\n    }\n}");

        String code = good("var typed = guest(\"typed\", Typed.class, \"main\");\n"
                + "machine(typed).disasm(typed.address(\"main\"), 3)");
        String traceback = bad("guest(\"heap\", Heap.class, \"main\")");

        assertTrue(code.contains("Typed.main()I:3") && !code.contains("JShell"), code);
        assertTrue(traceback.contains("Heap.main() (cell ") && !traceback.contains("JShell"), traceback);
        assertTrue(traceback.contains(", line 3): guest code cannot use"), traceback);
    }

    @Test
    void closedMachineSaysSoAndClosesTwice() {
        good("var c = boot(\"{name: gone, memory: 64MiB, boot: {guest: hello}}\"); c.close(); c.close();");

        String traceback = bad("c.regs()");

        assertTrue(traceback.contains("gone") && traceback.contains("closed"), traceback);
        assertFalse(traceback.contains("org.benchtop"), traceback);
        assertTrue(good("c").contains("closed"));
    }

    @Test
    void liveViewIsUpdatedInPlaceUntilTheMachineStops() {
        good(
                "var live = machine(\"{name: live, memory: 64MiB, boot: {guest: cpuburn, cmdline: seconds=3600}}\").start();");

        Exchange exchange = client.execute("live.watch().every(Duration.ofMillis(50))");
        Message shown = exchange.first("display_data").orElseThrow();
        String id = Json.string(Json.member(shown.content(), "transient"), "display_id")
                .orElse("?");
        Message updated = client.awaitPublished(message -> message.type().equals("update_display_data")
                && Json.string(Json.member(message.content(), "transient"), "display_id")
                        .orElse("")
                        .equals(id));
        client.execute("live.close();");
        Message last = client.awaitPublished(message -> message.type().equals("update_display_data")
                && (data(message, "text/html").contains("</b> closed")
                        || data(message, "text/html").contains("</b> stopped")));

        assertTrue(data(shown, "text/html").contains("live"), data(shown, "text/html"));
        assertTrue(data(updated, "text/html").contains("running"), data(updated, "text/html"));
        assertEquals(TestClient.parent(shown), TestClient.parent(last));
    }

    // ---- completion and documentation

    private List<String> matches(String code) {
        JsonObject reply = client.request("complete_request", Json.object("code", code, "cursor_pos", code.length()))
                .reply()
                .content();
        return reply.getAsJsonArray("matches").asList().stream()
                .map(match -> match.getAsString())
                .toList();
    }

    @Test
    void yamlCellsAreCompleted() {
        Map<String, String> expected = Map.of(
                "%%vm\nmem", "memory",
                "%%vm\nboot: { gu", "guest",
                "%%vm\nboot: { guest: diskc", "diskcheck",
                "%%vm\ndrives:\n  d: { type: fi", "file",
                "%%vm\ndrives:\n  d: { type: file, fi", "file",
                "%%vm\ndevices:\n  - { type: virtio-b", "virtio-blk-pci",
                "%%vm\ndevices:\n  - { type: virtio-blk-pci, ioev", "ioeventfd",
                "%%vm\ndrives:\n  d7: { type: memory, size: 1MiB }\ndevices:\n  - { type: virtio-blk-pci, drive: d",
                        "d7",
                "%%vm\naccel: so", "soft");
        expected.forEach((code, match) -> {
            List<String> found = matches(code);
            assertTrue(
                    found.stream().map(one -> one.replaceAll("[: ]+$", "")).anyMatch(match::equals),
                    code + " -> " + found);
        });
    }

    @Test
    void labIsDocumented() {
        assumeTrue(
                ApiSources.offer(),
                "JShell finds sources only with --add-opens jdk.jshell/jdk.jshell=ALL-UNNAMED, as the launcher passes");
        client.execute("Vm documented = null;");

        Map<String, String> expected = Map.of(
                "machine(|", "nothing runs yet",
                "documented.console().exp|ect(\"x\")", "Waits for output that matches",
                "disp|lay(1)", "an id for",
                "Math.ab|s(1)", "absolute value");
        expected.forEach((code, part) -> {
            String found = documentation(code.replace("|", ""), code.indexOf('|'));
            assertTrue(found.contains(part), code + " -> " + found);
        });
    }

    private String documentation(String code, int cursor) {
        JsonObject reply = client.request(
                        "inspect_request", Json.object("code", code, "cursor_pos", cursor, "detail_level", 0))
                .reply()
                .content();
        return Json.string(Json.member(reply, "data"), "text/plain").orElse(reply.toString());
    }

    // ---- libraries, scripts, plugins

    /** Compiles sources to a jar. */
    private static Path jar(String name, Map<String, String> sources, Map<String, String> resources)
            throws IOException {
        Path root = Files.createDirectories(folder.resolve(name));
        Path classes = Files.createDirectories(root.resolve("classes"));
        JavaCompiler compiler = Objects.requireNonNull(ToolProvider.getSystemJavaCompiler(), "a JDK");
        StringWriter messages = new StringWriter();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
            for (Map.Entry<String, String> source : sources.entrySet()) {
                Path file = root.resolve(source.getKey().replace('.', '/') + ".java");
                Files.createDirectories(Objects.requireNonNull(file.getParent(), "a folder"));
                Files.writeString(file, source.getValue());
            }
            boolean compiled = compiler.getTask(
                            messages,
                            files,
                            null,
                            List.of(
                                    "-proc:none",
                                    "-cp",
                                    System.getProperty(
                                            "surefire.test.class.path", System.getProperty("java.class.path", "")),
                                    "-d",
                                    classes.toString()),
                            null,
                            files.getJavaFileObjects(sources.keySet().stream()
                                    .map(type -> root.resolve(type.replace('.', '/') + ".java"))
                                    .toArray(Path[]::new)))
                    .call();
            assertTrue(compiled, messages.toString());
        }
        Path jar = folder.resolve(name + ".jar");
        try (OutputStream out = Files.newOutputStream(jar);
                JarOutputStream archive = new JarOutputStream(out);
                Stream<Path> compiled = Files.walk(classes)) {
            for (Path file : compiled.filter(Files::isRegularFile).sorted().toList()) {
                archive.putNextEntry(new ZipEntry(classes.relativize(file).toString()));
                archive.write(Files.readAllBytes(file));
                archive.closeEntry();
            }
            for (Map.Entry<String, String> resource : resources.entrySet()) {
                archive.putNextEntry(new ZipEntry(resource.getKey()));
                archive.write(resource.getValue().getBytes(StandardCharsets.UTF_8));
                archive.closeEntry();
            }
        }
        return jar;
    }

    private static Path pluginJar(String name, String body) throws IOException {
        return jar(
                name,
                Map.of("acme." + name, """
                        package acme;
                        public class %s implements org.benchtop.spi.Plugin {
                            public String name() { return "%s"; }
                            public org.benchtop.spi.SpiVersion spiVersion() {
                                return new org.benchtop.spi.SpiVersion(org.benchtop.spi.Spi.MAJOR, org.benchtop.spi.Spi.MINOR);
                            }
                            %s
                        }
                        """.formatted(name, name, body)),
                Map.of("META-INF/services/org.benchtop.spi.Plugin", "acme." + name + "\n"));
    }

    @Test
    void pluginIsLoadedOnce() throws IOException {
        Path jar = pluginJar("Fine", "");

        assertTrue(good("%plugin " + jar).contains("Fine"));
        assertTrue(good("%plugin " + jar).contains("nothing new"));
        assertEquals("true", good("plugins().stream().anyMatch(p -> p.name().equals(\"Fine\"))"));
    }

    @Test
    void pluginThatThrowsIsNamedAndSkipped() throws IOException {
        Path broken = pluginJar("Broken", "public Broken() { throw new IllegalStateException(\"no coffee\"); }");
        Path fine = pluginJar("Unharmed", "");

        Exchange exchange = client.execute("%plugin " + broken + " " + fine);

        assertEquals("ok", exchange.status(), exchange::traceback);
        assertTrue(exchange.text("stderr").contains("skipped plugin acme.Broken"), exchange.text("stderr"));
        assertTrue(exchange.text("stderr").contains("no coffee"), exchange.text("stderr"));
        assertTrue(exchange.result().contains("Unharmed"), exchange.result());
    }

    @Test
    void repairedPluginCanBeLoaded() throws IOException {
        Path jar = pluginJar("Repaired", "{ if (true) throw new IllegalStateException(\"not yet\"); }");
        client.execute("%plugin " + jar);
        pluginJar("Repaired", "");

        assertTrue(good("%plugin " + jar).contains("Repaired"));
    }

    @Test
    void missingPluginIsNamedAndSkipped() {
        Exchange exchange = client.execute("%plugin " + folder.resolve("nobody.jar"));

        assertEquals("ok", exchange.status());
        assertTrue(exchange.text("stderr").contains("nobody.jar: no such file"), exchange.text("stderr"));
        assertTrue(bad("%plugin").contains("name a jar"));
    }

    @Test
    void classPathIsExtended() throws IOException {
        Path jar = jar(
                "library",
                Map.of(
                        "acme.lib.Greeter",
                        "package acme.lib; public class Greeter { public String hi() { return \"hi\"; } }"),
                Map.of());

        good("%classpath add " + jar);

        assertEquals("hi", good("new acme.lib.Greeter().hi()"));
        assertTrue(bad("%classpath " + folder.resolve("nothing.jar")).contains("no such jar or folder"));
    }

    @Test
    void extensionsOfJjavaAreInstalled() throws IOException {
        Path jar = jar(
                "extension",
                Map.of("acme.ext.Ext", """
                        package acme.ext;
                        import org.dflib.jjava.jupyter.Extension;
                        import org.dflib.jjava.jupyter.kernel.BaseKernel;
                        public class Ext implements Extension {
                            public static class Coloured { }
                            public void install(BaseKernel kernel) {
                                kernel.getRenderer().createRegistration(Coloured.class)
                                    .preferring(org.dflib.jjava.jupyter.kernel.display.mime.MIMEType.TEXT_HTML)
                                    .register((value, context) -> context.renderIfRequested(
                                        org.dflib.jjava.jupyter.kernel.display.mime.MIMEType.TEXT_HTML, () -> "<u>coloured</u>"));
                            }
                            public void uninstall(BaseKernel kernel) { }
                        }
                        """),
                Map.of("META-INF/services/org.dflib.jjava.jupyter.Extension", "acme.ext.Ext\n"));

        good("%classpath " + jar);

        Message result = client.execute("new acme.ext.Ext.Coloured()")
                .first("execute_result")
                .orElseThrow();
        assertEquals("<u>coloured</u>", data(result, "text/html"));
    }

    @Test
    void scriptsAndNotebooksAreLoaded() throws IOException {
        Path script = Files.writeString(
                folder.resolve("a.jsh"), "int fromScript = 40;\nint add(int n) {\n    return n + 2;\n}\n");
        Path notebook = Files.writeString(folder.resolve("b.ipynb"), """
                {"cells": [
                  {"cell_type": "markdown", "source": ["# no code"]},
                  {"cell_type": "code", "source": ["%%vm loaded\\n", "memory: 64MiB\\n", "boot: { guest: hello }\\n"]},
                  {"cell_type": "code", "source": ["int fromNotebook = 2;\\n", "fromNotebook"]}
                ]}
                """);

        good("%load " + script);
        assertEquals("42", good("add(fromScript)"));
        assertEquals("2", good("%load " + notebook));
        assertEquals("loaded", good("loaded.name()"));
        assertTrue(bad("%load " + folder.resolve("c.jsh")).contains("c.jsh: no such file"));
    }

    @Test
    void mistakeInALoadedFileIsMarkedThere() throws IOException {
        Path script = Files.writeString(folder.resolve("wrong.jsh"), "int one = 1;\n\nint two = \"2\";\n");

        String traceback = bad("// before\n%load " + script);

        assertTrue(traceback.contains("wrong.jsh, line 3: incompatible types"), traceback);
        assertTrue(traceback.contains("▶ 3 │ int two = \"2\";"), traceback);
    }

    @Test
    void libraryComesFromMavenCentral() {
        Exchange exchange = client.execute("%maven org.apache.commons:commons-csv:1.14.1");
        String failure = exchange.status().equals("error") ? exchange.traceback() : "";
        assumeFalse(failure.contains("is needed and not on PATH"), failure);
        assumeFalse(failure.contains("Could not transfer") || failure.contains("offline mode"), failure);

        assertEquals("ok", exchange.status(), failure);
        assertEquals(
                "[b, c]",
                good("org.apache.commons.csv.CSVFormat.DEFAULT.parse(new StringReader(\"a,'x'\\nb,c\"))"
                        + ".getRecords().get(1).toList()"));
        String unknown = bad("%maven org.benchtop.nowhere:nothing:1");
        assertTrue(unknown.contains("org.benchtop.nowhere:nothing"), unknown);
    }

    // ---- measurements

    @Test
    void measurementsRunInCells() {
        String trials = """
                var job = disk().with("rw", "randread").with("runtime", "1s").with("warmup", "0s");
                var yaml = "{memory: 64MiB, drives: {d: {type: memory, size: 1MiB}}, devices: [{type: virtio-blk-pci, drive: d}]}";
                var one = Trial.of(job).on(yaml).named("depth 1");
                var two = Trial.of(job.with("iodepth", 2)).on(yaml).named("depth 2");
                """;

        Exchange compared = client.execute(trials + "var both = compare(two, one, 1, Metric.IOPS); both");

        assertEquals("ok", compared.status(), compared::traceback);
        assertEquals("2", good("both.cases().size()"));
        assertTrue(compared.result().contains("depth 2 against depth 1"), compared.result());
        Message shown = compared.first("execute_result").orElseThrow();
        assertTrue(data(shown, "text/html").contains("<table"), data(shown, "text/html"));
        assertTrue(data(shown, "image/svg+xml").contains("depth 2"), data(shown, "image/svg+xml"));
        assertTrue(
                compared.published().stream()
                        .anyMatch(m -> data(m, "text/plain").contains("measuring [")),
                "progress");
        assertEquals("0", good("vms().size()"));
    }

    @Test
    void wrongCoordinatesAreRefused() {
        assertTrue(bad("%maven guava").contains("\"guava\" is not group:artifact:version"));
        assertTrue(bad("%maven").contains("name a library"));
    }

    @Test
    void printingNeedsNoClassName() {
        assertEquals(
                "a1\n2\n",
                client.execute("print(\"a\"); println(1); printf(\"%d%n\", 2);").text("stdout"));
    }
}
