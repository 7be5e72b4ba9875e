package org.benchtop.virtio.queue;

import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.stats.LatencyHistogram;
import org.benchtop.spi.stats.Stats;

/**
 * What is counted for all queues of a device.
 *
 * @param notifications doorbells of the driver, coalesced ones once
 * @param interrupts interrupts for used buffers; the engine counts what it delivers under {@code interrupts}
 * @param latency from taking a chain to showing it used
 */
public record QueueStats(Counter notifications, Counter interrupts, LatencyHistogram latency) {
    /** The counters under their usual names. */
    public static QueueStats of(Stats stats) {
        return new QueueStats(
                stats.counter("notifications"), stats.counter("queue-interrupts"), stats.histogram("latency"));
    }
}
