package org.benchtop.block;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.memory.IoVector;
import org.jspecify.annotations.Nullable;

/**
 * A sparse disk outside the Java heap, in chunks that are allocated when they are first written. Requests are carried
 * out on the submitting thread and complete before submit returns.
 *
 * <p>A chunk is guarded by one of a few locks, so that concurrent requests do not tear a block. A chunk that is
 * discarded or zeroed as a whole is kept for the next one that is needed. When the JVM's limit for memory outside the
 * heap ({@code -XX:MaxDirectMemorySize}, by default the heap's limit) is reached, writes end with {@link
 * BlockStatus#NO_SPACE}.
 */
final class MemoryBackend implements BlockBackend {
    static final int CHUNK_BYTES = 64 << 10;

    private static final int CHUNKS_PER_GROUP = 4096;
    private static final int LOCKS = 64;
    private static final int MAX_SEGMENTS = 1024;
    private static final long MAX_TRANSFER_BYTES = 1 << 30;

    private final BlockCapabilities capabilities;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment zeroes = arena.allocate(CHUNK_BYTES, 4096);
    private final AtomicReferenceArray<@Nullable AtomicReferenceArray<@Nullable MemorySegment>> groups;
    private final Object[] locks = new Object[LOCKS];
    private final ArrayDeque<MemorySegment> spares = new ArrayDeque<>();
    private boolean closed;

    MemoryBackend(long sizeBytes, MemoryOptions options) {
        int block = options.logicalBlockSize();
        this.capabilities = new BlockCapabilities(
                sizeBytes,
                block,
                block,
                options.readOnly(),
                !options.readOnly(),
                true,
                CacheMode.WRITEBACK,
                MAX_SEGMENTS,
                MAX_TRANSFER_BYTES);
        long chunks = (sizeBytes + CHUNK_BYTES - 1) / CHUNK_BYTES;
        this.groups = new AtomicReferenceArray<>((int) ((chunks + CHUNKS_PER_GROUP - 1) / CHUNKS_PER_GROUP));
        for (int i = 0; i < LOCKS; i++) {
            locks[i] = new Object();
        }
    }

    @Override
    public BlockCapabilities capabilities() {
        return capabilities;
    }

    @Override
    public BlockQueue openQueue(EventLoop loop) {
        return new Queue();
    }

    @Override
    public String describe() {
        return "memory, " + capabilities.sizeBytes() + " bytes" + (capabilities.readOnly() ? ", read-only" : "");
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            arena.close();
        }
    }

    /** Copies initial content in. */
    void load(long offset, MemorySegment source, long lengthBytes) {
        long chunk = offset / CHUNK_BYTES;
        synchronized (lock(chunk)) {
            MemorySegment memory = allocated(chunk);
            if (memory == null) {
                throw BenchtopException.host("no memory left for the disk: raise -XX:MaxDirectMemorySize");
            }
            MemorySegment.copy(source, 0, memory, offset % CHUNK_BYTES, lengthBytes);
        }
    }

    private Object lock(long chunk) {
        return locks[(int) (chunk % LOCKS)];
    }

    /** The memory of a chunk; null if it has none. The chunk's lock is held. */
    private @Nullable MemorySegment chunk(long index) {
        AtomicReferenceArray<@Nullable MemorySegment> group = groups.get((int) (index / CHUNKS_PER_GROUP));
        return group == null ? null : group.get((int) (index % CHUNKS_PER_GROUP));
    }

    /** The memory of a chunk, allocated if need be; null if there is none left. */
    private @Nullable MemorySegment allocated(long index) {
        MemorySegment memory = chunk(index);
        if (memory == null) {
            memory = newChunk();
            if (memory != null) {
                group(index).set((int) (index % CHUNKS_PER_GROUP), memory);
            }
        }
        return memory;
    }

    private AtomicReferenceArray<@Nullable MemorySegment> group(long index) {
        int number = (int) (index / CHUNKS_PER_GROUP);
        AtomicReferenceArray<@Nullable MemorySegment> group = groups.get(number);
        if (group != null) {
            return group;
        }
        AtomicReferenceArray<@Nullable MemorySegment> created = new AtomicReferenceArray<>(CHUNKS_PER_GROUP);
        return groups.compareAndSet(number, null, created) ? created : groups.get(number);
    }

    private @Nullable MemorySegment newChunk() {
        MemorySegment spare;
        synchronized (spares) {
            spare = spares.poll();
        }
        if (spare != null) {
            return spare.fill((byte) 0);
        }
        try {
            return arena.allocate(CHUNK_BYTES, 4096);
        } catch (OutOfMemoryError e) {
            return null;
        }
    }

    private void read(long offset, IoVector buffer) {
        long done = 0;
        long length = buffer.sizeBytes();
        while (done < length) {
            long index = (offset + done) / CHUNK_BYTES;
            long inChunk = (offset + done) % CHUNK_BYTES;
            long take = Math.min(length - done, CHUNK_BYTES - inChunk);
            synchronized (lock(index)) {
                MemorySegment memory = chunk(index);
                buffer.copyFrom(done, memory == null ? zeroes : memory, inChunk, take);
            }
            done += take;
        }
    }

    private BlockStatus write(long offset, IoVector buffer) {
        long done = 0;
        long length = buffer.sizeBytes();
        while (done < length) {
            long index = (offset + done) / CHUNK_BYTES;
            long inChunk = (offset + done) % CHUNK_BYTES;
            long take = Math.min(length - done, CHUNK_BYTES - inChunk);
            synchronized (lock(index)) {
                MemorySegment memory = allocated(index);
                if (memory == null) {
                    return BlockStatus.NO_SPACE;
                }
                buffer.copyTo(done, memory, inChunk, take);
            }
            done += take;
        }
        return BlockStatus.OK;
    }

    private void zero(long offset, long length) {
        long done = 0;
        while (done < length) {
            long index = (offset + done) / CHUNK_BYTES;
            long inChunk = (offset + done) % CHUNK_BYTES;
            if (groups.get((int) (index / CHUNKS_PER_GROUP)) == null) {
                long groupEnd = (index / CHUNKS_PER_GROUP + 1) * CHUNKS_PER_GROUP * (long) CHUNK_BYTES;
                done = Math.min(length, groupEnd - offset);
                continue;
            }
            long take = Math.min(length - done, CHUNK_BYTES - inChunk);
            synchronized (lock(index)) {
                zeroInChunk(index, inChunk, take);
            }
            done += take;
        }
    }

    private void zeroInChunk(long index, long inChunk, long take) {
        MemorySegment memory = chunk(index);
        if (memory == null) {
            return;
        }
        if (take < CHUNK_BYTES) {
            MemorySegment.copy(zeroes, 0, memory, inChunk, take);
            return;
        }
        group(index).set((int) (index % CHUNKS_PER_GROUP), null);
        synchronized (spares) {
            spares.push(memory);
        }
    }

    private final class Queue implements BlockQueue {
        @Override
        public void submit(BlockRequest request, BlockCompletion completion) {
            BlockStatus status = RequestCheck.check(request, capabilities);
            if (status == BlockStatus.OK) {
                status = switch (request) {
                    case BlockRequest.Read read -> {
                        read(read.offsetBytes(), read.buffer());
                        yield BlockStatus.OK;
                    }
                    case BlockRequest.Write write -> write(write.offsetBytes(), write.buffer());
                    case BlockRequest.Flush flush -> BlockStatus.OK;
                    case BlockRequest.Discard discard -> {
                        zero(discard.offsetBytes(), discard.lengthBytes());
                        yield BlockStatus.OK;
                    }
                    case BlockRequest.WriteZeroes zero -> {
                        zero(zero.offsetBytes(), zero.lengthBytes());
                        yield BlockStatus.OK;
                    }
                };
            }
            completion.completed(request, status);
        }

        @Override
        public void close() {}
    }
}
