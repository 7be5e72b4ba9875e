package org.benchtop.shell;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CommandLineTest {
    private static final Terminal PIPE = new Terminal(false, false, 100);

    @TempDir
    Path folder;

    private record Result(int exitCode, String out, String err) {}

    private static Result run(Terminal terminal, String... args) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int exitCode = Main.run(new PrintWriter(out, true), new PrintWriter(err, true), terminal, args);
        return new Result(exitCode, out.toString(), err.toString());
    }

    private static Result run(String... args) {
        return run(PIPE, args);
    }

    private Path yaml(String text) throws IOException {
        return Files.writeString(folder.resolve("vm.yaml"), text);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--help",
                "run --help",
                "bench --help",
                "validate --help",
                "schema --help",
                "plugins --help",
                "plugins list --help",
                "plugins describe --help",
                "guest --help",
                "guest list --help",
                "guest export --help",
                "image --help",
                "image convert --help",
            })
    void everyCommandHasHelp(String words) {
        Result result = run(words.split(" "));

        assertEquals(0, result.exitCode);
        assertTrue(
                result.out.startsWith(
                        "Usage: benchtop " + words.replace("--help", "").strip()),
                result.out);
        assertEquals("", result.err);
    }

    @Test
    void helpListsEveryCommand() {
        String help = run("--help").out;

        for (String command : List.of("run", "bench", "validate", "schema", "plugins", "guest")) {
            assertTrue(help.contains("  " + command + " "), command);
        }
    }

    @Test
    void reportThatCannotBeWrittenIsRefusedBeforeTheRun() throws IOException {
        Path report = folder.resolve("missing/r.json");

        Result result =
                run("run", "--report", report.toString(), yaml("no machine").toString());

        assertEquals(3, result.exitCode);
        assertEquals("benchtop: " + report + ": cannot be written: no such folder", result.err.strip());
    }

    @Test
    void coloursAreOnlyForTerminals() {
        assertFalse(run("--help").out.contains("\u001b["));
        assertTrue(run(new Terminal(true, true, 100), "--help").out.contains("\u001b["));
    }

    @Test
    void versionNamesSpiAndJava() {
        assertTrue(run("--version").out.matches("benchtop .* \\(SPI 1\\.0, Java 2[5-9].*\\)\\R"), run("--version").out);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rum vm.yaml | benchtop: unknown command rum (did you mean \"run\"?) (try benchtop --help)",
                "run | benchtop: Missing required parameter: 'VM.yaml' (try benchtop run --help)",
                "run --nope vm.yaml | benchtop: unknown option --nope (known: --accel, ",
                "run --acel kvm vm.yaml | benchtop: unknown option --acel (did you mean \"--accel\"?) (try benchtop run --help)",
                "run --timeout soon vm.yaml | benchtop: Invalid value for option '--timeout': expected a duration such as 500ms, 30s or 5m, got \"soon\" (try benchtop run --help)",
                "run nowhere.yaml | benchtop: nowhere.yaml: no such file",
                "plugins describe virtio-blk-pc | benchtop: unknown type \"virtio-blk-pc\" (did you mean \"virtio-blk-pci\"?)",
                "guest export nobody --elf x | benchtop: unknown guest program \"nobody\" (",
                "plugins list --plugin nowhere.jar | benchtop: plugin nowhere.jar: no such file",
            })
    void wrongCommandLinesEndInOneLineAndExitCodeTwo(String words, String message) {
        Result result = run(words.split(" "));

        assertEquals(2, result.exitCode);
        assertTrue(result.err.startsWith(message), result.err);
        assertEquals(1, result.err.lines().count(), result.err);
        assertEquals("", result.out);
    }

    @Test
    void validateReportsEveryMistake() throws IOException {
        Path file = yaml("""
                boot: { guest: diskchek }
                drives:
                  disk0: { type: file, file: disk.img, cach: none }
                devices:
                  - { type: virtio-blk-pci, drive: disk1 }
                """);

        Result result = run("validate", file.toString());

        assertEquals(2, result.exitCode);
        assertEquals("", result.out);
        List<String> lines = result.err.lines().toList();
        assertEquals(3, lines.size(), result.err);
        assertTrue(
                lines.get(0)
                        .startsWith(file
                                + ":1:16 boot.guest: unknown guest program \"diskchek\" (did you mean \"diskcheck\"?"),
                lines.get(0));
        assertEquals(
                file + ":3:40 drives.disk0.cach: unknown option \"cach\" of file (did you mean \"cache\"?)",
                lines.get(1));
        assertEquals(file + ":5:36 devices[0].drive: no drive \"disk1\" (did you mean \"disk0\"?)", lines.get(2));
    }

    @Test
    void validateAcceptsASoundMachineAndSettings() throws IOException {
        Path file = yaml("{boot: none, drives: {disk0: {type: memory, size: 1MiB}}}");

        Result sound = run("validate", file.toString());
        Result set = run("validate", file.toString(), "--set", "cpus=0");

        assertEquals(new Result(0, file + ": ok" + System.lineSeparator(), ""), sound);
        assertEquals("--set cpus: 0 is outside 1..255" + System.lineSeparator(), set.err);
    }

    @Test
    void runStopsAtTheFirstMistake() throws IOException {
        Path file = yaml("{boot: none, cpuz: 1}");

        Result result = run("run", file.toString());

        assertEquals(2, result.exitCode);
        assertEquals(
                "benchtop: " + file + ":1:14 cpuz: unknown key \"cpuz\" (did you mean \"cpus\"?)"
                        + System.lineSeparator(),
                result.err);
    }

    @Test
    void debugShowsWhereAnErrorComesFrom() throws IOException {
        Path file = yaml("{boot: none, cpuz: 1}");

        Result result = run("run", file.toString(), "--debug");

        assertTrue(result.err.contains("\tat org.benchtop.engine.config."), result.err);
    }

    @Test
    void describeShowsTypeDefaultRangeAndDoc() {
        Result result = run("plugins", "describe", "virtio-blk-pci");

        assertEquals(0, result.exitCode);
        assertTrue(result.out.startsWith("virtio-blk-pci: device type of plugin virtio ("), result.out);
        assertTrue(
                result.out.lines().anyMatch(line -> line.matches(" *drive +name of a drive +required .*")), result.out);
        assertTrue(result.out.lines().anyMatch(line -> line.matches(" *ioeventfd +on\\|off +on .*")), result.out);
    }

    @Test
    void schemaIsJsonWithTheTypes() {
        Result result = run("schema");

        assertEquals(0, result.exitCode);
        assertTrue(result.out.startsWith("{"), result.out);
        assertTrue(result.out.contains("\"virtio-blk-pci\""), result.out);
    }

    @Test
    void exportedGuestIsAnElfFile() throws IOException {
        Path file = folder.resolve("hello.elf");

        Result result = run("guest", "export", "hello", "--elf", file.toString());

        byte[] elf = Files.readAllBytes(file);
        assertEquals(0, result.exitCode, result.err);
        assertArrayEquals(new byte[] {0x7f, 'E', 'L', 'F'}, Arrays.copyOf(elf, 4));
        assertEquals(file + ": " + elf.length + " bytes" + System.lineSeparator(), result.out);
    }

    @Test
    void guestListShowsParameters() {
        Result result = run("guest", "list");

        assertEquals(0, result.exitCode);
        assertTrue(result.out.lines().anyMatch(line -> line.startsWith("diskbench  ")), result.out);
    }

    @Test
    void unwritableFilesAreTheHostsFault() {
        Result result = run(
                "guest",
                "export",
                "hello",
                "--elf",
                folder.resolve("no/such/folder").toString());

        assertEquals(3, result.exitCode);
        assertEquals(1, result.err.lines().count(), result.err);
    }
}
