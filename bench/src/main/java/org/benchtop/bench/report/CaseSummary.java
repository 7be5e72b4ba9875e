package org.benchtop.bench.report;

import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.measure.GuestMeasurement;
import org.benchtop.bench.measure.Latency;
import org.benchtop.bench.measure.Measurement;
import org.benchtop.bench.measure.Metric;
import org.benchtop.bench.run.RunRecord;
import org.benchtop.bench.statistics.Sample;

/**
 * All counted runs of one case together.
 *
 * @param spec the case
 * @param runs its counted runs by block
 * @param samples the figures in their shown units; a figure that no run measured is missing
 * @param clat completion latencies of all runs
 * @param slat submission latencies of all runs
 * @param exitsPerRequest by reason, over all runs
 * @param disturbed how many runs have a flag
 * @param facts what runs observed, by name; differing observations are joined
 */
public record CaseSummary(
        CaseSpec spec,
        List<RunRecord> runs,
        Map<Metric, Sample> samples,
        Latency clat,
        Latency slat,
        Map<String, Double> exitsPerRequest,
        long disturbed,
        Map<String, String> facts) {
    static CaseSummary of(CaseSpec spec, List<RunRecord> runs) {
        List<Measurement> measurements =
                runs.stream().flatMap(run -> run.measurement().stream()).toList();
        Map<Metric, Sample> samples = new EnumMap<>(Metric.class);
        for (Metric metric : Metric.values()) {
            double[] values = measurements.stream()
                    .flatMap(measurement -> metric.value(measurement).stream().boxed())
                    .mapToDouble(Double::doubleValue)
                    .toArray();
            if (values.length > 0) {
                samples.put(metric, Sample.of(values));
            }
        }
        Map<String, Long> exits = new TreeMap<>();
        Map<String, List<String>> facts = new TreeMap<>();
        long requests = 0;
        for (Measurement measurement : measurements) {
            requests += measurement.guests().stream()
                    .mapToLong(GuestMeasurement::windowRequests)
                    .sum();
            measurement.exits().forEach((reason, count) -> exits.merge(reason, count, Long::sum));
            measurement.facts().forEach((name, fact) -> {
                List<String> seen = facts.computeIfAbsent(name, key -> new ArrayList<>());
                if (!seen.contains(fact)) {
                    seen.add(fact);
                }
            });
        }
        Map<String, Double> perRequest = new TreeMap<>();
        for (Map.Entry<String, Long> exit : exits.entrySet()) {
            if (requests > 0) {
                perRequest.put(exit.getKey(), (double) exit.getValue() / requests);
            }
        }
        Map<String, String> joined = new TreeMap<>();
        facts.forEach((name, seen) -> joined.put(name, String.join(" / ", seen)));
        return new CaseSummary(
                spec,
                List.copyOf(runs),
                Collections.unmodifiableMap(samples),
                Latency.merge(measurements.stream().map(Measurement::clat).toList()),
                Latency.merge(measurements.stream().map(Measurement::slat).toList()),
                Collections.unmodifiableMap(perRequest),
                runs.stream().filter(run -> !run.flags().isEmpty()).count(),
                Collections.unmodifiableMap(joined));
    }

    /** The values of a figure over the runs, if it was measured. */
    public Optional<Sample> sample(Metric metric) {
        return Optional.ofNullable(samples.get(metric));
    }
}
