package org.benchtop.block.filter;

import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicInteger;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockExtent;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.time.Clock;

/** Passes requests on to another drive and records each when it completes. */
final class TraceBackend implements BlockBackend {
    private final BlockBackend inner;
    private final TraceFile file;
    private final Clock clock;
    private final long startNanos;
    private final AtomicInteger queues = new AtomicInteger();

    TraceBackend(BlockBackend inner, TraceFile file, Clock clock) {
        this.inner = inner;
        this.file = file;
        this.clock = clock;
        this.startNanos = clock.nanoTime();
    }

    @Override
    public BlockCapabilities capabilities() {
        return inner.capabilities();
    }

    @Override
    public BlockQueue openQueue(EventLoop loop) {
        return new Queue(inner.openQueue(loop), queues.getAndIncrement());
    }

    @Override
    public BlockExtent blockStatus(long offsetBytes, long lengthBytes) {
        return inner.blockStatus(offsetBytes, lengthBytes);
    }

    @Override
    public String describe() {
        return "trace into " + file.path() + " over " + inner.describe();
    }

    /** Ends the recording; the drive below is the engine's to close. */
    @Override
    public void close() {
        file.close();
    }

    private final class Queue implements BlockQueue {
        private final BlockQueue queue;
        private final int number;
        private final ArrayDeque<Recorded> free = new ArrayDeque<>();

        Queue(BlockQueue queue, int number) {
            this.queue = queue;
            this.number = number;
        }

        @Override
        public void submit(BlockRequest request, BlockCompletion completion) {
            Recorded recorded = free.isEmpty() ? new Recorded(this) : free.pop();
            recorded.completion = completion;
            recorded.submittedNanos = clock.nanoTime();
            queue.submit(request, recorded);
        }

        @Override
        public void kick() {
            queue.kick();
        }

        @Override
        public void drain() {
            queue.drain();
        }

        @Override
        public void close() {
            queue.close();
        }
    }

    private final class Recorded implements BlockCompletion {
        private final Queue queue;
        private BlockCompletion completion = (request, status) -> {};
        private long submittedNanos;

        Recorded(Queue queue) {
            this.queue = queue;
        }

        @Override
        public void completed(BlockRequest request, BlockStatus status) {
            file.record(submittedNanos - startNanos, clock.nanoTime() - submittedNanos, queue.number, request, status);
            BlockCompletion told = completion;
            queue.free.push(this);
            told.completed(request, status);
        }
    }
}
