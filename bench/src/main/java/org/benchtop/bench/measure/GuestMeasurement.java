package org.benchtop.bench.measure;

import java.util.Map;
import java.util.TreeMap;

/**
 * What one machine did during the measured time of one run.
 *
 * @param requests requests that completed
 * @param reads of them reads
 * @param writes of them writes
 * @param bytes bytes read and written
 * @param errors requests that failed
 * @param elapsedNanos measured time as the guest saw it
 * @param slat from taking up a request to having rung the doorbell
 * @param clat from there to having seen its completion
 * @param windowRequests requests that its drives completed while exits, interrupts and CPU time were counted; close to
 *     {@code requests}, but of the same moments
 * @param exits vCPU exits by reason
 * @param interrupts interrupts that its devices raised
 * @param counters other counters of the machine, by name, such as {@code disk0.flushes}
 */
public record GuestMeasurement(
        long requests,
        long reads,
        long writes,
        long bytes,
        long errors,
        long elapsedNanos,
        Latency slat,
        Latency clat,
        long windowRequests,
        Map<String, Long> exits,
        long interrupts,
        Map<String, Long> counters) {
    public GuestMeasurement {
        exits = new TreeMap<>(exits);
        counters = new TreeMap<>(counters);
    }

    /** Exits of all reasons. */
    public long exitCount() {
        return exits.values().stream().mapToLong(Long::longValue).sum();
    }
}
