package org.benchtop.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.benchtop.bench.experiment.ExperimentOverrides;
import org.benchtop.spi.BenchtopException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ExperimentCliTest {
    @TempDir
    Path folder;

    private final ByteArrayOutputStream output = new ByteArrayOutputStream();
    private Path file;

    @BeforeEach
    void writeExperiment() throws IOException {
        file = Files.writeString(folder.resolve("tiny.yaml"), Experiments.TEXT);
    }

    private ExperimentOptions options(List<String> filters, boolean restart, boolean list) {
        return new ExperimentOptions(
                ExperimentOverrides.NONE, filters, restart, list, folder.resolve("results"), Optional.empty());
    }

    private int run(ExperimentOptions options, FakeCaseRunner runner, boolean terminal) {
        PrintStream out = new PrintStream(output, true, StandardCharsets.UTF_8);
        return ExperimentCli.run(file, options, runner, out, terminal, 100);
    }

    private String text() {
        return output.toString(StandardCharsets.UTF_8);
    }

    private static FakeCaseRunner fake() {
        return new FakeCaseRunner(Experiments::iops);
    }

    @Test
    void aRunPrintsProgressTableAndWhereTheReportIs() {
        int code = run(options(List.of(), false, false), fake(), false);

        assertEquals(0, code);
        assertTrue(text().contains("[28/28] repeat 6: "), text());
        assertTrue(text().contains("on is faster: +"), text());
        Path html = folder.resolve("results/tiny/report.html");
        assertTrue(text().contains("report: " + html), text());
        assertTrue(Files.exists(html));
        assertFalse(text().contains("\u001b"));
    }

    @Test
    void aTerminalGetsABarThatIsGoneAtTheEnd() {
        int code = run(options(List.of(), false, false), fake(), true);

        assertEquals(0, code);
        assertTrue(text().contains("\r\u001b[K["), text());
        assertTrue(text().contains("█"), text());
        assertTrue(text().lastIndexOf("\r\u001b[K") < text().indexOf("tiny: Tiny"), "bar after the table");
    }

    @Test
    void anInterruptHasItsExitCodeAndTheSameCommandGoesOn() {
        int first = run(options(List.of(), false, false), fake().interruptAfter(5), false);
        int second = run(options(List.of(), false, false), fake(), false);

        assertEquals(ExperimentCli.INTERRUPTED, first);
        assertEquals(0, second);
        assertTrue(text().contains("resuming: 9 of 28 runs are done already"), text());
    }

    @Test
    void aFailedRunHasItsExitCode() {
        int code = run(options(List.of(), false, false), fake().failAt(8), false);

        assertEquals(ExperimentCli.RUN_FAILED, code);
        assertTrue(text().contains(" failed: HOST: the disk is on fire"), text());
    }

    @Test
    void filtersChooseCases() {
        FakeCaseRunner runner = fake();
        run(options(List.of("ioeventfd=on", "cpus=1|2"), false, false), runner, false);

        assertTrue(runner.runs.stream().allMatch(run -> run.contains("ioeventfd=on")));
        assertTrue(runner.runs.stream().anyMatch(run -> run.contains("cpus=2")));
    }

    @Test
    void filtersThatNameNothingAreRefused() {
        assertEquals(
                "--filter: \"ioevent\" is no axis of tiny (known: ioeventfd, cpus)",
                refused("ioevent=on").replace("(did you mean \"ioeventfd\"?)", "(known: ioeventfd, cpus)"));
        assertEquals("--filter: \"maybe\" is no value of ioeventfd (known: off, on)", refused("ioeventfd=maybe"));
        assertEquals("no case of tiny is left by the filter", refused("nothing like it"));
    }

    private String refused(String filter) {
        return assertThrows(BenchtopException.class, () -> run(options(List.of(filter), false, false), fake(), false))
                .getMessage();
    }

    @Test
    void casesCanBeListedWithoutRunning() {
        FakeCaseRunner runner = fake();

        int code = run(options(List.of("cpus=2"), false, true), runner, false);

        assertEquals(0, code);
        assertEquals(List.of(), runner.runs);
        assertEquals("""
                tiny: Tiny & <quick>
                  ioeventfd=off, cpus=2: diskbench rw=read runtime=1s
                  ioeventfd=on, cpus=2: diskbench rw=read runtime=1s
                """, text());
        assertFalse(Files.exists(folder.resolve("results")));
    }

    @Test
    void quickResultsDoNotMixWithFullOnes() {
        run(options(List.of(), false, false), fake(), false);
        ExperimentOptions quick = new ExperimentOptions(
                new ExperimentOverrides(OptionalInt.empty(), List.of(), true),
                List.of(),
                false,
                false,
                folder.resolve("results"),
                Optional.empty());

        assertEquals(0, run(quick, fake(), false));
        assertTrue(Files.exists(folder.resolve("results/tiny-quick/report.html")));
    }
}
