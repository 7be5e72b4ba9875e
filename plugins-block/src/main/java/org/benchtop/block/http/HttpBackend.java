package org.benchtop.block.http;

import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;
import org.benchtop.block.BlockSizes;
import org.benchtop.block.RequestCheck;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.jspecify.annotations.Nullable;

/** A read-only disk in chunks of an {@link HttpStore}. */
final class HttpBackend implements BlockBackend {
    private static final int BLOCK_BYTES = 512;
    private static final int MAX_SEGMENTS = 1024;
    private static final long MAX_TRANSFER_BYTES = 64 << 20;

    private final HttpStore store;
    private final BlockCapabilities capabilities;

    HttpBackend(HttpOptions options, HttpStore store) {
        this.store = store;
        if (store.sizeBytes() <= 0) {
            store.close();
            throw BenchtopException.of(ErrorKind.IMAGE, options.url() + " is empty");
        }
        this.capabilities = new BlockCapabilities(
                BlockSizes.roundUp(store.sizeBytes(), BLOCK_BYTES),
                BLOCK_BYTES,
                Math.max(4096, BLOCK_BYTES),
                true,
                false,
                false,
                CacheMode.WRITEBACK,
                MAX_SEGMENTS,
                MAX_TRANSFER_BYTES);
    }

    @Override
    public BlockCapabilities capabilities() {
        return capabilities;
    }

    @Override
    public BlockQueue openQueue(EventLoop loop) {
        return new Queue(loop);
    }

    @Override
    public String describe() {
        return store.uri() + ", read-only";
    }

    @Override
    public void close() {
        store.close();
    }

    private final class Queue implements BlockQueue {
        private final Doorbell doorbell;
        /** Guarded by itself. */
        private final ArrayDeque<Job> ready = new ArrayDeque<>();

        Queue(EventLoop loop) {
            this.doorbell = loop.doorbell("http", this::goOn);
        }

        @Override
        public void submit(BlockRequest request, BlockCompletion completion) {
            BlockStatus status = RequestCheck.check(request, capabilities);
            if (status == BlockStatus.OK && request instanceof BlockRequest.Read read) {
                new Job(this, read, completion).run();
            } else {
                completion.completed(request, status);
            }
        }

        void ready(Job job) {
            boolean first;
            synchronized (ready) {
                first = ready.isEmpty();
                ready.add(job);
            }
            if (first) {
                doorbell.ring();
            }
        }

        private void goOn() {
            while (true) {
                Job job;
                synchronized (ready) {
                    job = ready.poll();
                }
                if (job == null) {
                    return;
                }
                job.run();
            }
        }

        @Override
        public void close() {
            doorbell.close();
        }
    }

    /** One read, chunk by chunk; the chunks are asked for together. */
    private final class Job {
        private final Queue queue;
        private final BlockRequest.Read request;
        private final BlockCompletion completion;
        private long doneBytes;
        private boolean asked;
        private @Nullable CompletableFuture<byte[]> awaited;

        Job(Queue queue, BlockRequest.Read request, BlockCompletion completion) {
            this.queue = queue;
            this.request = request;
            this.completion = completion;
        }

        void run() {
            int chunkBytes = store.chunkBytes();
            if (!asked) {
                asked = true;
                long end = Math.min(request.offsetBytes() + request.lengthBytes(), store.sizeBytes());
                long last = (end - 1) / chunkBytes;
                // A few at once are enough to keep the line busy, and do not push each other out of the cache.
                for (long i = request.offsetBytes() / chunkBytes + 1;
                        i <= last && i < request.offsetBytes() / chunkBytes + 4;
                        i++) {
                    store.chunk(i);
                }
            }
            while (doneBytes < request.lengthBytes()) {
                long at = request.offsetBytes() + doneBytes;
                if (at >= store.sizeBytes()) {
                    long rest = request.lengthBytes() - doneBytes;
                    request.buffer().fill(doneBytes, rest, (byte) 0);
                    doneBytes += rest;
                    continue;
                }
                CompletableFuture<byte[]> chunk = awaited == null ? store.chunk(at / chunkBytes) : awaited;
                awaited = null;
                if (!chunk.isDone()) {
                    awaited = chunk;
                    chunk.whenComplete((bytes, failure) -> queue.ready(this));
                    return;
                }
                if (chunk.isCompletedExceptionally()) {
                    completion.completed(request, BlockStatus.IO_ERROR);
                    return;
                }
                byte[] bytes = chunk.join();
                long inChunk = at % chunkBytes;
                long take = Math.min(request.lengthBytes() - doneBytes, bytes.length - inChunk);
                request.buffer().copyFrom(doneBytes, MemorySegment.ofArray(bytes), inChunk, take);
                doneBytes += take;
            }
            completion.completed(request, BlockStatus.OK);
        }
    }
}
