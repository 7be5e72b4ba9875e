package org.benchtop.block.qcow2;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.memory.IoVector;
import org.jspecify.annotations.Nullable;

/**
 * Reads of compressed clusters on one queue. A few buffers bound the memory; the cluster that a buffer holds serves the
 * next reads of it, so that small sequential reads decompress once.
 */
final class CompressedRead implements AutoCloseable {
    private static final int MAX_SLOTS = 8;
    private static final long BUDGET_BYTES = 16 << 20;

    private final Qcow2Queue queue;
    private final Qcow2Tables tables;
    private final ArrayDeque<Slot> idle = new ArrayDeque<>();
    private final ArrayDeque<Wish> waiting = new ArrayDeque<>();
    private final Arena arena = Arena.ofShared();
    private int slots;

    /** A read that waits for a buffer. */
    private record Wish(Qcow2Job job, IoVector buffer, long skip, long length, long entry, long inCluster) {}

    CompressedRead(Qcow2Queue queue, Qcow2Tables tables) {
        this.queue = queue;
        this.tables = tables;
    }

    long memoryBytes() {
        return slots * (3 * tables.layout().clusterBytes + 2 * Qcow2Layout.SECTOR);
    }

    /** Reads a part of a cluster into a list of buffers. */
    void read(Qcow2Job job, IoVector buffer, long skip, long length, long entry, long inCluster) {
        for (Slot slot : idle) {
            if (slot.holds(entry)) {
                buffer.copyFrom(skip, slot.cluster, inCluster, length);
                job.pieceDone(BlockStatus.OK);
                return;
            }
        }
        Wish wish = new Wish(job, buffer, skip, length, entry, inCluster);
        Slot slot = idle.pollLast();
        int max = Math.clamp(BUDGET_BYTES / (4 * tables.layout().clusterBytes), 1, MAX_SLOTS);
        if (slots < max && (slot == null || slot.used)) {
            if (slot != null) {
                idle.addLast(slot);
            }
            slot = new Slot();
            slots++;
        }
        if (slot == null) {
            waiting.add(wish);
        } else {
            slot.start(wish);
        }
    }

    /** A buffer for compressed data and one for a cluster. */
    private final class Slot implements BlockCompletion {
        private final MemorySegment packed;
        private final MemorySegment cluster;
        private final BlockRequest.Read read = new BlockRequest.Read();
        private @Nullable Wish wish;
        private boolean used;
        private boolean valid;
        private long epoch;
        private long heldEntry;

        Slot() {
            long clusterBytes = tables.layout().clusterBytes;
            packed = arena.allocate(2 * clusterBytes + 2 * Qcow2Layout.SECTOR, 4096);
            cluster = arena.allocate(clusterBytes, 4096);
        }

        boolean holds(long entry) {
            return valid && heldEntry == entry && epoch == tables.compressedEpoch();
        }

        void start(Wish newWish) {
            wish = newWish;
            used = true;
            valid = false;
            epoch = tables.compressedEpoch();
            heldEntry = newWish.entry;
            Qcow2Layout layout = tables.layout();
            long offset = layout.compressedOffset(heldEntry);
            long start = offset & -Qcow2Layout.SECTOR;
            long length = offset - start + layout.compressedBytes(heldEntry);
            read.buffer().clear();
            read.buffer().add(packed, 0, length);
            queue.submitData(read.at(start), this);
        }

        @Override
        public void completed(BlockRequest request, BlockStatus status) {
            if (status != BlockStatus.OK) {
                done(status);
                queue.finishHandler();
                return;
            }
            Qcow2Layout layout = tables.layout();
            long skip = layout.compressedOffset(heldEntry) & Qcow2Layout.SECTOR - 1;
            MemorySegment source = packed.asSlice(skip, layout.compressedBytes(heldEntry));
            Codec.workers().execute(() -> {
                boolean ok;
                try {
                    ok = tables.codec().decompress(source, cluster);
                } catch (RuntimeException e) {
                    ok = false;
                }
                BlockStatus result = ok ? BlockStatus.OK : BlockStatus.IO_ERROR;
                queue.loop().execute(() -> {
                    done(result);
                    queue.finishHandler();
                });
            });
        }

        private void done(BlockStatus status) {
            Wish served = wish;
            if (served == null) {
                throw new IllegalStateException("decompressed for nobody");
            }
            wish = null;
            valid = status == BlockStatus.OK;
            if (valid) {
                served.buffer.copyFrom(served.skip, cluster, served.inCluster, served.length);
            }
            idle.addFirst(this);
            serveWaiting();
            served.job.pieceDone(status);
        }

        private void serveWaiting() {
            for (int i = waiting.size(); i > 0 && !idle.isEmpty(); i--) {
                Wish next = waiting.poll();
                if (next != null) {
                    read(next.job, next.buffer, next.skip, next.length, next.entry, next.inCluster);
                }
            }
        }
    }

    @Override
    public void close() {
        arena.close();
    }
}
