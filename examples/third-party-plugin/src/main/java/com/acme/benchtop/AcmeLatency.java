package com.acme.benchtop;

import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.stats.Stats;
import org.benchtop.spi.time.Clock;

/** Holds each request back for a while and then hands it to the drive beneath. */
final class AcmeLatency implements BlockBackend {
    private final AcmeLatencyOptions options;
    private final BlockBackend inner;
    private final Clock clock;
    private final Counter delayed;

    AcmeLatency(AcmeLatencyOptions options, BlockBackend inner, Clock clock, Stats stats) {
        this.options = options;
        this.inner = inner;
        this.clock = clock;
        this.delayed = stats.counter("delayed");
    }

    @Override
    public BlockCapabilities capabilities() {
        return inner.capabilities();
    }

    @Override
    public BlockQueue openQueue(EventLoop loop) {
        return new Queue(inner.openQueue(loop), loop);
    }

    @Override
    public String describe() {
        return "acme-latency over " + inner.describe();
    }

    /** The engine closes the drive beneath. */
    @Override
    public void close() {}

    private final class Queue implements BlockQueue {
        private final BlockQueue queue;
        private final DelayLine reads;
        private final DelayLine writes;
        private final DelayLine flushes;

        Queue(BlockQueue queue, EventLoop loop) {
            this.queue = queue;
            this.reads = new DelayLine(queue, loop, clock, options.read());
            this.writes = new DelayLine(queue, loop, clock, options.write());
            this.flushes = new DelayLine(queue, loop, clock, options.flush());
        }

        @Override
        public void submit(BlockRequest request, BlockCompletion completion) {
            DelayLine line =
                    switch (request) {
                        case BlockRequest.Read read -> reads;
                        case BlockRequest.Write write -> writes;
                        case BlockRequest.Discard discard -> writes;
                        case BlockRequest.WriteZeroes zeroes -> writes;
                        case BlockRequest.Flush flush -> flushes;
                    };
            if (line.delayNanos() == 0) {
                queue.submit(request, completion);
            } else {
                delayed.increment();
                line.add(request, completion);
            }
        }

        @Override
        public void kick() {
            queue.kick();
        }

        @Override
        public void close() {
            reads.close();
            writes.close();
            flushes.close();
            queue.close();
        }
    }
}
