package org.benchtop.bench.measure;

/**
 * CPU time of this process during the measured time of one run, in nanoseconds.
 *
 * @param elapsedNanos measured time as the host saw it
 * @param processNanos of all threads
 * @param vcpuNanos of the vCPU threads, guest code included; −1 if not known
 * @param loopNanos of the event loops; −1 if not known
 */
public record HostCpu(long elapsedNanos, long processNanos, long vcpuNanos, long loopNanos) {
    /** Nothing is known. */
    public static final HostCpu UNKNOWN = new HostCpu(0, -1, -1, -1);
}
