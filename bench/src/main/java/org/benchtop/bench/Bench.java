package org.benchtop.bench;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.bench.experiment.Axis;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.experiment.CompareSpec;
import org.benchtop.bench.experiment.Experiment;
import org.benchtop.bench.measure.Job;
import org.benchtop.bench.measure.Metric;
import org.benchtop.bench.report.Report;
import org.benchtop.bench.run.CaseRunner;
import org.benchtop.bench.run.ExperimentRunner;
import org.benchtop.bench.run.Outcome;
import org.benchtop.bench.run.RunListener;
import org.benchtop.spi.BenchtopException;

/**
 * Measures jobs and compares them, for scripts and notebooks. Not thread-safe: measurements at the same time would
 * disturb each other.
 *
 * <p>An interrupt of the calling thread ends a measurement; the report then holds what was finished and says so.
 */
public final class Bench {
    /** How often a single job is measured. */
    public static final int DEFAULT_REPEATS = 3;

    /** How often compared jobs are measured each: enough for a verdict. */
    public static final int DEFAULT_COMPARED_REPEATS = 6;

    private static final long SEED = 42;

    private final CaseRunner runner;
    private final RunListener listener;
    private final Path folder;

    /**
     * Measures with a runner.
     *
     * @param folder where disk images and journals are kept
     */
    public Bench(CaseRunner runner, RunListener listener, Path folder) {
        this.runner = runner;
        this.listener = listener;
        this.folder = folder.toAbsolutePath();
    }

    /** Measures a job on the default machine. */
    public Report bench(Job job) {
        return bench(Trial.of(job), DEFAULT_REPEATS);
    }

    /** Measures a trial. */
    public Report bench(Trial trial, int repeats) {
        return run(List.of(trial), List.of(), repeats);
    }

    /** Compares two jobs on the default machine. */
    public Report compare(Job candidate, Job baseline) {
        return compare(Trial.of(candidate), Trial.of(baseline), DEFAULT_COMPARED_REPEATS, Metric.IOPS);
    }

    /** Compares two trials, whose runs alternate in random order so that what disturbs the host hits both. */
    public Report compare(Trial candidate, Trial baseline, int repeats, Metric metric) {
        return run(List.of(baseline, candidate), List.of(new CompareSpec(Axis.CASE, baseline.name(), metric)), repeats);
    }

    private Report run(List<Trial> trials, List<CompareSpec> comparisons, int repeats) {
        if (repeats < 1) {
            throw BenchtopException.config("repeats: " + repeats + " is not at least 1");
        }
        List<String> names = trials.stream().map(Trial::name).toList();
        if (new HashSet<>(names).size() < names.size()) {
            throw BenchtopException.config("two trials are named \"" + names.getFirst() + "\"");
        }
        List<CaseSpec> cases = new ArrayList<>();
        for (Trial trial : trials) {
            cases.add(trial.spec(Map.of(Axis.CASE, trial.name()), folder));
        }
        Experiment experiment = new Experiment(
                "bench",
                String.join(" against ", names.reversed()),
                "",
                "",
                List.of(),
                folder.resolve("bench"),
                List.of(new Axis(Axis.CASE, Axis.CASE, names)),
                cases,
                repeats,
                1,
                SEED,
                true,
                Experiment.DEFAULT_COLUMNS,
                comparisons,
                Optional.empty(),
                "interactive");
        Outcome outcome = new ExperimentRunner(runner, listener)
                .run(experiment, spec -> true, folder, folder.resolve("scratch"), true);
        return Report.of(outcome);
    }
}
