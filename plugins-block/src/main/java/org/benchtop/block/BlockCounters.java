package org.benchtop.block;

import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.stats.Stats;

/** What a backend counts. */
final class BlockCounters {
    private final Counter reads;
    private final Counter readBytes;
    private final Counter writes;
    private final Counter writeBytes;
    private final Counter flushes;
    private final Counter discards;
    private final Counter writeZeroes;
    private final Counter errors;

    BlockCounters(Stats stats) {
        reads = stats.counter("reads");
        readBytes = stats.counter("read-bytes", "B");
        writes = stats.counter("writes");
        writeBytes = stats.counter("write-bytes", "B");
        flushes = stats.counter("flushes");
        discards = stats.counter("discards");
        writeZeroes = stats.counter("write-zeroes");
        errors = stats.counter("errors");
    }

    /** Counts a request that is done. */
    void count(BlockRequest request, BlockStatus status) {
        if (status != BlockStatus.OK) {
            errors.increment();
            return;
        }
        switch (request) {
            case BlockRequest.Read read -> {
                reads.increment();
                readBytes.add(read.lengthBytes());
            }
            case BlockRequest.Write write -> {
                writes.increment();
                writeBytes.add(write.lengthBytes());
            }
            case BlockRequest.Flush flush -> flushes.increment();
            case BlockRequest.Discard discard -> discards.increment();
            case BlockRequest.WriteZeroes zeroes -> writeZeroes.increment();
        }
    }
}
