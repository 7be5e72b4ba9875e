package com.acme.benchtop;

import java.util.ArrayDeque;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.time.Clock;

/**
 * Requests that all wait equally long, so they leave in the order they came and one timer is enough. Entries are
 * reused: nothing is allocated per request once as many have been in flight as ever will be.
 */
final class DelayLine {
    private static final class Entry {
        private BlockRequest request;
        private BlockCompletion completion;
        private long dueNanos;
    }

    private final BlockQueue queue;
    private final Clock clock;
    private final long delayNanos;
    private final Timer timer;
    private final ArrayDeque<Entry> waiting = new ArrayDeque<>();
    private final ArrayDeque<Entry> free = new ArrayDeque<>();

    DelayLine(BlockQueue queue, EventLoop loop, Clock clock, long delayNanos) {
        this.queue = queue;
        this.clock = clock;
        this.delayNanos = delayNanos;
        this.timer = loop.timer(clock, this::expired);
    }

    long delayNanos() {
        return delayNanos;
    }

    void add(BlockRequest request, BlockCompletion completion) {
        Entry entry = free.isEmpty() ? new Entry() : free.pop();
        entry.request = request;
        entry.completion = completion;
        entry.dueNanos = clock.nanoTime() + delayNanos;
        waiting.add(entry);
        if (waiting.size() == 1) {
            timer.armAt(entry.dueNanos);
        }
    }

    private void expired() {
        long now = clock.nanoTime();
        while (!waiting.isEmpty() && waiting.peek().dueNanos <= now) {
            Entry entry = waiting.poll();
            BlockRequest request = entry.request;
            BlockCompletion completion = entry.completion;
            free.push(entry);
            queue.submit(request, completion);
        }
        queue.kick();
        if (!waiting.isEmpty()) {
            timer.armAt(waiting.peek().dueNanos);
        }
    }

    void close() {
        timer.close();
    }
}
