package org.benchtop.testkit;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** Counts the bytes that the calling thread allocates on the Java heap. */
public final class AllocationMeter {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int MIN_ROUNDS = 10;
    private static final int MAX_ROUNDS = 400;

    private AllocationMeter() {}

    /**
     * The fewest bytes that a round of calls allocated, so that one-time costs (class initialisation, growing of pools,
     * code that is not compiled yet) do not count. Stops early when a round allocates nothing.
     *
     * @param iterations calls in a round
     */
    public static long bytesPerRound(int iterations, Runnable action) {
        long least = Long.MAX_VALUE;
        for (int round = 0; round < MAX_ROUNDS && (round < MIN_ROUNDS || least > 0); round++) {
            long before = THREADS.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < iterations; i++) {
                action.run();
            }
            least = Math.min(least, THREADS.getCurrentThreadAllocatedBytes() - before);
        }
        return least;
    }
}
