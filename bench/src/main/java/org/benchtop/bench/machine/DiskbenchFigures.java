package org.benchtop.bench.machine;

import java.util.ArrayList;
import java.util.List;
import org.benchtop.bench.measure.Latency;
import org.benchtop.bench.measure.LatencyBucket;
import org.benchtop.guests.DiskBenchResults;
import org.benchtop.guests.LatencyBuckets;

/** What {@code diskbench} left in guest memory, as latencies of ours. */
final class DiskbenchFigures {
    private DiskbenchFigures() {}

    static Latency clat(DiskBenchResults results) {
        return Latency.merge(List.of(
                latency(results.read().completion()), latency(results.write().completion())));
    }

    static Latency slat(DiskBenchResults results) {
        return Latency.merge(List.of(
                latency(results.read().submission()), latency(results.write().submission())));
    }

    private static Latency latency(DiskBenchResults.Spread spread) {
        List<LatencyBucket> buckets = new ArrayList<>();
        // Counted here: a guest may be wrong about itself, and its figures must still not break ours.
        long counted = 0;
        for (int i = 0; i < spread.histogram().size(); i++) {
            long count = spread.histogram().get(i);
            if (count > 0) {
                buckets.add(new LatencyBucket(LatencyBuckets.middle(i), count));
                counted += count;
            }
        }
        return counted == 0
                ? Latency.NONE
                : new Latency(
                        counted,
                        spread.minimumNanos(),
                        spread.meanNanos(),
                        spread.maximumNanos(),
                        spread.deviationNanos(),
                        buckets);
    }
}
