package org.benchtop.bench;

import java.io.PrintStream;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.experiment.Experiment;
import org.benchtop.bench.experiment.ExperimentReader;
import org.benchtop.bench.report.Report;
import org.benchtop.bench.report.ReportFiles;
import org.benchtop.bench.report.TextReport;
import org.benchtop.bench.run.CaseRunner;
import org.benchtop.bench.run.ExperimentRunner;
import org.benchtop.bench.run.Outcome;
import org.benchtop.bench.run.ProgressBar;

/** What {@code benchtop bench FILE} does: reads, runs or resumes, prints and writes the report. */
public final class ExperimentCli {
    /** Exit code after an interrupt, as a shell gives it. */
    public static final int INTERRUPTED = 130;

    /** Exit code when a run failed. */
    public static final int RUN_FAILED = 4;

    private static final long REPORT_SECONDS = 30;

    private ExperimentCli() {}

    /**
     * Runs an experiment file to its end, or until the process is told to end (Ctrl-C) or the calling thread is
     * interrupted; what is finished is kept and reported in any case.
     *
     * @param out where progress and the table go
     * @param terminal whether {@code out} is a terminal: colours and a progress bar
     * @param columns the terminal's width
     * @return 0, {@link #RUN_FAILED} or {@link #INTERRUPTED}
     * @throws org.benchtop.spi.BenchtopException for everything that is wrong before the first run
     */
    public static int run(
            Path file, ExperimentOptions options, CaseRunner runner, PrintStream out, boolean terminal, int columns) {
        Experiment experiment = ExperimentReader.read(file, options.overrides());
        Predicate<CaseSpec> wanted = CaseFilter.of(options.filters(), experiment);
        if (options.list()) {
            list(experiment, wanted, out);
            return 0;
        }
        Path folder = options.outFolder().resolve(experiment.id());
        Path scratch = options.scratch().orElse(folder.resolve("scratch")).toAbsolutePath();
        ProgressBar progress = new ProgressBar(out, terminal, columns);
        CountDownLatch reported = new CountDownLatch(1);
        AtomicBoolean measuring = new AtomicBoolean(true);
        Thread hook = endOnSignal(Thread.currentThread(), measuring, reported);
        try {
            Outcome outcome =
                    new ExperimentRunner(runner, progress).run(experiment, wanted, folder, scratch, options.restart());
            // From here on an interrupt would only damage the report.
            measuring.set(false);
            boolean late = Thread.interrupted();
            Report report = Report.of(outcome);
            out.print(TextReport.of(report, terminal));
            out.println();
            out.println("report: " + ReportFiles.write(report, folder).getFirst());
            out.flush();
            if (outcome.interrupted() || late) {
                return INTERRUPTED;
            }
            return outcome.failures().isEmpty() ? 0 : RUN_FAILED;
        } finally {
            progress.ended();
            reported.countDown();
            forget(hook);
        }
    }

    private static void list(Experiment experiment, Predicate<CaseSpec> wanted, PrintStream out) {
        out.println(experiment.id() + ": " + experiment.title());
        for (CaseSpec spec : experiment.cases()) {
            if (wanted.test(spec)) {
                out.println("  " + spec.id() + ": " + spec.job()
                        + (spec.guests() == 1 ? "" : ", " + spec.guests() + " machines"));
            }
        }
    }

    private static Thread endOnSignal(Thread running, AtomicBoolean measuring, CountDownLatch reported) {
        Thread hook = new Thread(
                () -> {
                    if (measuring.get()) {
                        running.interrupt();
                    }
                    try {
                        boolean done = reported.await(REPORT_SECONDS, TimeUnit.SECONDS);
                        if (!done) {
                            System.err.println(
                                    "benchtop bench: the run did not end, its finished runs are in the journal");
                        }
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                },
                "benchtop-bench-end");
        Runtime.getRuntime().addShutdownHook(hook);
        return hook;
    }

    private static void forget(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The process is ending already, because of this very hook.
        }
    }
}
