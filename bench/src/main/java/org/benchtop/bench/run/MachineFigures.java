package org.benchtop.bench.run;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;
import org.benchtop.bench.measure.Latency;
import org.benchtop.bench.measure.LatencyBucket;
import org.benchtop.engine.stats.StatsSnapshot;

/**
 * Sums over a machine's counters: vCPU exits by reason, interrupts of devices, requests of drives.
 *
 * @param reads completed reads
 * @param writes completed writes
 * @param flushes completed flushes
 * @param bytes bytes read and written
 * @param errors failed requests
 * @param latency of reads and writes in the backends
 * @param exits by reason
 * @param interrupts interrupts that devices raised
 */
public record MachineFigures(
        long reads,
        long writes,
        long flushes,
        long bytes,
        long errors,
        Latency latency,
        Map<String, Long> exits,
        long interrupts) {
    private static final Pattern VCPU = Pattern.compile("vcpu\\d+");
    private static final String ALL_EXITS = "exits";

    /** Takes the sums of a snapshot. */
    public static MachineFigures of(StatsSnapshot stats) {
        Map<String, Long> exits = new TreeMap<>();
        List<Latency> latencies = new ArrayList<>();
        long reads = 0;
        long writes = 0;
        long flushes = 0;
        long bytes = 0;
        long errors = 0;
        long interrupts = 0;
        for (Map.Entry<String, StatsSnapshot.Entry> named : stats.entries().entrySet()) {
            StatsSnapshot.Entry entry = named.getValue();
            if (VCPU.matcher(named.getKey()).matches()) {
                entry.values().forEach((reason, count) -> {
                    if (!reason.equals(ALL_EXITS) && count > 0) {
                        exits.merge(reason, count, Long::sum);
                    }
                });
                continue;
            }
            interrupts += entry.value("interrupts");
            if (isDrive(entry)) {
                reads += entry.value("read-requests");
                writes += entry.value("write-requests");
                flushes += entry.value("flush-requests");
                bytes += entry.value("read-bytes") + entry.value("write-bytes");
                errors += entry.value("errors");
                for (String kind : List.of("read-latency", "write-latency")) {
                    Histogram histogram = entry.histograms().get(kind);
                    if (histogram != null) {
                        latencies.add(latency(histogram));
                    }
                }
            }
        }
        return new MachineFigures(reads, writes, flushes, bytes, errors, Latency.merge(latencies), exits, interrupts);
    }

    private static boolean isDrive(StatsSnapshot.Entry entry) {
        return entry.values().containsKey("read-requests");
    }

    private static Latency latency(Histogram histogram) {
        if (histogram.getTotalCount() == 0) {
            return Latency.NONE;
        }
        List<LatencyBucket> buckets = new ArrayList<>();
        long count = 0;
        for (HistogramIterationValue step : histogram.recordedValues()) {
            long here = step.getCountAddedInThisIterationStep();
            if (here > 0) {
                buckets.add(new LatencyBucket(step.getValueIteratedTo(), here));
                count += here;
            }
        }
        return new Latency(
                count,
                Math.min(histogram.getMinNonZeroValue(), histogram.getMinValue()),
                histogram.getMean(),
                histogram.getMaxValue(),
                histogram.getStdDeviation(),
                buckets);
    }
}
