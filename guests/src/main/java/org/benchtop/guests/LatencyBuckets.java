package org.benchtop.guests;

/**
 * Log-linear histogram buckets for nanoseconds: 32 per power of two, so a bucket is at most 3 % wide.
 *
 * <p>This class runs in the guest and on the JVM.
 */
public final class LatencyBuckets {
    /** Number of buckets; the last one takes everything from about 36 minutes up. */
    public static final int COUNT = 1216;

    private static final int SUB_BITS = 5;
    private static final int SUBS = 1 << SUB_BITS;

    private LatencyBuckets() {}

    /** The bucket of a duration; negative durations count as 0. */
    public static int index(long nanos) {
        if (nanos < SUBS) {
            return (int) Math.max(nanos, 0);
        }
        int shift = 63 - SUB_BITS - Long.numberOfLeadingZeros(nanos);
        int index = (shift << SUB_BITS) + (int) (nanos >>> shift);
        return Math.min(index, COUNT - 1);
    }

    /** The smallest duration of a bucket. */
    public static long lowest(int index) {
        if (index < SUBS) {
            return index;
        }
        int shift = (index >> SUB_BITS) - 1;
        return (long) ((index & SUBS - 1) + SUBS) << shift;
    }

    /** The middle of a bucket. */
    public static long middle(int index) {
        return index < SUBS ? index : (lowest(index) + lowest(index + 1)) >>> 1;
    }
}
