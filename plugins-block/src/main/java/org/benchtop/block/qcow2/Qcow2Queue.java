package org.benchtop.block.qcow2;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayDeque;
import java.util.function.Consumer;
import org.benchtop.block.RequestCheck;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.event.EventLoop;
import org.jspecify.annotations.Nullable;

/** A queue on an image: pools of jobs and buffers, and the queues of the files below. Lives on its loop. */
final class Qcow2Queue implements BlockQueue {
    private static final VarHandle ACTIVE = MethodHandles.arrayElementVarHandle(int[].class);
    private static final long BUFFER_BUDGET_BYTES = 8 << 20;
    private static final int MAX_BUFFERS = 16;

    private final Qcow2Tables tables;
    private final EventLoop loop;
    private final BlockQueue file;
    private final @Nullable BlockQueue dataFile;
    private final @Nullable BlockQueue backing;
    private final Arena arena = Arena.ofShared();
    private final Task.Fifo todo = new Task.Fifo();
    private final ArrayDeque<Qcow2Job> freeJobs = new ArrayDeque<>();
    private final ArrayDeque<DirectRead> freeDirectReads = new ArrayDeque<>();
    private final ArrayDeque<DataPiece> freePieces = new ArrayDeque<>();
    private final ArrayDeque<Allocation> freeAllocations = new ArrayDeque<>();
    private final ArrayDeque<MemorySegment> freeBuffers = new ArrayDeque<>();
    private final Task.Fifo bufferWaiters = new Task.Fifo();
    private final int maxBuffers;
    private final int bufferBytes;
    private final CompressedRead compressed;
    private int bufferCount;

    /** Requests that may use mappings of even and of odd generations. Written by the loop, read by all. */
    private final int[] active = new int[2];

    private boolean draining;
    private boolean kickNeeded;
    private boolean closed;

    Qcow2Queue(Qcow2Tables tables, EventLoop loop) {
        this.tables = tables;
        this.loop = loop;
        this.bufferBytes = (int) (2 * tables.layout().clusterBytes);
        this.maxBuffers = Math.clamp(BUFFER_BUDGET_BYTES / bufferBytes, 2, MAX_BUFFERS);
        this.file = tables.file().backend().openQueue(loop);
        this.dataFile =
                tables.dataFile() == null ? null : tables.dataFile().backend().openQueue(loop);
        this.backing =
                tables.backingBackend() == null ? null : tables.backingBackend().openQueue(loop);
        this.compressed = new CompressedRead(this, tables);
    }

    Qcow2Tables tables() {
        return tables;
    }

    EventLoop loop() {
        return loop;
    }

    @Override
    public void submit(BlockRequest request, BlockCompletion completion) {
        BlockStatus status = RequestCheck.check(request, tables.capabilities());
        if (status != BlockStatus.OK || request.lengthBytes() == 0 && !(request instanceof BlockRequest.Flush)) {
            completion.completed(request, status);
            return;
        }
        if (request instanceof BlockRequest.Read read && readDirectly(read, completion)) {
            return;
        }
        job().start(request, completion);
        runDue();
    }

    /** Starts a read that needs nothing but to be moved; false if it needs more. */
    private boolean readDirectly(BlockRequest.Read read, BlockCompletion completion) {
        long host;
        long generation;
        synchronized (tables) {
            host = tables.dataAt(read.offsetBytes(), read.lengthBytes());
            if (host < 0) {
                return false;
            }
            generation = tables.generation();
            enter(generation);
        }
        DirectRead direct = freeDirectReads.poll();
        if (direct == null) {
            direct = new DirectRead(this);
        }
        direct.start(read, completion, host, generation);
        return true;
    }

    void recycle(DirectRead direct) {
        freeDirectReads.push(direct);
    }

    @Override
    public void kick() {
        kickNeeded = false;
        file.kick();
        if (dataFile != null) {
            dataFile.kick();
        }
        if (backing != null) {
            backing.kick();
        }
    }

    Qcow2Job job() {
        Qcow2Job job = freeJobs.poll();
        return job == null ? new Qcow2Job(this) : job;
    }

    void recycle(Qcow2Job job) {
        freeJobs.push(job);
    }

    DataPiece piece() {
        DataPiece piece = freePieces.poll();
        return piece == null ? new DataPiece(this) : piece;
    }

    void recycle(DataPiece piece) {
        freePieces.push(piece);
    }

    Allocation allocation() {
        Allocation allocation = freeAllocations.poll();
        return allocation == null ? new Allocation(this) : allocation;
    }

    void recycle(Allocation allocation) {
        freeAllocations.push(allocation);
    }

    CompressedRead compressed() {
        return compressed;
    }

    /** The memory of buffers. */
    long memoryBytes() {
        return (long) bufferCount * bufferBytes + compressed.memoryBytes();
    }

    /** A buffer of two clusters, or null; then the task goes on when there is one. */
    @Nullable
    MemorySegment borrowBuffer(Task task) {
        MemorySegment buffer = freeBuffers.poll();
        if (buffer == null && bufferCount < maxBuffers) {
            buffer = arena.allocate(bufferBytes, 4096);
            bufferCount++;
        }
        if (buffer == null) {
            bufferWaiters.add(task);
        }
        return buffer;
    }

    void returnBuffer(MemorySegment buffer) {
        freeBuffers.push(buffer);
        Task next = bufferWaiters.poll();
        if (next != null) {
            later(next);
        }
    }

    /** Runs a task after the present handler. On this loop. */
    void later(Task task) {
        todo.add(task);
    }

    /** Runs a task of this queue; called on another queue's loop. */
    void runFromElsewhere(Task task) {
        loop.execute(() -> {
            todo.add(task);
            finishHandler();
        });
    }

    /** Runs what has become due. Every way into this queue ends with this. */
    void runDue() {
        if (draining) {
            return;
        }
        draining = true;
        try {
            for (Task task = todo.poll(); task != null; task = todo.poll()) {
                task.run();
            }
        } finally {
            draining = false;
        }
    }

    /** Ends a handler that was called from below, where nobody else kicks. */
    void finishHandler() {
        runDue();
        if (kickNeeded && !draining) {
            kick();
        }
    }

    void submitFile(BlockRequest request, BlockCompletion completion) {
        kickNeeded = true;
        file.submit(request, completion);
    }

    /** To where the data clusters are. */
    void submitData(BlockRequest request, BlockCompletion completion) {
        kickNeeded = true;
        (dataFile == null ? file : dataFile).submit(request, completion);
    }

    void submitBacking(BlockRequest request, BlockCompletion completion) {
        kickNeeded = true;
        BlockQueue below = backing;
        if (below == null) {
            completion.completed(request, BlockStatus.IO_ERROR);
        } else {
            below.submit(request, completion);
        }
    }

    boolean hasDataFile() {
        return dataFile != null;
    }

    /** Makes a range of the image's file zero: a rare step of the control path, so it may allocate. */
    void zeroFile(long offset, long length, Consumer<BlockStatus> done) {
        submitFile(new BlockRequest.WriteZeroes().at(offset, length, true), (request, status) -> {
            done.accept(status);
            finishHandler();
        });
    }

    /** Writes to the image's file: a rare step of the control path, so it may allocate. */
    void writeFile(long offset, MemorySegment content, Consumer<BlockStatus> done) {
        BlockRequest.Write write = new BlockRequest.Write();
        write.buffer().add(content, 0, content.byteSize());
        submitFile(write.at(offset), (request, status) -> {
            done.accept(status);
            finishHandler();
        });
    }

    /** Reads from the image's file: a rare step of the control path, so it may allocate. */
    void readFile(long offset, MemorySegment content, Consumer<BlockStatus> done) {
        BlockRequest.Read read = new BlockRequest.Read();
        read.buffer().add(content, 0, content.byteSize());
        submitFile(read.at(offset), (request, status) -> {
            done.accept(status);
            finishHandler();
        });
    }

    /** A request of that generation starts; under the image's lock. */
    void enter(long generation) {
        int parity = (int) generation & 1;
        ACTIVE.setRelease(active, parity, active[parity] + 1);
    }

    /** A request of that generation uses no mapping any more. */
    void leave(long generation) {
        int parity = (int) generation & 1;
        ACTIVE.setRelease(active, parity, active[parity] - 1);
    }

    /** Whether no request of that generation is under way. */
    boolean idle(long generation) {
        return (int) ACTIVE.getAcquire(active, (int) generation & 1) == 0;
    }

    @Override
    public void close() {
        synchronized (tables) {
            if (closed) {
                return;
            }
            closed = true;
            tables.forget(this);
        }
        file.close();
        if (dataFile != null) {
            dataFile.close();
        }
        if (backing != null) {
            backing.close();
        }
        compressed.close();
        arena.close();
    }
}
