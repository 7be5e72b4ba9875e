package org.benchtop.bench.measure;

/**
 * A step of a latency histogram.
 *
 * @param upperNanos the greatest latency counted here, in nanoseconds
 * @param count how many
 */
public record LatencyBucket(long upperNanos, long count) {
    public LatencyBucket {
        if (upperNanos < 0 || count < 0) {
            throw new IllegalArgumentException("negative latency bucket: upperNanos=" + upperNanos + " count=" + count);
        }
    }
}
