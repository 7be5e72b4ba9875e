package org.benchtop.bench.report;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import org.benchtop.bench.experiment.Axis;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.experiment.CompareSpec;
import org.benchtop.bench.experiment.Experiment;
import org.benchtop.bench.measure.Measurement;
import org.benchtop.bench.run.Outcome;
import org.benchtop.bench.run.RunRecord;
import org.benchtop.bench.statistics.Bootstrap;
import org.benchtop.bench.statistics.Comparison;

/**
 * An outcome, summed up: what every form of output shows.
 *
 * @param outcome what it was made of
 * @param cases one for each case, in the experiment's order
 * @param comparisons in the order of the experiment
 * @param published published figures with ours, if the experiment has any
 * @param remarks what a reader must know before trusting figures
 */
public record Report(
        Outcome outcome,
        List<CaseSummary> cases,
        List<ComparisonLine> comparisons,
        Optional<PublishedTable> published,
        List<String> remarks) {
    private static final int MANY_COMPARISONS = 5;

    public Report {
        cases = List.copyOf(cases);
        comparisons = List.copyOf(comparisons);
        remarks = List.copyOf(remarks);
    }

    /** Sums up. */
    public static Report of(Outcome outcome) {
        Experiment experiment = outcome.experiment();
        List<RunRecord> counted = outcome.counted();
        List<CaseSummary> cases = new ArrayList<>();
        for (CaseSpec spec : experiment.cases()) {
            // A run that was repeated after a crash between two sessions counts once: the last one.
            Map<Integer, RunRecord> byBlock = new LinkedHashMap<>();
            counted.stream()
                    .filter(run -> run.caseId().equals(spec.id()))
                    .sorted(java.util.Comparator.comparingInt(RunRecord::block))
                    .forEach(run -> byBlock.put(run.block(), run));
            cases.add(CaseSummary.of(spec, List.copyOf(byBlock.values())));
        }
        List<ComparisonLine> comparisons = comparisons(experiment, cases);
        return new Report(
                outcome,
                cases,
                comparisons,
                experiment.published().map(published -> PublishedTable.of(published, experiment, cases)),
                remarks(outcome, cases, comparisons));
    }

    /** The experiment. */
    public Experiment experiment() {
        return outcome.experiment();
    }

    /** The CPU engines that runs used, such as {@code kvm}. */
    public String accelerators() {
        return String.join(
                ", ",
                outcome.counted().stream()
                        .flatMap(run -> run.measurement().stream())
                        .map(Measurement::accelerator)
                        .distinct()
                        .toList());
    }

    private static List<ComparisonLine> comparisons(Experiment experiment, List<CaseSummary> cases) {
        List<ComparisonLine> lines = new ArrayList<>();
        for (CompareSpec spec : experiment.comparisons()) {
            Axis axis = experiment.axes().stream()
                    .filter(candidate -> candidate.label().equals(spec.axis()))
                    .findFirst()
                    .orElseThrow();
            Map<Map<String, String>, Map<String, CaseSummary>> groups = new LinkedHashMap<>();
            for (CaseSummary summary : cases) {
                Map<String, String> elsewhere =
                        new LinkedHashMap<>(summary.spec().labels());
                String value = String.valueOf(elsewhere.remove(spec.axis()));
                groups.computeIfAbsent(elsewhere, key -> new HashMap<>()).put(value, summary);
            }
            groups.forEach((elsewhere, byValue) -> {
                for (String value : axis.values()) {
                    if (!value.equals(spec.baseline())
                            && byValue.containsKey(value)
                            && byValue.containsKey(spec.baseline())) {
                        lines.add(line(
                                experiment, spec, elsewhere, value, byValue.get(value), byValue.get(spec.baseline())));
                    }
                }
            });
        }
        return lines;
    }

    private static ComparisonLine line(
            Experiment experiment,
            CompareSpec spec,
            Map<String, String> elsewhere,
            String value,
            CaseSummary candidate,
            CaseSummary baseline) {
        List<double[]> pairs = pairs(spec, candidate, baseline);
        Comparison comparison = Comparison.of(
                value,
                pairs.stream().mapToDouble(pair -> pair[0]).toArray(),
                spec.baseline(),
                pairs.stream().mapToDouble(pair -> pair[1]).toArray(),
                experiment.seed());
        OptionalDouble publishedRatio = experiment
                .published()
                .map(published -> PublishedTable.ratio(
                        published,
                        spec.metric(),
                        candidate.spec().labels(),
                        baseline.spec().labels()))
                .orElse(OptionalDouble.empty());
        return new ComparisonLine(spec, elsewhere, comparison, publishedRatio);
    }

    private static List<double[]> pairs(CompareSpec spec, CaseSummary candidate, CaseSummary baseline) {
        Map<Integer, Double> below = new HashMap<>();
        baseline.runs().forEach(run -> value(spec, run).ifPresent(value -> below.put(run.block(), value)));
        List<double[]> pairs = new ArrayList<>();
        for (RunRecord run : candidate.runs()) {
            value(spec, run)
                    .ifPresent(above -> Optional.ofNullable(below.get(run.block()))
                            .ifPresent(paired -> pairs.add(new double[] {above, paired})));
        }
        return pairs;
    }

    private static OptionalDouble value(CompareSpec spec, RunRecord run) {
        return run.measurement()
                .map(measurement -> spec.metric().value(measurement))
                .orElse(OptionalDouble.empty());
    }

    private static List<String> remarks(Outcome outcome, List<CaseSummary> cases, List<ComparisonLine> comparisons) {
        List<String> remarks = new ArrayList<>();
        Experiment experiment = outcome.experiment();
        int counted = cases.stream().mapToInt(summary -> summary.runs().size()).sum();
        if (counted < outcome.planned()) {
            remarks.add(counted + " of " + outcome.planned() + " runs are finished"
                    + (outcome.interrupted() ? ": it was interrupted, the same command goes on" : ""));
        }
        long disturbed = cases.stream().mapToLong(CaseSummary::disturbed).sum();
        if (disturbed > 0) {
            String example = cases.stream()
                    .flatMap(summary -> summary.runs().stream())
                    .flatMap(run -> run.flags().stream())
                    .findFirst()
                    .orElse("");
            remarks.add(disturbed + " of " + counted + " runs were disturbed and still count, the first because "
                    + example);
        }
        int failures = outcome.failures().size();
        if (failures > 0) {
            remarks.add(failures + (failures == 1 ? " run" : " runs") + " failed, the first with: "
                    + outcome.failures().getFirst().failure());
        }
        if (outcome.sessions().size() > 1) {
            long hosts = outcome.sessions().stream()
                    .map(session -> session.host())
                    .distinct()
                    .count();
            remarks.add("runs of " + outcome.sessions().size() + " sessions are put together"
                    + (hosts > 1 ? ", and the host changed between them" : ""));
        }
        if (!comparisons.isEmpty() && experiment.repeats() < Bootstrap.LEAST_BLOCKS) {
            remarks.add("a verdict needs at least " + Bootstrap.LEAST_BLOCKS + " repeats, this has "
                    + experiment.repeats());
        }
        if (comparisons.size() >= MANY_COMPARISONS) {
            remarks.add(comparisons.size() + " comparisons at 95 % each: about one in twenty shows a difference by "
                    + "chance");
        }
        return remarks;
    }
}
