package org.benchtop.virtio.blk;

import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.stats.Stats;

/** What is counted for all queues of a block device. */
record BlkStats(
        Counter reads,
        Counter writes,
        Counter flushes,
        Counter discards,
        Counter writeZeroes,
        Counter otherRequests,
        Counter readBytes,
        Counter writeBytes,
        Counter errors) {
    static BlkStats of(Stats stats) {
        return new BlkStats(
                stats.counter("reads"),
                stats.counter("writes"),
                stats.counter("flushes"),
                stats.counter("discards"),
                stats.counter("write-zeroes"),
                stats.counter("other-requests"),
                stats.counter("read-bytes", "B"),
                stats.counter("write-bytes", "B"),
                stats.counter("errors"));
    }
}
