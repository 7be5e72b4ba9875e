package org.benchtop.guests;

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

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.List;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/**
 * What {@code diskbench} measured, read from guest memory at {@link GuestLayout#RESULTS}.
 *
 * @param workload read, write, randread, randwrite, rw or randrw
 * @param mixReadPercent percent of reads in a mix
 * @param requestSizeBytes bytes per request
 * @param depth requests in flight per job
 * @param jobs number of jobs
 * @param queues queues of the disk in use
 * @param polled whether completions were polled for
 * @param disk index of the disk
 * @param seed of data and offsets
 * @param offsetBytes first byte used
 * @param sizeBytes bytes used
 * @param tscKhz the guest's idea of its clock
 * @param elapsedNanos from the end of the ramp to the last completion
 * @param interrupts completion interrupts received, ramp included
 * @param missedInterrupts completions whose interrupt did not come
 * @param notifications doorbell writes, ramp included
 * @param flushes flushes sent
 * @param read reads
 * @param write writes
 */
public record DiskBenchResults(
        String workload,
        int mixReadPercent,
        long requestSizeBytes,
        int depth,
        int jobs,
        int queues,
        boolean polled,
        int disk,
        long seed,
        long offsetBytes,
        long sizeBytes,
        long tscKhz,
        long elapsedNanos,
        long interrupts,
        long missedInterrupts,
        long notifications,
        long flushes,
        Direction read,
        Direction write) {
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final List<String> WORKLOADS = List.of("read", "write", "randread", "randwrite", "rw", "randrw");

    /**
     * Statistics of a latency in nanoseconds; all 0 if nothing was measured.
     *
     * @param histogram values per bucket of {@link LatencyBuckets}
     */
    public record Spread(
            long minimumNanos, double meanNanos, long maximumNanos, double deviationNanos, List<Long> histogram) {
        public Spread {
            histogram = List.copyOf(histogram);
        }

        /** The latency that the given share (0 to 1) of the values does not exceed; 0 without values. */
        public long percentileNanos(double share) {
            long count = histogram.stream().mapToLong(n -> n).sum();
            long wanted = (long) Math.ceil(share * count);
            long seen = 0;
            for (int i = 0; i < histogram.size(); i++) {
                seen += histogram.get(i);
                if (seen >= wanted && wanted > 0) {
                    return Math.min(LatencyBuckets.middle(i), maximumNanos);
                }
            }
            return 0;
        }
    }

    /**
     * One direction.
     *
     * @param requests completed requests
     * @param bytes transferred bytes
     * @param submission from preparing a request to the return of the notification
     * @param completion from there to the guest seeing it complete
     */
    public record Direction(long requests, long bytes, Spread submission, Spread completion) {}

    /** Completed requests per second, both directions. */
    public double requestsPerSecond() {
        return elapsedNanos == 0 ? 0 : (read.requests() + write.requests()) * 1e9 / elapsedNanos;
    }

    /** Transferred bytes per second, both directions. */
    public double bytesPerSecond() {
        return elapsedNanos == 0 ? 0 : (read.bytes() + write.bytes()) * 1e9 / elapsedNanos;
    }

    /**
     * Reads a results area.
     *
     * @param area {@link GuestLayout#RESULTS_SIZE} bytes of guest memory from {@link GuestLayout#RESULTS} on
     * @throws BenchtopException GUEST if there are no complete results
     */
    public static DiskBenchResults parse(MemorySegment area) {
        if (area.byteSize() < DiskBenchLayout.WRITE + DiskBenchLayout.DIRECTION_SIZE
                || area.get(LONG, DiskBenchLayout.MAGIC) != DiskBenchLayout.MAGIC_VALUE) {
            throw noResults("the results area holds no diskbench results");
        }
        int version = area.get(INT, DiskBenchLayout.VERSION);
        if (version != DiskBenchLayout.VERSION_VALUE) {
            throw noResults(
                    "the results area has layout version " + version + ", expected " + DiskBenchLayout.VERSION_VALUE);
        }
        if (area.get(INT, DiskBenchLayout.STATE) != DiskBenchLayout.STATE_COMPLETE) {
            throw noResults("diskbench has not finished");
        }
        int workload = area.get(INT, DiskBenchLayout.WORKLOAD);
        if (workload < 0 || workload >= WORKLOADS.size()) {
            throw noResults("the results area names the unknown workload " + workload);
        }
        return new DiskBenchResults(
                WORKLOADS.get(workload),
                area.get(INT, DiskBenchLayout.MIX_READ),
                area.get(LONG, DiskBenchLayout.REQUEST_SIZE),
                area.get(INT, DiskBenchLayout.DEPTH),
                area.get(INT, DiskBenchLayout.JOBS),
                area.get(INT, DiskBenchLayout.QUEUES),
                (area.get(INT, DiskBenchLayout.FLAGS) & 1) != 0,
                area.get(INT, DiskBenchLayout.DISK),
                area.get(LONG, DiskBenchLayout.SEED),
                area.get(LONG, DiskBenchLayout.OFFSET),
                area.get(LONG, DiskBenchLayout.SIZE),
                area.get(LONG, DiskBenchLayout.TSC_KHZ),
                area.get(LONG, DiskBenchLayout.ELAPSED_NANOS),
                area.get(LONG, DiskBenchLayout.INTERRUPTS),
                area.get(LONG, DiskBenchLayout.MISSED_INTERRUPTS),
                area.get(LONG, DiskBenchLayout.NOTIFICATIONS),
                area.get(LONG, DiskBenchLayout.FLUSHES),
                direction(area, DiskBenchLayout.READ),
                direction(area, DiskBenchLayout.WRITE));
    }

    private static BenchtopException noResults(String message) {
        return BenchtopException.of(ErrorKind.GUEST, message);
    }

    private static Direction direction(MemorySegment area, long at) {
        long requests = area.get(LONG, at + IOS);
        return new Direction(
                requests,
                area.get(LONG, at + BYTES),
                spread(area, at + SUBMISSION, requests),
                spread(area, at + COMPLETION, requests));
    }

    private static Spread spread(MemorySegment area, long at, long count) {
        if (count == 0) {
            return new Spread(0, 0, 0, 0, List.of());
        }
        Long[] histogram = new Long[LatencyBuckets.COUNT];
        for (int i = 0; i < histogram.length; i++) {
            histogram[i] = area.get(LONG, at + HISTOGRAM + 8L * i);
        }
        double mean = (double) area.get(LONG, at + SUM) / count;
        long low = area.get(LONG, at + SQUARES_LOW);
        double squares = area.get(LONG, at + SQUARES_HIGH) * 0x1p64 + (low >>> 1) * 2.0 + (low & 1);
        double variance = Math.max(squares / count - mean * mean, 0);
        return new Spread(
                area.get(LONG, at + MINIMUM),
                mean,
                area.get(LONG, at + MAXIMUM),
                Math.sqrt(variance),
                List.of(histogram));
    }
}
