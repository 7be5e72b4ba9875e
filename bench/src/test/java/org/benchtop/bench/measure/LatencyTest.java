package org.benchtop.bench.measure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class LatencyTest {
    private static Latency of(long... values) {
        double mean = java.util.Arrays.stream(values).average().orElseThrow();
        double variance = java.util.Arrays.stream(values)
                .mapToDouble(value -> (value - mean) * (value - mean))
                .average()
                .orElseThrow();
        List<LatencyBucket> buckets = java.util.Arrays.stream(values)
                .sorted()
                .boxed()
                .collect(java.util.stream.Collectors.groupingBy(
                        value -> value, java.util.TreeMap::new, java.util.stream.Collectors.counting()))
                .entrySet()
                .stream()
                .map(step -> new LatencyBucket(step.getKey(), step.getValue()))
                .toList();
        return new Latency(
                values.length,
                java.util.Arrays.stream(values).min().orElseThrow(),
                mean,
                java.util.Arrays.stream(values).max().orElseThrow(),
                Math.sqrt(variance),
                buckets);
    }

    @Test
    void quantilesAreTheValuesThatAShareDoesNotExceed() {
        long[] values = java.util.stream.LongStream.rangeClosed(1, 1000).toArray();
        Latency latency = of(values);

        assertEquals(500, latency.quantileNanos(0.5));
        assertEquals(990, latency.quantileNanos(0.99));
        assertEquals(999, latency.quantileNanos(0.999));
        assertEquals(1, latency.quantileNanos(0));
        assertEquals(1000, latency.quantileNanos(1));
    }

    @Test
    void mergedDistributionsEqualTheDistributionOfAllValues() {
        Latency merged = Latency.merge(List.of(of(1, 2, 3), of(10, 20, 3), Latency.NONE));
        Latency all = of(1, 2, 3, 10, 20, 3);

        assertEquals(all.count(), merged.count());
        assertEquals(all.minNanos(), merged.minNanos());
        assertEquals(all.maxNanos(), merged.maxNanos());
        assertEquals(all.meanNanos(), merged.meanNanos(), 1e-9);
        assertEquals(all.stdevNanos(), merged.stdevNanos(), 1e-9);
        assertEquals(all.buckets(), merged.buckets());
    }

    @Test
    void nothingMergedIsNothing() {
        assertFalse(Latency.merge(List.of(Latency.NONE, Latency.NONE)).measured());
    }

    @Test
    void withoutHistogramThereAreNoQuantiles() {
        Latency bare = new Latency(3, 1, 2, 3, 1, List.of());

        assertTrue(Double.isNaN(bare.quantileNanos(0.5)));
        assertEquals(List.of(), Latency.merge(List.of(bare, of(1, 2))).buckets());
        assertEquals(5, Latency.merge(List.of(bare, of(1, 2))).count());
    }

    @Test
    void bucketsThatContradictTheCountAreRefused() {
        List<LatencyBucket> one = List.of(new LatencyBucket(5, 1));
        List<LatencyBucket> descending = List.of(new LatencyBucket(5, 1), new LatencyBucket(4, 1));

        assertThrows(IllegalArgumentException.class, () -> new Latency(2, 1, 1, 5, 0, one));
        assertThrows(IllegalArgumentException.class, () -> new Latency(2, 1, 1, 5, 0, descending));
    }
}
