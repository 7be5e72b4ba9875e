package org.benchtop.block.filter;

import java.util.ArrayDeque;
import java.util.Optional;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockExtent;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.stats.Stats;
import org.benchtop.spi.time.Clock;
import org.jspecify.annotations.Nullable;

/**
 * Lets requests through to another drive as fast as token buckets allow. The buckets are shared by all queues; a request
 * takes its tokens when it is submitted, so requests of one kind keep their order. Flushes are not delayed, and a drain
 * lets everything go at once.
 */
final class ThrottleBackend implements BlockBackend {
    private final BlockBackend inner;
    private final ThrottleOptions options;
    private final Clock clock;
    private final Counter delayed;
    /** Guarded by this. */
    private final @Nullable TokenBucket[] readBuckets;

    private final @Nullable TokenBucket[] writeBuckets;

    ThrottleBackend(ThrottleOptions options, BlockBackend inner, Clock clock, Stats stats) {
        this.inner = inner;
        this.options = options;
        this.clock = clock;
        this.delayed = stats.counter("delayed");
        @Nullable TokenBucket iops = bucket(options.iops());
        @Nullable TokenBucket bps = bucket(options.bps());
        this.readBuckets = new TokenBucket[] {
            iops == null ? bucket(options.iopsRead()) : iops, bps == null ? bucket(options.bpsRead()) : bps
        };
        this.writeBuckets = new TokenBucket[] {
            iops == null ? bucket(options.iopsWrite()) : iops, bps == null ? bucket(options.bpsWrite()) : bps
        };
    }

    private @Nullable TokenBucket bucket(Optional<Long> rate) {
        return rate.isEmpty() ? null : new TokenBucket(rate.get(), options.burst(), clock.nanoTime());
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
    public BlockExtent blockStatus(long offsetBytes, long lengthBytes) {
        return inner.blockStatus(offsetBytes, lengthBytes);
    }

    @Override
    public String describe() {
        StringBuilder text = new StringBuilder("throttle");
        append(text, "iops", options.iops());
        append(text, "iops-read", options.iopsRead());
        append(text, "iops-write", options.iopsWrite());
        append(text, "bps", options.bps());
        append(text, "bps-read", options.bpsRead());
        append(text, "bps-write", options.bpsWrite());
        return text + " over " + inner.describe();
    }

    private static void append(StringBuilder text, String name, Optional<Long> rate) {
        rate.ifPresent(value -> text.append(' ').append(name).append('=').append(value));
    }

    /** The drive below is the engine's to close. */
    @Override
    public void close() {}

    /** When a request may go. */
    private synchronized long departure(@Nullable TokenBucket[] buckets, long bytes, long now) {
        long at = now;
        TokenBucket requests = buckets[0];
        if (requests != null) {
            at = Math.max(at, requests.take(1, now));
        }
        TokenBucket data = buckets[1];
        if (data != null) {
            at = Math.max(at, data.take(bytes, now));
        }
        return at;
    }

    private static final class Waiting {
        private static final BlockRequest IDLE = new BlockRequest.Flush();
        private static final BlockCompletion NOBODY = (request, status) -> {};

        private BlockRequest request = IDLE;
        private BlockCompletion completion = NOBODY;
        private long departureNanos;
    }

    private final class Queue implements BlockQueue {
        private final BlockQueue queue;
        private final Timer timer;
        /** In order of departure, as all take their tokens from the same buckets. */
        private final ArrayDeque<Waiting> reads = new ArrayDeque<>();

        private final ArrayDeque<Waiting> writes = new ArrayDeque<>();
        private final ArrayDeque<Waiting> free = new ArrayDeque<>();
        private boolean releasing;

        Queue(BlockQueue queue, EventLoop loop) {
            this.queue = queue;
            this.timer = loop.timer(clock, this::release);
        }

        @Override
        public void submit(BlockRequest request, BlockCompletion completion) {
            switch (request) {
                case BlockRequest.Read read -> take(read, read.lengthBytes(), completion, readBuckets, reads);
                case BlockRequest.Write write -> take(write, write.lengthBytes(), completion, writeBuckets, writes);
                case BlockRequest.Discard discard -> take(discard, 0, completion, writeBuckets, writes);
                case BlockRequest.WriteZeroes zeroes -> take(zeroes, 0, completion, writeBuckets, writes);
                case BlockRequest.Flush flush -> queue.submit(flush, completion);
            }
        }

        private void take(
                BlockRequest request,
                long bytes,
                BlockCompletion completion,
                @Nullable TokenBucket[] buckets,
                ArrayDeque<Waiting> waiting) {
            long now = clock.nanoTime();
            long departure = departure(buckets, bytes, now);
            if (departure <= now && waiting.isEmpty()) {
                queue.submit(request, completion);
                return;
            }
            delayed.increment();
            Waiting entry = free.isEmpty() ? new Waiting() : free.pop();
            entry.request = request;
            entry.completion = completion;
            entry.departureNanos = departure;
            waiting.add(entry);
            arm();
        }

        private void arm() {
            if (releasing) {
                return;
            }
            Waiting read = reads.peek();
            Waiting write = writes.peek();
            if (read != null || write != null) {
                timer.armAt(Math.min(
                        read == null ? Long.MAX_VALUE : read.departureNanos,
                        write == null ? Long.MAX_VALUE : write.departureNanos));
            }
        }

        private void release() {
            release(clock.nanoTime());
        }

        private void release(long until) {
            releasing = true;
            try {
                release(reads, until);
                release(writes, until);
            } finally {
                releasing = false;
                arm();
            }
            queue.kick();
        }

        private void release(ArrayDeque<Waiting> waiting, long until) {
            // What completions submit meanwhile waits for the next time.
            int count = waiting.size();
            for (int i = 0; i < count; i++) {
                Waiting next = waiting.peek();
                if (next == null || next.departureNanos > until) {
                    return;
                }
                waiting.poll();
                BlockRequest request = next.request;
                BlockCompletion completion = next.completion;
                next.request = Waiting.IDLE;
                next.completion = Waiting.NOBODY;
                free.push(next);
                queue.submit(request, completion);
            }
        }

        @Override
        public void kick() {
            queue.kick();
        }

        @Override
        public void drain() {
            timer.cancel();
            release(Long.MAX_VALUE);
            queue.drain();
        }

        @Override
        public void close() {
            timer.close();
            queue.close();
        }
    }
}
