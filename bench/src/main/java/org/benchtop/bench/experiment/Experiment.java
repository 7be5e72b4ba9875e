package org.benchtop.bench.experiment;

import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.bench.measure.Metric;

/**
 * An experiment, read and expanded: its cases are complete.
 *
 * @param id names the folder of its results: lower-case letters, digits and dashes
 * @param title one line
 * @param question what it is to find out; may be empty
 * @param source where the question comes from; may be empty
 * @param notes what a reader of its report should know
 * @param file where it was read from
 * @param axes what varies, in order
 * @param cases all cells, in the order of the axes
 * @param repeats how many blocks of runs are measured, each holding every case once
 * @param warmupRuns how many blocks run before them and do not count
 * @param seed of the order and of the bootstrap
 * @param shuffled whether every block has its own random order
 * @param columns the figures of the result table
 * @param comparisons what is compared
 * @param published figures to show beside ours
 * @param hash of everything that figures depend on: cases, order and warm-up, but not the number of repeats
 */
public record Experiment(
        String id,
        String title,
        String question,
        String source,
        List<String> notes,
        Path file,
        List<Axis> axes,
        List<CaseSpec> cases,
        int repeats,
        int warmupRuns,
        long seed,
        boolean shuffled,
        List<Metric> columns,
        List<CompareSpec> comparisons,
        Optional<Published> published,
        String hash) {
    /** The figures that a table shows unless the experiment says otherwise. */
    public static final List<Metric> DEFAULT_COLUMNS = List.of(
            Metric.IOPS,
            Metric.BANDWIDTH,
            Metric.SLAT_MEAN,
            Metric.CLAT_MEAN,
            Metric.CLAT_P50,
            Metric.CLAT_P99,
            Metric.CLAT_P999,
            Metric.EXITS_PER_REQUEST,
            Metric.INTERRUPTS_PER_REQUEST,
            Metric.HOST_CPU_PER_REQUEST);

    public Experiment {
        notes = List.copyOf(notes);
        axes = List.copyOf(axes);
        cases = List.copyOf(cases);
        columns = List.copyOf(columns);
        comparisons = List.copyOf(comparisons);
    }

    /** The figures that the experiment is about: the compared ones, or IOPS. */
    public List<Metric> primaryMetrics() {
        LinkedHashSet<Metric> metrics = new LinkedHashSet<>();
        comparisons.forEach(comparison -> metrics.add(comparison.metric()));
        return metrics.isEmpty() ? List.of(Metric.IOPS) : List.copyOf(metrics);
    }

    /** The case with some values of axes, if exactly one has them. */
    public Optional<CaseSpec> find(Map<String, String> labels) {
        List<CaseSpec> found = cases.stream()
                .filter(candidate -> candidate.labels().entrySet().containsAll(labels.entrySet()))
                .toList();
        return found.size() == 1 ? Optional.of(found.getFirst()) : Optional.empty();
    }

    /** The same with only some of the cases; they keep their ids and the hash. */
    public Experiment withCases(List<CaseSpec> kept) {
        return new Experiment(
                id,
                title,
                question,
                source,
                notes,
                file,
                axes,
                kept,
                repeats,
                warmupRuns,
                seed,
                shuffled,
                columns,
                comparisons,
                published,
                hash);
    }
}
