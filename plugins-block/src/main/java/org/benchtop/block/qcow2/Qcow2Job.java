package org.benchtop.block.qcow2;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.memory.IoVector;
import org.jspecify.annotations.Nullable;

/**
 * One request on its way through an image: walks along its range, starts a piece for each run that comes from one
 * place, and ends when the walk and all pieces have ended. Reused.
 */
final class Qcow2Job extends Task {
    private static final BlockRequest IDLE = new BlockRequest.Flush();
    private static final BlockCompletion NOBODY = (request, status) -> {};
    private static final int ZERO_BYTES = 64 << 10;
    private static final MemorySegment ZEROES = Arena.global().allocate(ZERO_BYTES, 4096);

    /** Stands for no job. */
    @SuppressWarnings("NullAway") // it never runs, so it has no queue
    static final Qcow2Job NONE = new Qcow2Job(null);

    private enum Mode {
        READ,
        WRITE,
        /** Changes table entries only. */
        ZEROES,
        /** Writes zeroes as data. */
        ZERO_DATA,
        DISCARD,
        /** Allocates without writing. */
        PREALLOCATE,
        FLUSH,
    }

    private final Mapping map = new Mapping();
    private final IoVector ownBuffer = new IoVector();
    private BlockRequest request = IDLE;
    private BlockCompletion completion = NOBODY;
    private Mode mode = Mode.FLUSH;
    private IoVector buffer = ownBuffer;
    private long start;
    private long end;
    private long at;
    private int outstanding;
    private BlockStatus status = BlockStatus.OK;
    private boolean mayUnmap;
    private boolean durable;
    private boolean flushing;
    private boolean entered;
    private long generation;
    private @Nullable InternalDone internalDone;

    /** Told about the end of a job that an allocation has started. */
    interface InternalDone {
        void done(BlockStatus status);
    }

    Qcow2Job(Qcow2Queue queue) {
        super(queue);
    }

    void start(BlockRequest newRequest, BlockCompletion newCompletion) {
        request = newRequest;
        completion = newCompletion;
        durable = false;
        start = newRequest.offsetBytes();
        end = start + newRequest.lengthBytes();
        switch (newRequest) {
            case BlockRequest.Read read -> {
                mode = Mode.READ;
                buffer = read.buffer();
            }
            case BlockRequest.Write write -> {
                mode = Mode.WRITE;
                buffer = write.buffer();
                durable = write.durable();
            }
            case BlockRequest.Flush flush -> {
                mode = Mode.FLUSH;
                durable = true;
            }
            case BlockRequest.Discard discard -> mode = Mode.DISCARD;
            case BlockRequest.WriteZeroes zeroes -> {
                mode = queue.tables().zeroesNeedData() ? Mode.ZERO_DATA : Mode.ZEROES;
                mayUnmap = zeroes.mayUnmap();
            }
        }
        begin();
    }

    /** Allocates a range; its data is whatever the host has there. */
    void startPreallocation(long offset, long length, InternalDone done) {
        mode = Mode.PREALLOCATE;
        durable = false;
        start = offset;
        end = offset + length;
        internalDone = done;
        begin();
    }

    /** Reads a range into a buffer for an allocation, also beyond the end of the disk. */
    void startInternalRead(long offset, long length, MemorySegment into, long intoOffset, InternalDone done) {
        mode = Mode.READ;
        durable = false;
        long inside = Math.clamp(queue.tables().capabilities().sizeBytes() - offset, 0, length);
        if (inside < length) {
            into.asSlice(intoOffset + inside, length - inside).fill((byte) 0);
        }
        ownBuffer.clear();
        ownBuffer.add(into, intoOffset, inside);
        buffer = ownBuffer;
        start = offset;
        end = offset + inside;
        internalDone = done;
        begin();
    }

    private void begin() {
        at = start;
        status = BlockStatus.OK;
        outstanding = 1;
        flushing = false;
        entered = false;
        if (mode == Mode.FLUSH) {
            walkEnds();
        } else {
            walk();
        }
    }

    @Override
    void run() {
        if (flushing) {
            if (wakeStatus != BlockStatus.OK && status == BlockStatus.OK) {
                status = wakeStatus;
            }
            finish();
            return;
        }
        if (wakeStatus != BlockStatus.OK) {
            fail(wakeStatus);
            walkEnds();
            return;
        }
        walk();
    }

    private void walk() {
        while (at < end && status == BlockStatus.OK) {
            int result = step();
            if (result == Qcow2Tables.WAIT) {
                return;
            }
            if (result == Qcow2Tables.FULL) {
                fail(BlockStatus.NO_SPACE);
            } else if (result != Qcow2Tables.READY) {
                fail(BlockStatus.IO_ERROR);
            }
        }
        walkEnds();
    }

    private int step() {
        return switch (mode) {
            case READ -> readStep();
            case WRITE, ZERO_DATA, PREALLOCATE -> writeStep(end);
            case ZEROES -> changeStep(true);
            case DISCARD -> changeStep(false);
            case FLUSH -> Qcow2Tables.READY;
        };
    }

    private void enter(Qcow2Tables tables) {
        if (!entered) {
            entered = true;
            generation = tables.generation();
            queue.enter(generation);
        }
    }

    private void leave() {
        if (entered) {
            entered = false;
            queue.leave(generation);
        }
    }

    private int readStep() {
        Qcow2Tables tables = queue.tables();
        int result;
        synchronized (tables) {
            enter(tables);
            result = tables.map(at, end - at, map, this);
        }
        if (result != Qcow2Tables.READY) {
            return result;
        }
        long length = map.length;
        switch (map.kind) {
            case DATA -> {
                outstanding++;
                queue.piece().readData(this, buffer, at - start, length, map.host);
            }
            case ZERO -> buffer.fill(at - start, length, (byte) 0);
            case UNALLOCATED -> {
                long below = Math.clamp(tables.backingBytes() - at, 0, length);
                if (below < length) {
                    buffer.fill(at - start + below, length - below, (byte) 0);
                }
                if (below > 0) {
                    outstanding++;
                    queue.piece().readBacking(this, buffer, at - start, below, at);
                }
            }
            case COMPRESSED -> {
                outstanding++;
                queue.compressed()
                        .read(
                                this,
                                buffer,
                                at - start,
                                length,
                                map.entry,
                                tables.layout().inCluster(at));
            }
            case INVALID -> {
                return Qcow2Tables.FAILED;
            }
        }
        at += length;
        return Qcow2Tables.READY;
    }

    private int writeStep(long requested) {
        Qcow2Tables tables = queue.tables();
        long limit = mode == Mode.WRITE ? requested : wholeOrPartial(tables.layout(), requested);
        Allocation allocation = null;
        int result;
        synchronized (tables) {
            enter(tables);
            result = mode == Mode.WRITE && tables.compresses(at, limit)
                    ? tables.beginCompressed(at, this)
                    : tables.mapWrite(at, limit, map, this);
            if (result == Qcow2Tables.ALLOCATED) {
                allocation = tables.lastAllocation();
                result = Qcow2Tables.READY;
            }
        }
        if (result != Qcow2Tables.READY) {
            return result;
        }
        if (allocation != null) {
            outstanding++;
            at = allocation.writeEnd();
            allocation.start(this, mode == Mode.WRITE ? buffer : null, start, mode == Mode.PREALLOCATE);
            return Qcow2Tables.READY;
        }
        long length = map.length;
        switch (mode) {
            case WRITE -> {
                outstanding++;
                queue.piece().writeData(this, buffer, at - start, length, map.host);
            }
            case ZERO_DATA, ZEROES -> {
                outstanding++;
                queue.piece().zeroData(this, length, map.host, mayUnmap);
            }
            case READ, DISCARD, PREALLOCATE, FLUSH -> {}
        }
        at += length;
        return Qcow2Tables.READY;
    }

    /** Zeroes go to whole clusters in one piece of any length, or together with what is copied to one cluster. */
    private long wholeOrPartial(Qcow2Layout layout, long limit) {
        if (layout.inCluster(at) != 0) {
            return Math.min(limit, layout.roundUpToCluster(at));
        }
        long whole = layout.clusterStart(limit);
        return whole > at ? whole : limit;
    }

    private int changeStep(boolean zeroes) {
        Qcow2Tables tables = queue.tables();
        Qcow2Layout layout = tables.layout();
        long unit = layout.unitBytes();
        long unitStart = at & -unit;
        long unitEnd = Math.min(unitStart + unit, tables.capabilities().sizeBytes());
        if (at != unitStart || end < unitEnd) {
            return partialUnit(zeroes, Math.min(end, unitEnd));
        }
        int result;
        synchronized (tables) {
            enter(tables);
            result = tables.zeroes().change(at, end, zeroes, mayUnmap, map, this);
        }
        if (result == Qcow2Tables.NEEDS_DATA) {
            return writeStep(Math.min(end, at + map.length));
        }
        if (result == Qcow2Tables.READY) {
            at += map.length;
        }
        return result;
    }

    private int partialUnit(boolean zeroes, long limit) {
        if (!zeroes) {
            at = limit;
            return Qcow2Tables.READY;
        }
        Qcow2Tables tables = queue.tables();
        synchronized (tables) {
            enter(tables);
            int result = tables.map(at, limit - at, map, this);
            if (result != Qcow2Tables.READY) {
                return result;
            }
            boolean zero = map.kind == Qcow2Layout.Kind.ZERO
                    || map.kind == Qcow2Layout.Kind.UNALLOCATED && at >= tables.backingBytes();
            if (zero && !tables.allocating(at)) {
                at += map.length;
                return Qcow2Tables.READY;
            }
        }
        return writeStep(limit);
    }

    private void fail(BlockStatus newStatus) {
        if (status == BlockStatus.OK) {
            status = newStatus;
        }
    }

    void pieceDone(BlockStatus pieceStatus) {
        if (pieceStatus != BlockStatus.OK) {
            // Below an image everything is in range and writable unless the file was cut under it.
            fail(pieceStatus == BlockStatus.NO_SPACE ? BlockStatus.NO_SPACE : BlockStatus.IO_ERROR);
        }
        walkEnds();
    }

    /** The walk or a piece has ended. */
    private void walkEnds() {
        if (--outstanding > 0) {
            return;
        }
        leave();
        if (mode == Mode.READ && status == BlockStatus.OK) {
            finish();
            return;
        }
        Qcow2Tables tables = queue.tables();
        flushing = true;
        boolean waits;
        synchronized (tables) {
            waits = tables.flushIfNeeded(
                    this, mode == Mode.FLUSH, durable && status == BlockStatus.OK, mode != Mode.READ);
        }
        if (!waits) {
            finish();
        }
    }

    private void finish() {
        BlockRequest done = request;
        BlockCompletion told = completion;
        InternalDone internal = internalDone;
        BlockStatus result = status;
        request = IDLE;
        completion = NOBODY;
        internalDone = null;
        buffer = ownBuffer;
        queue.recycle(this);
        if (internal != null) {
            internal.done(result);
        } else {
            told.completed(done, result);
        }
    }

    /** Appends zeroes to a list of buffers. */
    static void addZeroes(IoVector vector, long length) {
        for (long left = length; left > 0; left -= ZERO_BYTES) {
            vector.add(ZEROES, 0, Math.min(left, ZERO_BYTES));
        }
    }
}
