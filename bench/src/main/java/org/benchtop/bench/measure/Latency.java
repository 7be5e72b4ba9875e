package org.benchtop.bench.measure;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The distribution of one latency over one run; all durations in nanoseconds.
 *
 * @param count how many were measured; 0 means the rest is meaningless
 * @param meanNanos arithmetic mean
 * @param stdevNanos population standard deviation
 * @param buckets non-empty steps in ascending order; their counts add up to {@code count}; empty if no histogram was
 *     kept
 */
public record Latency(
        long count, long minNanos, double meanNanos, long maxNanos, double stdevNanos, List<LatencyBucket> buckets) {
    /** No latency was measured. */
    public static final Latency NONE = new Latency(0, 0, 0, 0, 0, List.of());

    public Latency {
        buckets = List.copyOf(buckets);
        long total = 0;
        long last = -1;
        for (LatencyBucket bucket : buckets) {
            if (bucket.upperNanos() <= last) {
                throw new IllegalArgumentException("latency buckets are not ascending at " + bucket);
            }
            last = bucket.upperNanos();
            total += bucket.count();
        }
        if (total != count && !buckets.isEmpty()) {
            throw new IllegalArgumentException("latency buckets hold " + total + " of " + count + " values");
        }
    }

    /** Whether anything was measured. */
    public boolean measured() {
        return count > 0;
    }

    /**
     * The latency that a share of all requests did not exceed, as the upper end of its histogram step; NaN without a
     * histogram.
     *
     * @param q 0 to 1
     */
    public double quantileNanos(double q) {
        if (!(q >= 0 && q <= 1)) {
            throw new IllegalArgumentException("a quantile is between 0 and 1, not " + q);
        }
        if (buckets.isEmpty()) {
            return Double.NaN;
        }
        long wanted = Math.max(1, (long) Math.ceil(q * count));
        long seen = 0;
        for (LatencyBucket bucket : buckets) {
            seen += bucket.count();
            if (seen >= wanted) {
                return Math.clamp(bucket.upperNanos(), minNanos, Math.max(minNanos, maxNanos));
            }
        }
        return maxNanos;
    }

    /** The distribution of all values of several distributions. */
    public static Latency merge(List<Latency> parts) {
        List<Latency> measured = parts.stream().filter(Latency::measured).toList();
        if (measured.isEmpty()) {
            return NONE;
        }
        long count = 0;
        long min = Long.MAX_VALUE;
        long max = 0;
        double sum = 0;
        double squares = 0;
        TreeMap<Long, Long> steps = new TreeMap<>();
        boolean histograms = measured.stream().noneMatch(part -> part.buckets.isEmpty());
        for (Latency part : measured) {
            count += part.count;
            min = Math.min(min, part.minNanos);
            max = Math.max(max, part.maxNanos);
            sum += part.meanNanos * part.count;
            squares += (part.stdevNanos * part.stdevNanos + part.meanNanos * part.meanNanos) * part.count;
            for (LatencyBucket bucket : histograms ? part.buckets : List.<LatencyBucket>of()) {
                steps.merge(bucket.upperNanos(), bucket.count(), Long::sum);
            }
        }
        double mean = sum / count;
        double variance = Math.max(0, squares / count - mean * mean);
        List<LatencyBucket> buckets = new ArrayList<>();
        for (Map.Entry<Long, Long> step : steps.entrySet()) {
            buckets.add(new LatencyBucket(step.getKey(), step.getValue()));
        }
        return new Latency(count, min, mean, max, Math.sqrt(variance), buckets);
    }
}
