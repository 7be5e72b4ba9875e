package org.benchtop.block.qcow2;

import java.lang.foreign.MemorySegment;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.memory.IoVector;
import org.jspecify.annotations.Nullable;

/**
 * A part of a write that needs clusters: fills them, with what the request does not cover copied from where it was,
 * and only then lets the L2 table refer to them. While it is under way, no other write to its clusters of the disk
 * starts. Reused.
 */
final class Allocation extends Task implements BlockCompletion {
    private enum Stage {
        COMPRESS,
        COPY,
        LINK,
    }

    private final BlockRequest.Write write = new BlockRequest.Write();
    private final BlockRequest.WriteZeroes zeroes = new BlockRequest.WriteZeroes();
    private final Fifo waiters = new Fifo();
    private final Qcow2Job.InternalDone copied = this::copyDone;

    /** Set by the image under its lock. */
    private long firstCluster;

    private int clusters;
    private long host;
    private boolean newCluster;
    private long copyStart;
    private long writeStart;
    private long writeEnd;
    private long copyEnd;
    private boolean headZero;
    private boolean tailZero;

    private Stage stage = Stage.COPY;
    private Qcow2Job job = Qcow2Job.NONE;
    private @Nullable IoVector data;
    private long dataStart;
    private boolean skipData;
    private @Nullable MemorySegment buffer;
    private int copies;
    private BlockStatus status = BlockStatus.OK;
    private int compressedBytes;
    private long compressedEntry;

    Allocation(Qcow2Queue queue) {
        super(queue);
    }

    /** Under the image's lock: what to fill. {@code hostOffset} is that of the first cluster. */
    Allocation set(long cluster, int count, long hostOffset, boolean isNew, long from, long to) {
        firstCluster = cluster;
        clusters = count;
        host = hostOffset;
        newCluster = isNew;
        writeStart = from;
        writeEnd = to;
        copyStart = from;
        copyEnd = to;
        headZero = false;
        tailZero = false;
        stage = Stage.COPY;
        compressedEntry = 0;
        return this;
    }

    void head(long start, boolean zero) {
        copyStart = start;
        headZero = zero;
    }

    void tail(long end, boolean zero) {
        copyEnd = end;
        tailZero = zero;
    }

    /** Under the image's lock: one whole cluster that shall be compressed. */
    Allocation setCompressed(long cluster, long from, long to) {
        set(cluster, 1, 0, true, from, to);
        stage = Stage.COMPRESS;
        return this;
    }

    long firstCluster() {
        return firstCluster;
    }

    int clusters() {
        return clusters;
    }

    long host() {
        return host;
    }

    /** Whether the clusters are new, not those that the table has already. */
    boolean newCluster() {
        return newCluster;
    }

    long copyStart() {
        return copyStart;
    }

    long writeEnd() {
        return writeEnd;
    }

    long copyEnd() {
        return copyEnd;
    }

    /** The L2 entry of a compressed cluster; 0 for others. */
    long compressedEntry() {
        return compressedEntry;
    }

    Fifo waiters() {
        return waiters;
    }

    /**
     * Starts.
     *
     * @param vector what to write, null for zeroes; it starts at {@code vectorStart} on the disk
     * @param withoutData leaves the clusters as the host has them
     */
    void start(Qcow2Job forJob, @Nullable IoVector vector, long vectorStart, boolean withoutData) {
        job = forJob;
        data = vector;
        dataStart = vectorStart;
        skipData = withoutData;
        status = BlockStatus.OK;
        run();
    }

    @Override
    void run() {
        if (wakeStatus != BlockStatus.OK) {
            status = wakeStatus;
            wakeStatus = BlockStatus.OK;
        }
        if (status != BlockStatus.OK) {
            end();
            return;
        }
        switch (stage) {
            case COMPRESS -> compress();
            case COPY -> copy();
            case LINK -> link();
        }
    }

    private void copy() {
        long head = writeStart - copyStart;
        long tail = copyEnd - writeEnd;
        if (skipData || head + tail == 0) {
            writeData();
            return;
        }
        MemorySegment memory = queue.borrowBuffer(this);
        if (memory == null) {
            return;
        }
        buffer = memory;
        copies = 1;
        if (head > 0) {
            if (headZero) {
                memory.asSlice(0, head).fill((byte) 0);
            } else {
                copies++;
                queue.job().startInternalRead(copyStart, head, memory, 0, copied);
            }
        }
        if (tail > 0) {
            if (tailZero) {
                memory.asSlice(head, tail).fill((byte) 0);
            } else {
                copies++;
                queue.job().startInternalRead(writeEnd, tail, memory, head, copied);
            }
        }
        copyDone(BlockStatus.OK);
    }

    private void copyDone(BlockStatus result) {
        if (result != BlockStatus.OK && status == BlockStatus.OK) {
            status = result;
        }
        if (--copies > 0) {
            return;
        }
        if (status == BlockStatus.OK) {
            writeData();
        } else {
            end();
        }
    }

    private void writeData() {
        stage = Stage.LINK;
        long at = host + queue.tables().layout().inCluster(copyStart);
        if (skipData) {
            link();
            return;
        }
        MemorySegment memory = buffer;
        if (data == null && memory == null) {
            queue.submitData(zeroes.at(at, writeEnd - writeStart, false), this);
            return;
        }
        IoVector vector = write.buffer();
        vector.clear();
        long head = writeStart - copyStart;
        if (memory != null) {
            vector.add(memory, 0, head);
        }
        IoVector source = data;
        if (source == null) {
            Qcow2Job.addZeroes(vector, writeEnd - writeStart);
        } else {
            vector.addFrom(source, writeStart - dataStart, writeEnd - writeStart);
        }
        if (memory != null) {
            vector.add(memory, head, copyEnd - writeEnd);
        }
        queue.submitData(write.at(at), this);
    }

    private void compress() {
        IoVector source = data;
        MemorySegment memory = queue.borrowBuffer(this);
        if (memory == null || source == null) {
            return;
        }
        buffer = memory;
        Qcow2Layout layout = queue.tables().layout();
        long length = writeEnd - writeStart;
        source.copyTo(writeStart - dataStart, memory, 0, length);
        memory.asSlice(length, layout.clusterBytes - length).fill((byte) 0);
        Codec codec = queue.tables().codec();
        Codec.workers().execute(() -> {
            int packed;
            try {
                packed = codec.compress(memory.asSlice(0, layout.clusterBytes), memory.asSlice(layout.clusterBytes));
            } catch (RuntimeException e) {
                packed = -1;
            }
            compressedBytes = packed;
            queue.loop().execute(this::compressed);
        });
    }

    private void compressed() {
        MemorySegment memory = buffer;
        if (memory == null) {
            throw new IllegalStateException("compressed without a buffer");
        }
        stage = Stage.COMPRESS;
        new Task(queue) {
            @Override
            void run() {
                place(this, memory);
            }
        }.run();
        queue.finishHandler();
    }

    /** Finds room for the compressed data, or for the cluster as it is where compression does not help. */
    private void place(Task task, MemorySegment memory) {
        Qcow2Tables tables = queue.tables();
        Qcow2Layout layout = tables.layout();
        boolean packed = compressedBytes > 0;
        int length = (int)
                (packed
                        ? Math.ceilDiv(compressedBytes, Qcow2Layout.SECTOR) * (long) Qcow2Layout.SECTOR
                        : layout.clusterBytes);
        long found;
        synchronized (tables) {
            found = task.wakeStatus != BlockStatus.OK
                    ? Qcow2Tables.FAILED
                    : packed ? tables.placeCompressed(length, task) : tables.placeCluster(firstCluster, task);
        }
        if (found == Qcow2Tables.WAIT) {
            return;
        }
        if (found < 0) {
            status = found == Qcow2Tables.FULL ? BlockStatus.NO_SPACE : BlockStatus.IO_ERROR;
            end();
            return;
        }
        host = found;
        if (packed) {
            compressedEntry = layout.compressedEntry(found, compressedBytes);
            memory.asSlice(layout.clusterBytes + compressedBytes, length - compressedBytes)
                    .fill((byte) 0);
        }
        stage = Stage.LINK;
        write.buffer().clear();
        write.buffer().add(memory, packed ? layout.clusterBytes : 0, length);
        queue.submitData(write.at(found), this);
    }

    @Override
    public void completed(BlockRequest request, BlockStatus result) {
        if (result != BlockStatus.OK) {
            status = result;
            end();
        } else {
            link();
        }
        queue.finishHandler();
    }

    private void link() {
        int result;
        Qcow2Tables tables = queue.tables();
        synchronized (tables) {
            result = tables.link(this);
        }
        if (result == Qcow2Tables.WAIT) {
            return;
        }
        if (result != Qcow2Tables.READY) {
            status = BlockStatus.IO_ERROR;
        }
        end();
    }

    private void end() {
        Qcow2Tables tables = queue.tables();
        synchronized (tables) {
            tables.endAllocation(this, status == BlockStatus.OK);
        }
        MemorySegment memory = buffer;
        if (memory != null) {
            buffer = null;
            queue.returnBuffer(memory);
        }
        Qcow2Job told = job;
        BlockStatus result = status;
        job = Qcow2Job.NONE;
        data = null;
        queue.recycle(this);
        told.pieceDone(result);
    }

    /** How many bytes the new clusters take in the data area, from {@link #host} on. */
    long hostBytes() {
        Qcow2Layout layout = queue.tables().layout();
        return compressedEntry == 0 ? clusters * layout.clusterBytes : layout.compressedBytes(compressedEntry);
    }
}
