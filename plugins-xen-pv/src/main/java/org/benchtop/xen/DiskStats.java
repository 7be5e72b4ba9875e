package org.benchtop.xen;

import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.stats.Stats;

/** What is counted for all queues of a disk. */
record DiskStats(
        Counter reads,
        Counter writes,
        Counter flushes,
        Counter discards,
        Counter readBytes,
        Counter writeBytes,
        Counter indirect,
        Counter errors,
        Counter notifications,
        Counter interrupts) {
    static DiskStats of(Stats stats) {
        return new DiskStats(
                stats.counter("reads"),
                stats.counter("writes"),
                stats.counter("flushes"),
                stats.counter("discards"),
                stats.counter("read-bytes", "B"),
                stats.counter("write-bytes", "B"),
                stats.counter("indirect-requests"),
                stats.counter("errors"),
                stats.counter("notifications"),
                stats.counter("interrupts"));
    }
}
