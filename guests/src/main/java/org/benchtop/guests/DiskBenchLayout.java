package org.benchtop.guests;

/**
 * Offsets in the results area of {@code diskbench}; all values are little-endian.
 *
 * <p>Header: magic, version, state, parameters, totals. One block per direction: counts, submission and completion
 * latency in nanoseconds, each with a histogram in {@link LatencyBuckets}.
 */
public final class DiskBenchLayout {
    /** {@code "BTDISKB1"} as a little-endian number, 8 bytes. */
    public static final int MAGIC = 0;

    public static final long MAGIC_VALUE = 0x3142_4b53_4944_5442L;

    /** Layout version, 4 bytes. */
    public static final int VERSION = 8;

    public static final int VERSION_VALUE = 2;

    /** 0 nothing yet, 1 running, 2 complete; written last; 4 bytes. */
    public static final int STATE = 12;

    public static final int STATE_RUNNING = 1;
    public static final int STATE_COMPLETE = 2;

    /** Index into {@code read write randread randwrite rw randrw}, 4 bytes. */
    public static final int WORKLOAD = 16;

    /** Percent of reads in a mix, 4 bytes. */
    public static final int MIX_READ = 20;

    /** Bytes per request, 8 bytes. */
    public static final int REQUEST_SIZE = 24;

    /** Requests in flight per job, 4 bytes. */
    public static final int DEPTH = 32;

    /** Jobs, 4 bytes. */
    public static final int JOBS = 36;

    /** Bit 0 polled, bit 1 event index, bit 2 indirect descriptors; 4 bytes. */
    public static final int FLAGS = 40;

    /** Index of the disk, 4 bytes. */
    public static final int DISK = 44;

    public static final int SEED = 48;
    public static final int OFFSET = 56;
    public static final int SIZE = 64;
    public static final int TSC_KHZ = 72;
    public static final int ELAPSED_NANOS = 80;
    public static final int INTERRUPTS = 88;
    public static final int MISSED_INTERRUPTS = 96;
    public static final int NOTIFICATIONS = 104;
    public static final int FLUSHES = 112;

    /** Queues of the disk in use, 4 bytes. */
    public static final int QUEUES = 120;

    public static final int HEADER_SIZE = 128;

    /** The direction blocks. */
    public static final int READ = 0x1000;

    public static final int WRITE = 0x6000;

    /** In a direction block: completed requests, bytes. */
    public static final int IOS = 0;

    public static final int BYTES = 8;

    /**
     * Statistics blocks: minimum, maximum, sum, the 128-bit sum of squares (low, high), and a histogram of {@link
     * LatencyBuckets#COUNT} counters of 8 bytes.
     */
    public static final int SUBMISSION = 16;

    public static final int COMPLETION = SUBMISSION + 40 + 8 * LatencyBuckets.COUNT;

    public static final int MINIMUM = 0;
    public static final int MAXIMUM = 8;
    public static final int SUM = 16;
    public static final int SQUARES_LOW = 24;
    public static final int SQUARES_HIGH = 32;

    public static final int HISTOGRAM = 40;

    public static final int DIRECTION_SIZE = COMPLETION + 40 + 8 * LatencyBuckets.COUNT;

    private DiskBenchLayout() {}
}
