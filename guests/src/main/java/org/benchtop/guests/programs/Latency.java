package org.benchtop.guests.programs;

import static org.benchtop.guests.DiskBenchLayout.BYTES;
import static org.benchtop.guests.DiskBenchLayout.COMPLETION;
import static org.benchtop.guests.DiskBenchLayout.HISTOGRAM;
import static org.benchtop.guests.DiskBenchLayout.IOS;
import static org.benchtop.guests.DiskBenchLayout.MAXIMUM;
import static org.benchtop.guests.DiskBenchLayout.MINIMUM;
import static org.benchtop.guests.DiskBenchLayout.SQUARES_HIGH;
import static org.benchtop.guests.DiskBenchLayout.SQUARES_LOW;
import static org.benchtop.guests.DiskBenchLayout.SUBMISSION;
import static org.benchtop.guests.DiskBenchLayout.SUM;

import org.benchtop.guests.LatencyBuckets;
import org.benchtop.guests.lang.Guest;

/** Latency statistics in the direction blocks of {@link org.benchtop.guests.DiskBenchLayout}. */
final class Latency {
    private Latency() {}

    /** Counts one value in a statistics block. */
    private static void record(long block, long nanos) {
        if (Long.compareUnsigned(nanos, Guest.load64(block + MINIMUM)) < 0) {
            Guest.store64(block + MINIMUM, nanos);
        }
        if (nanos > Guest.load64(block + MAXIMUM)) {
            Guest.store64(block + MAXIMUM, nanos);
        }
        Guest.store64(block + SUM, Guest.load64(block + SUM) + nanos);
        addSquares(block, nanos * nanos, Math.unsignedMultiplyHigh(nanos, nanos));
        long bucket = block + HISTOGRAM + 8L * LatencyBuckets.index(nanos);
        Guest.store64(bucket, Guest.load64(bucket) + 1);
    }

    private static void addSquares(long block, long low, long high) {
        long sum = Guest.load64(block + SQUARES_LOW) + low;
        Guest.store64(block + SQUARES_LOW, sum);
        long carry = Long.compareUnsigned(sum, low) < 0 ? 1 : 0;
        Guest.store64(block + SQUARES_HIGH, Guest.load64(block + SQUARES_HIGH) + high + carry);
    }

    /** Makes a zeroed direction block ready. */
    static void open(long direction) {
        Guest.store64(direction + SUBMISSION + MINIMUM, -1);
        Guest.store64(direction + COMPLETION + MINIMUM, -1);
    }

    static void submitted(long direction, long nanos) {
        record(direction + SUBMISSION, nanos);
    }

    static void completed(long direction, long nanos, int sizeBytes) {
        Guest.store64(direction + IOS, Guest.load64(direction + IOS) + 1);
        Guest.store64(direction + BYTES, Guest.load64(direction + BYTES) + sizeBytes);
        record(direction + COMPLETION, nanos);
    }

    /** Adds the direction block {@code from} to {@code to}. */
    static void merge(long to, long from) {
        Guest.store64(to + IOS, Guest.load64(to + IOS) + Guest.load64(from + IOS));
        Guest.store64(to + BYTES, Guest.load64(to + BYTES) + Guest.load64(from + BYTES));
        mergeBlock(to + SUBMISSION, from + SUBMISSION);
        mergeBlock(to + COMPLETION, from + COMPLETION);
    }

    private static void mergeBlock(long to, long from) {
        if (Long.compareUnsigned(Guest.load64(from + MINIMUM), Guest.load64(to + MINIMUM)) < 0) {
            Guest.store64(to + MINIMUM, Guest.load64(from + MINIMUM));
        }
        Guest.store64(to + MAXIMUM, Math.max(Guest.load64(to + MAXIMUM), Guest.load64(from + MAXIMUM)));
        Guest.store64(to + SUM, Guest.load64(to + SUM) + Guest.load64(from + SUM));
        addSquares(to, Guest.load64(from + SQUARES_LOW), Guest.load64(from + SQUARES_HIGH));
        for (int i = 0; i < LatencyBuckets.COUNT; i++) {
            long bucket = to + HISTOGRAM + 8L * i;
            Guest.store64(bucket, Guest.load64(bucket) + Guest.load64(from + HISTOGRAM + 8L * i));
        }
    }

    /** The latency that {@code perTenThousand} of the {@code count} values of a statistics block do not exceed. */
    static long percentile(long block, long count, int perTenThousand) {
        long wanted = (count * perTenThousand + 9_999) / 10_000;
        long seen = 0;
        for (int i = 0; i < LatencyBuckets.COUNT; i++) {
            seen += Guest.load64(block + HISTOGRAM + 8L * i);
            if (seen >= wanted && wanted > 0) {
                long top = Guest.load64(block + MAXIMUM);
                return Math.min(LatencyBuckets.middle(i), top);
            }
        }
        return 0;
    }

    static long mean(long block, long count) {
        return count == 0 ? 0 : Guest.load64(block + SUM) / count;
    }

    /** Standard deviation; values up to four seconds are exact, beyond that it is cut off. */
    static long deviation(long block, long count) {
        long high = Guest.load64(block + SQUARES_HIGH);
        if (count == 0) {
            return 0;
        }
        if (Long.compareUnsigned(high, count) >= 0) {
            return Guest.load64(block + MAXIMUM);
        }
        long meanSquare = Guest.divide128(high, Guest.load64(block + SQUARES_LOW), count);
        long mean = mean(block, count);
        return squareRoot(meanSquare - mean * mean);
    }

    private static long squareRoot(long value) {
        if (value <= 0) {
            return 0;
        }
        long root = 0;
        long rest = value;
        long bit = 1L << 62;
        while (bit > value) {
            bit >>>= 2;
        }
        while (bit != 0) {
            if (rest >= root + bit) {
                rest -= root + bit;
                root = (root >>> 1) + bit;
            } else {
                root >>>= 1;
            }
            bit >>>= 2;
        }
        return root;
    }
}
