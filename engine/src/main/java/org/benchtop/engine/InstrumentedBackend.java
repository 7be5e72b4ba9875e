package org.benchtop.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import jdk.jfr.FlightRecorder;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockExtent;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.stats.LatencyHistogram;
import org.benchtop.spi.stats.Stats;
import org.jspecify.annotations.Nullable;

/** Counts and times what a device asks of its drive, the same way for every device and backend. */
final class InstrumentedBackend implements BlockBackend {
    /** The queue of a backend that is gone. */
    private static final BlockQueue LOST = new BlockQueue() {
        @Override
        public void submit(BlockRequest request, BlockCompletion completion) {
            completion.completed(request, BlockStatus.IO_ERROR);
        }

        @Override
        public void close() {}
    };

    private final Machine machine;
    private final String drive;
    /** Guarded by this. */
    private final List<Queue> queues = new ArrayList<>();

    private volatile BlockBackend inner;
    private final Kind reads;
    private final Kind writes;
    private final Kind flushes;
    private final Kind discards;
    private final Kind zeroes;
    private final Counter errors;

    InstrumentedBackend(Machine machine, String drive, BlockBackend inner, Stats stats) {
        this.machine = machine;
        this.drive = drive;
        this.inner = inner;
        this.reads = new Kind("read", stats);
        this.writes = new Kind("write", stats);
        this.flushes = new Kind("flush", stats);
        this.discards = new Kind("discard", stats);
        this.zeroes = new Kind("write-zeroes", stats);
        this.errors = stats.counter("errors");
    }

    private static final class Kind {
        private final String name;
        private final Counter requests;
        private final Counter bytes;
        private final LatencyHistogram latency;

        Kind(String name, Stats stats) {
            this.name = name;
            this.requests = stats.counter(name + "-requests");
            this.bytes = stats.counter(name + "-bytes", "B");
            this.latency = stats.histogram(name + "-latency");
        }
    }

    private Kind kind(BlockRequest request) {
        return switch (request) {
            case BlockRequest.Read r -> reads;
            case BlockRequest.Write w -> writes;
            case BlockRequest.Flush f -> flushes;
            case BlockRequest.Discard d -> discards;
            case BlockRequest.WriteZeroes z -> zeroes;
        };
    }

    @Override
    public BlockCapabilities capabilities() {
        return inner.capabilities();
    }

    @Override
    public BlockExtent blockStatus(long offsetBytes, long lengthBytes) {
        return inner.blockStatus(offsetBytes, lengthBytes);
    }

    @Override
    public synchronized BlockQueue openQueue(EventLoop loop) {
        Queue queue = new Queue(loop, inner.openQueue(loop));
        queues.add(queue);
        return queue;
    }

    /**
     * Puts another backend in the place of the present one, which is closed first so that both may use one file. Nothing
     * is in flight and nothing is submitted meanwhile; queues stay as devices know them.
     *
     * @param next opens the new one
     * @param former opens the present one again, if {@code next} fails
     */
    synchronized void replace(Supplier<BlockBackend> next, Supplier<BlockBackend> former) {
        queues.forEach(queue -> queue.move(Optional.empty()));
        try {
            inner.close();
            inner = next.get();
        } catch (RuntimeException e) {
            try {
                inner = former.get();
            } catch (RuntimeException lost) {
                e.addSuppressed(lost);
                throw BenchtopException.of(
                        ErrorKind.HOST,
                        "drive " + drive + " is lost until the machine is made anew, all its requests fail: "
                                + lost.getMessage(),
                        e);
            }
            queues.forEach(queue -> queue.move(Optional.of(inner)));
            throw e;
        }
        queues.forEach(queue -> queue.move(Optional.of(inner)));
    }

    @Override
    public String describe() {
        return inner.describe();
    }

    /** Does nothing: the machine closes the backend itself, after every device. */
    @Override
    public void close() {}

    private final class Queue implements BlockQueue {
        private final EventLoop loop;
        private BlockQueue queue;
        private @Nullable Pending free;

        Queue(EventLoop loop, BlockQueue queue) {
            this.loop = loop;
            this.queue = queue;
        }

        /** Leaves the present backend for another one, or for none. */
        void move(Optional<BlockBackend> to) {
            loop.call(() -> {
                queue.close();
                queue = to.isPresent() ? to.get().openQueue(loop) : LOST;
            });
        }

        @Override
        public void submit(BlockRequest request, BlockCompletion completion) {
            Pending pending = free;
            if (pending == null) {
                pending = new Pending(this);
            } else {
                free = pending.next;
            }
            pending.completion = completion;
            pending.startNanos = System.nanoTime();
            queue.submit(request, pending);
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
            synchronized (InstrumentedBackend.this) {
                queues.remove(this);
            }
            queue.close();
        }
    }

    /** A request in flight; pooled per queue, so used by one loop only. */
    private final class Pending implements BlockCompletion {
        private final Queue queue;
        private @Nullable Pending next;
        private BlockCompletion completion = (request, status) -> {};
        private long startNanos;

        Pending(Queue queue) {
            this.queue = queue;
        }

        @Override
        public void completed(BlockRequest request, BlockStatus status) {
            long nanos = System.nanoTime() - startNanos;
            Kind kind = kind(request);
            kind.requests.increment();
            kind.bytes.add(request.lengthBytes());
            kind.latency.record(nanos);
            if (status != BlockStatus.OK) {
                errors.increment();
            }
            // Without a recording the event's class is not even loaded, which takes longer than starting a machine.
            if (FlightRecorder.isInitialized()) {
                BlockIoEvent.emit(drive, kind.name, request, status, nanos);
            }
            MachineObserver seeing = machine.observer();
            if (seeing != null) {
                seeing.blockIo(drive, kind.name, request.offsetBytes(), request.lengthBytes(), status, nanos);
            }
            BlockCompletion done = completion;
            next = queue.free;
            queue.free = this;
            done.completed(request, status);
        }
    }
}
