package org.benchtop.scsi.target;

import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.stats.Stats;
import org.jspecify.annotations.Nullable;

/** One event loop's way to the drive of one logical unit. Everything is called on that loop. */
final class UnitPort {
    private final LogicalUnit unit;
    private final EventLoop loop;
    private final @Nullable BlockQueue queue;
    private final int maxSegments;
    private final long maxPartBytes;
    private final Counter reads;
    private final Counter readBytes;
    private final Counter writes;
    private final Counter writeBytes;
    private final Counter flushes;
    private final Counter errors;
    private boolean submitted;
    private volatile boolean closed;

    UnitPort(LogicalUnit unit, EventLoop loop, @Nullable BlockBackend backend, Stats stats) {
        this.unit = unit;
        this.loop = loop;
        this.queue = backend == null ? null : backend.openQueue(loop);
        BlockCapabilities capabilities = backend == null ? null : backend.capabilities();
        maxSegments = capabilities == null ? 1 : capabilities.maxSegments();
        maxPartBytes = capabilities == null ? 1 : capabilities.maxTransferBytes();
        reads = stats.counter("reads");
        readBytes = stats.counter("read-bytes", "B");
        writes = stats.counter("writes");
        writeBytes = stats.counter("write-bytes", "B");
        flushes = stats.counter("flushes");
        errors = stats.counter("errors");
    }

    LogicalUnit unit() {
        return unit;
    }

    EventLoop loop() {
        return loop;
    }

    int maxSegments() {
        return maxSegments;
    }

    long maxPartBytes() {
        return maxPartBytes;
    }

    Counter flushes() {
        return flushes;
    }

    Counter errors() {
        return errors;
    }

    void countRead(long bytes) {
        reads.increment();
        readBytes.add(bytes);
    }

    void countWrite(long bytes) {
        writes.increment();
        writeBytes.add(bytes);
    }

    void submit(BlockRequest request, BlockCompletion completion) {
        BlockQueue to = queue;
        if (to == null) {
            completion.completed(request, BlockStatus.UNSUPPORTED);
            return;
        }
        submitted = true;
        to.submit(request, completion);
    }

    /** Hands over what was submitted. */
    void kick() {
        BlockQueue to = queue;
        if (submitted && to != null) {
            submitted = false;
            to.kick();
        }
    }

    void drain() {
        BlockQueue to = queue;
        if (to != null && !closed) {
            to.drain();
        }
    }

    /** Any thread; nothing is in flight. */
    void close() {
        closed = true;
        BlockQueue to = queue;
        if (to != null) {
            to.close();
        }
    }
}
