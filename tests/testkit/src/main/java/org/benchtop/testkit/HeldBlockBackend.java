package org.benchtop.testkit;

import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.memory.IoVector;

/**
 * A disk in memory whose requests wait until the test completes or fails them, in any order; or {@link #automatic},
 * which completes them at once.
 *
 * <p>A request takes effect when it is completed. Callers that break the rules of {@link BlockQueue} get an {@link
 * AssertionError}.
 */
public final class HeldBlockBackend implements BlockBackend {
    private final BlockCapabilities capabilities;
    private final SparseBytes content = new SparseBytes();
    private final List<Held> pending = new ArrayList<>();
    private final List<Queue> queues = new ArrayList<>();
    private boolean automatic;
    private boolean closed;
    private long flushes;
    private long submitted;
    private Runnable onSubmit = () -> {};

    /** One waiting request. */
    public final class Held {
        private final Queue queue;
        private final BlockRequest request;
        private final BlockCompletion completion;

        Held(Queue queue, BlockRequest request, BlockCompletion completion) {
            this.queue = queue;
            this.request = request;
            this.completion = completion;
        }

        /** The request. */
        public BlockRequest request() {
            return request;
        }

        /** Does the request and completes it with {@link BlockStatus#OK} on its loop. */
        public void complete() {
            finish(BlockStatus.OK);
        }

        /** Completes the request on its loop without doing it. */
        public void fail(BlockStatus status) {
            finish(status);
        }

        private void finish(BlockStatus status) {
            synchronized (HeldBlockBackend.this) {
                if (!pending.remove(this)) {
                    throw new AssertionError(request + " is already completed");
                }
            }
            queue.loop.call(() -> {
                if (status == BlockStatus.OK) {
                    perform(request);
                }
                completion.completed(request, status);
            });
        }
    }

    public HeldBlockBackend(BlockCapabilities capabilities) {
        this.capabilities = capabilities;
    }

    /** A writable disk with 512-byte blocks that can do everything. */
    public HeldBlockBackend(long sizeBytes) {
        this(new BlockCapabilities(sizeBytes, 512, 512, false, true, true, CacheMode.WRITEBACK, 1024, 1 << 30));
    }

    /** Completes each request before submit returns, from now on. */
    public HeldBlockBackend automatic() {
        automatic = true;
        return this;
    }

    /** Holds requests again. */
    public HeldBlockBackend manual() {
        automatic = false;
        return this;
    }

    /** Runs something inside each submit: a device must not hold its lock there. */
    public HeldBlockBackend onSubmit(Runnable hook) {
        onSubmit = hook;
        return this;
    }

    @Override
    public BlockCapabilities capabilities() {
        return capabilities;
    }

    @Override
    public synchronized BlockQueue openQueue(EventLoop loop) {
        if (closed) {
            throw new AssertionError("queue opened on a closed backend");
        }
        Queue queue = new Queue(loop);
        queues.add(queue);
        return queue;
    }

    /** The waiting requests, oldest first. */
    public synchronized List<Held> pending() {
        return List.copyOf(pending);
    }

    /** The oldest waiting request; fails the test if there is none. */
    public synchronized Held next() {
        if (pending.isEmpty()) {
            throw new AssertionError("no request is waiting");
        }
        return pending.getFirst();
    }

    /** Completes waiting requests, oldest first, until none waits, including those that completions submit. */
    public void completeAll() {
        while (!pending().isEmpty()) {
            next().complete();
        }
    }

    /** How many requests were submitted. */
    public synchronized long submitted() {
        return submitted;
    }

    /** How many flushes were completed. */
    public synchronized long flushes() {
        return flushes;
    }

    /** The number of queues that are open. */
    public synchronized int openQueues() {
        return queues.size();
    }

    /** Whether the backend was closed. */
    public synchronized boolean closed() {
        return closed;
    }

    /** A copy of stored bytes. */
    public synchronized byte[] bytes(long offset, int length) {
        byte[] copy = new byte[length];
        content.read(offset, java.lang.foreign.MemorySegment.ofArray(copy), 0, length);
        return copy;
    }

    /** Sets stored bytes. */
    public synchronized void poke(long offset, byte[] bytes) {
        content.write(offset, java.lang.foreign.MemorySegment.ofArray(bytes), 0, bytes.length);
    }

    private synchronized void perform(BlockRequest request) {
        switch (request) {
            case BlockRequest.Read read -> {
                IoVector buffer = read.buffer();
                long at = read.offsetBytes();
                for (int i = 0; i < buffer.count(); i++) {
                    content.read(at, buffer.base(i), buffer.offset(i), buffer.length(i));
                    at += buffer.length(i);
                }
            }
            case BlockRequest.Write write -> {
                IoVector buffer = write.buffer();
                long at = write.offsetBytes();
                for (int i = 0; i < buffer.count(); i++) {
                    content.write(at, buffer.base(i), buffer.offset(i), buffer.length(i));
                    at += buffer.length(i);
                }
            }
            case BlockRequest.Flush flush -> flushes++;
            case BlockRequest.Discard discard -> content.zero(discard.offsetBytes(), discard.lengthBytes());
            case BlockRequest.WriteZeroes zeroes -> content.zero(zeroes.offsetBytes(), zeroes.lengthBytes());
        }
    }

    private BlockStatus check(BlockRequest request) {
        if (capabilities.readOnly()
                && !(request instanceof BlockRequest.Read || request instanceof BlockRequest.Flush)) {
            return BlockStatus.READ_ONLY;
        }
        boolean inside = capabilities.contains(request.offsetBytes(), request.lengthBytes());
        if (request instanceof BlockRequest.Flush) {
            return BlockStatus.OK;
        }
        return inside ? BlockStatus.OK : BlockStatus.OUT_OF_RANGE;
    }

    @Override
    public String describe() {
        return "held " + capabilities.sizeBytes() + " bytes";
    }

    @Override
    public synchronized void close() {
        if (!queues.isEmpty()) {
            throw new AssertionError("backend closed with " + queues.size() + " open queues");
        }
        closed = true;
    }

    private final class Queue implements BlockQueue {
        private final EventLoop loop;

        Queue(EventLoop loop) {
            this.loop = loop;
        }

        @Override
        public void submit(BlockRequest request, BlockCompletion completion) {
            synchronized (HeldBlockBackend.this) {
                if (!loop.inLoop()) {
                    throw new AssertionError(request + " submitted outside loop " + loop.name());
                }
                if (!queues.contains(this)) {
                    throw new AssertionError(request + " submitted on a closed queue");
                }
                if (inFlight(request)) {
                    throw new AssertionError(request + " submitted again while it is in flight");
                }
                submitted++;
            }
            onSubmit.run();
            BlockStatus status = check(request);
            if (status != BlockStatus.OK || automatic) {
                if (status == BlockStatus.OK) {
                    perform(request);
                }
                completion.completed(request, status);
                return;
            }
            synchronized (HeldBlockBackend.this) {
                pending.add(new Held(this, request, completion));
            }
        }

        private boolean inFlight(BlockRequest request) {
            for (int i = 0; i < pending.size(); i++) {
                if (pending.get(i).request == request) {
                    return true;
                }
            }
            return false;
        }

        @Override
        public void close() {
            synchronized (HeldBlockBackend.this) {
                if (pending.stream().anyMatch(held -> held.queue == this)) {
                    throw new AssertionError("queue closed with requests in flight");
                }
                queues.remove(this);
            }
        }
    }
}
