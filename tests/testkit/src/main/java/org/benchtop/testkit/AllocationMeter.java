package org.benchtop.testkit;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** Counts the bytes that the calling thread allocates on the Java heap. */
public final class AllocationMeter {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int ROUNDS = 8;

    private AllocationMeter() {}

    /**
     * The fewest bytes that a round of calls allocated after as many rounds of warm-up, so that one-time costs (class
     * initialisation, growing of pools, just-in-time compilation) do not count.
     *
     * @param iterations calls in a round
     */
    public static long bytesPerRound(int iterations, Runnable action) {
        long least = Long.MAX_VALUE;
        for (int round = 0; round < 2 * ROUNDS; round++) {
            long before = THREADS.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < iterations; i++) {
                action.run();
            }
            long allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
            if (round >= ROUNDS) {
                least = Math.min(least, allocated);
            }
        }
        return least;
    }
}
