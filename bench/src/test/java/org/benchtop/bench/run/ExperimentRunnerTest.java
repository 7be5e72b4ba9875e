package org.benchtop.bench.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.benchtop.bench.Experiments;
import org.benchtop.bench.FakeCaseRunner;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.experiment.Experiment;
import org.benchtop.bench.measure.Measurement;
import org.benchtop.spi.BenchtopException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ExperimentRunnerTest {
    private static final int ALL = 4 * 6;

    @TempDir
    Path folder;

    private Outcome run(Experiment experiment, FakeCaseRunner runner) {
        return new ExperimentRunner(runner, RunListener.SILENT)
                .run(experiment, spec -> true, folder, folder.resolve("scratch"), false);
    }

    private static FakeCaseRunner fake() {
        return new FakeCaseRunner(Experiments::iops);
    }

    @Test
    void everyCaseRunsInEveryBlockAfterWarmUp() {
        FakeCaseRunner runner = fake();

        Outcome outcome = run(Experiments.tiny(), runner);

        assertFalse(outcome.interrupted());
        assertEquals(ALL, outcome.counted().size());
        assertEquals(ALL, outcome.planned());
        assertTrue(runner.runs.getFirst().startsWith("JIT_WARMUP"));
        assertEquals(
                4, runner.runs.stream().filter(run -> run.startsWith("WARMUP")).count());
        assertEquals(1, outcome.sessions().size());
    }

    @Test
    void anInterruptKeepsWhatIsFinishedAndTheNextStartGoesOn() {
        Outcome first = run(Experiments.tiny(), fake().interruptAfter(7));
        FakeCaseRunner second = fake();
        Outcome whole = run(Experiments.tiny(), second);

        assertTrue(first.interrupted());
        assertEquals(7, first.counted().size());
        assertFalse(Thread.currentThread().isInterrupted());
        assertFalse(whole.interrupted());
        assertEquals(ALL, whole.counted().size());
        assertEquals(2, whole.sessions().size());
        assertEquals(
                ALL - 7,
                second.runs.stream().filter(run -> run.startsWith("MEASURED")).count());
        assertEquals(
                0, second.runs.stream().filter(run -> run.startsWith("WARMUP")).count());
        assertEquals(
                ALL,
                whole.counted().stream()
                        .map(run -> run.block() + run.caseId())
                        .distinct()
                        .count());
    }

    @Test
    void aThreadThatIsInterruptedAlreadyRunsNothing() {
        FakeCaseRunner runner = fake();
        Thread.currentThread().interrupt();

        Outcome outcome = run(Experiments.tiny(), runner);

        assertTrue(outcome.interrupted());
        assertFalse(Thread.interrupted());
        assertEquals(List.of(), runner.runs);
    }

    @Test
    void aFinishedExperimentRunsNothingMoreUnlessItGetsLonger() {
        run(Experiments.tiny(), fake());
        FakeCaseRunner again = fake();
        FakeCaseRunner longer = fake();

        run(Experiments.tiny(), again);
        Outcome outcome = run(Experiments.parse(Experiments.TEXT.replace("repeats: 6", "repeats: 8")), longer);

        assertEquals(List.of(), again.runs);
        assertEquals(4 * 8, outcome.counted().size());
        assertEquals(
                8,
                longer.runs.stream().filter(run -> run.startsWith("MEASURED")).count());
    }

    @Test
    void onlyWantedCasesRun() {
        FakeCaseRunner runner = fake();
        Outcome outcome = new ExperimentRunner(runner, RunListener.SILENT)
                .run(
                        Experiments.tiny(),
                        spec -> spec.id().contains("cpus=2"),
                        folder,
                        folder.resolve("scratch"),
                        false);

        assertEquals(12, outcome.counted().size());
        assertTrue(outcome.counted().stream().allMatch(run -> run.caseId().contains("cpus=2")));
    }

    @Test
    void aFailedRunIsRecordedAndMadeAgainNextTime() {
        Outcome first = run(Experiments.tiny(), fake().failAt(10));
        FakeCaseRunner runner = fake();
        Outcome second = run(Experiments.tiny(), runner);

        assertEquals(1, first.failures().size());
        assertEquals("HOST: the disk is on fire", first.failures().getFirst().failure());
        assertEquals(ALL - 1, first.counted().size());
        assertEquals(2, runner.runs.size(), runner.runs.toString());
        assertEquals(ALL, second.counted().size());
        assertEquals(List.of(), second.failures());
    }

    @Test
    void aCaseThatCannotRunIsRefusedBeforeAnyOther() {
        FakeCaseRunner runner = fake();
        Experiment experiment =
                Experiments.parse(Experiments.TEXT.replace("cpus: [1, 2] }", "cpus: [1, 2], job.impossible: [1] }"));

        assertThrows(BenchtopException.class, () -> run(experiment, runner));

        assertEquals(List.of(), runner.runs);
    }

    @Test
    void otherSpecsNeedARestart() {
        run(Experiments.tiny(), fake());
        Experiment other = Experiments.parse(Experiments.TEXT + "seed: 1\n");

        assertThrows(BenchtopException.class, () -> run(other, fake()));
        Outcome outcome = new ExperimentRunner(fake(), RunListener.SILENT)
                .run(other, spec -> true, folder, folder.resolve("scratch"), true);

        assertEquals(ALL, outcome.counted().size());
        assertEquals(1, outcome.sessions().size());
    }

    @Test
    void aKilledProcessLosesNoFinishedRun() throws IOException, InterruptedException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Endless.class.getName(),
                        folder.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        List<String> finished = new ArrayList<>();
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            String line = out.readLine();
            while (line != null && finished.size() < 9) {
                finished.add(line);
                line = out.readLine();
            }
        } finally {
            process.destroyForcibly().waitFor();
        }
        assertEquals(9, finished.size());
        FakeCaseRunner runner = fake();

        Outcome outcome = run(Experiments.tiny(), runner);

        assertEquals(ALL, outcome.counted().size());
        assertEquals(2, outcome.sessions().size());
        List<String> kept = outcome.counted().stream()
                .filter(run -> run.session() == 1)
                .map(run -> run.block() + " MEASURED " + run.caseId())
                .toList();
        assertTrue(kept.containsAll(finished), kept + " and " + finished);
        assertEquals(
                ALL - kept.size(),
                runner.runs.stream().filter(run -> run.startsWith("MEASURED")).count());
    }

    /** Runs the experiment in its own process and says so after every recorded measured run, more and more slowly. */
    static final class Endless {
        private Endless() {}

        public static void main(String[] args) {
            Path folder = Path.of(args[0]);
            FakeCaseRunner fake = fake();
            CaseRunner slow = new CaseRunner() {
                @Override
                public void check(CaseSpec spec, Path scratch) {
                    fake.check(spec, scratch);
                }

                @Override
                public void prepare(CaseSpec spec, Path scratch, Progress progress) {
                    fake.prepare(spec, scratch, progress);
                }

                @Override
                public Measurement run(CaseRun run) throws InterruptedException {
                    if (run.kind() == RunKind.MEASURED) {
                        Thread.sleep(fake.runs.size() > 15 ? 600_000 : 1);
                    }
                    return fake.run(run);
                }
            };
            RunListener listener = new RunListener() {
                @Override
                public void finished(int number, CaseSpec spec, RunRecord run) {
                    if (run.kind() == RunKind.MEASURED) {
                        System.out.println(run.block() + " MEASURED " + spec.id());
                    }
                }
            };
            new ExperimentRunner(slow, listener)
                    .run(Experiments.tiny(), spec -> true, folder, folder.resolve("scratch"), false);
        }
    }
}
