package org.benchtop.block;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.memory.IoVector;
import org.benchtop.spi.time.Clock;

/**
 * A disk that stores nothing. Without latency requests complete before submit returns; with latency each completes
 * that long after it was submitted, however many are in flight.
 */
final class NullBackend implements BlockBackend {
    private static final int MAX_SEGMENTS = 1024;
    private static final long MAX_TRANSFER_BYTES = 1 << 30;
    private static final int ZERO_BYTES = 64 << 10;
    private static final MemorySegment ZEROES = Arena.global().allocate(ZERO_BYTES, 4096);

    private final NullOptions options;
    private final Clock clock;
    private final BlockCapabilities capabilities;

    NullBackend(NullOptions options, Clock clock) {
        this.options = options;
        this.clock = clock;
        int block = options.logicalBlockSize();
        this.capabilities = new BlockCapabilities(
                options.size(),
                block,
                block,
                options.readOnly(),
                !options.readOnly(),
                true,
                CacheMode.UNSAFE,
                MAX_SEGMENTS,
                MAX_TRANSFER_BYTES);
    }

    @Override
    public BlockCapabilities capabilities() {
        return capabilities;
    }

    @Override
    public BlockQueue openQueue(EventLoop loop) {
        return options.latency() == 0 ? new ImmediateQueue() : new DelayedQueue(loop);
    }

    @Override
    public String describe() {
        return "null, " + options.size() + " bytes, latency " + options.latency() + " ns";
    }

    @Override
    public void close() {}

    private void complete(BlockRequest request, BlockCompletion completion) {
        BlockStatus status = RequestCheck.check(request, capabilities);
        if (status == BlockStatus.OK && options.readZeroes() && request instanceof BlockRequest.Read read) {
            IoVector buffer = read.buffer();
            for (long done = 0; done < buffer.sizeBytes(); done += ZERO_BYTES) {
                buffer.copyFrom(done, ZEROES, 0, Math.min(ZERO_BYTES, buffer.sizeBytes() - done));
            }
        }
        completion.completed(request, status);
    }

    private final class ImmediateQueue implements BlockQueue {
        @Override
        public void submit(BlockRequest request, BlockCompletion completion) {
            complete(request, completion);
        }

        @Override
        public void close() {}
    }

    /** All requests take equally long, so they complete in the order of submission and one timer is enough. */
    private final class DelayedQueue implements BlockQueue {
        private final Timer timer;
        private final ArrayDeque<Pending> pending = new ArrayDeque<>();
        private final ArrayDeque<Pending> free = new ArrayDeque<>();
        private boolean delivering;

        DelayedQueue(EventLoop loop) {
            this.timer = loop.timer(clock, this::expired);
        }

        @Override
        public void submit(BlockRequest request, BlockCompletion completion) {
            Pending entry = free.isEmpty() ? new Pending() : free.pop();
            entry.request = request;
            entry.completion = completion;
            entry.deadlineNanos = clock.nanoTime() + options.latency();
            pending.add(entry);
            if (pending.size() == 1 && !delivering) {
                timer.armAt(entry.deadlineNanos);
            }
        }

        private void expired() {
            long now = clock.nanoTime();
            delivering = true;
            try {
                for (Pending next = pending.peek(); next != null && next.deadlineNanos <= now; next = pending.peek()) {
                    pending.poll();
                    BlockRequest request = next.request;
                    BlockCompletion completion = next.completion;
                    next.request = Pending.IDLE;
                    next.completion = Pending.NOBODY;
                    free.push(next);
                    complete(request, completion);
                }
            } finally {
                delivering = false;
                Pending next = pending.peek();
                if (next != null) {
                    timer.armAt(next.deadlineNanos);
                }
            }
        }

        @Override
        public void close() {
            timer.close();
        }
    }

    private static final class Pending {
        private static final BlockRequest IDLE = new BlockRequest.Flush();
        private static final BlockCompletion NOBODY = (request, status) -> {};

        private BlockRequest request = IDLE;
        private BlockCompletion completion = NOBODY;
        private long deadlineNanos;
    }
}
