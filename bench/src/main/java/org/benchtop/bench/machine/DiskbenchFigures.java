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
        return Latency.merge(List.of(completion(results.read()), completion(results.write())));
    }

    static Latency slat(DiskBenchResults results) {
        return Latency.merge(List.of(
                latency(results.read().requests(), results.read().submission(), List.of()),
                latency(results.write().requests(), results.write().submission(), List.of())));
    }

    private static Latency completion(DiskBenchResults.Direction direction) {
        List<LatencyBucket> buckets = new ArrayList<>();
        long counted = 0;
        for (int i = 0; i < direction.histogram().size(); i++) {
            long count = direction.histogram().get(i);
            if (count > 0) {
                buckets.add(new LatencyBucket(LatencyBuckets.middle(i), count));
                counted += count;
            }
        }
        // A guest may be wrong about itself; its figures must still not break ours.
        return latency(counted, direction.completion(), buckets);
    }

    private static Latency latency(long count, DiskBenchResults.Spread spread, List<LatencyBucket> buckets) {
        return count == 0
                ? Latency.NONE
                : new Latency(
                        count,
                        spread.minimumNanos(),
                        spread.meanNanos(),
                        spread.maximumNanos(),
                        spread.deviationNanos(),
                        buckets);
    }
}
