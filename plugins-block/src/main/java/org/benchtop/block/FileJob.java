package org.benchtop.block;

import java.lang.foreign.MemorySegment;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.host.FileOperation;
import org.benchtop.spi.memory.IoVector;

/**
 * One request on its way through the host, one file operation at a time. Reused; lives on its queue's loop.
 *
 * <p>A transfer that needs a bounce buffer first gets the buffer and then the range lock, so whoever holds a range can
 * always finish.
 */
final class FileJob {
    private static final int EINTR = 4;
    private static final int EINVAL = 22;
    private static final int ENOTTY = 25;
    private static final int ENOSPC = 28;
    private static final int ENODEV = 19;
    private static final int ENOSYS = 38;
    private static final int EOPNOTSUPP = 95;
    private static final int EDQUOT = 122;

    private static final BlockRequest IDLE = new BlockRequest.Flush();
    private static final BlockCompletion NOBODY = (request, status) -> {};

    /** What the operation that is under way does for the request. */
    private enum Step {
        /** Moves data between the file and the guest's buffers. */
        IN_PLACE,
        /** Reads a piece into the bounce buffer for the guest. */
        BOUNCE_READ,
        /** Reads the host block that the piece starts in the middle of. */
        READ_HEAD,
        /** Reads the host block that the piece ends in the middle of. */
        READ_TAIL,
        /** Writes a piece from the bounce buffer. */
        BOUNCE_WRITE,
        /** Gives space back on a discard. */
        DISCARD,
        /** Makes a hole that stands for zeroes. */
        PUNCH_ZEROES,
        /** Zeroes an allocated range. */
        ZERO_RANGE,
        /** Makes changes durable. */
        SYNC,
    }

    private final FileBackend backend;
    private final FileQueue queue;
    private final FileOperation operation = new FileOperation((op, result) -> operationDone(result));
    private final Runnable resume = this::lockGranted;

    private BlockRequest request = IDLE;
    private BlockCompletion completion = NOBODY;
    private Step step = Step.SYNC;
    private long doneBytes;
    private MemorySegment bounce = MemorySegment.NULL;
    private boolean locked;
    private boolean lockExclusive;
    private long lockStart;
    private long lockEnd;

    /** The piece of the request that is in the bounce buffer, in whole host blocks. */
    private long pieceStart;

    private long pieceEnd;

    /** The part of the bounce buffer that the running operation moves: file range and progress. */
    private long ioStart;

    private long ioEnd;
    private long ioDone;

    FileJob(FileBackend backend, FileQueue queue) {
        this.backend = backend;
        this.queue = queue;
    }

    long lockStart() {
        return lockStart;
    }

    long lockEnd() {
        return lockEnd;
    }

    boolean lockExclusive() {
        return lockExclusive;
    }

    void start(BlockRequest newRequest, BlockCompletion newCompletion) {
        request = newRequest;
        completion = newCompletion;
        doneBytes = 0;
        switch (newRequest) {
            case BlockRequest.Read read -> {
                if (backend.aligned(read, read.buffer())) {
                    moveInPlace();
                } else {
                    bounce();
                }
            }
            case BlockRequest.Write write -> {
                backend.changed();
                if (!backend.aligned(write, write.buffer())) {
                    bounce();
                } else if (lockRange()) {
                    moveInPlace();
                }
            }
            case BlockRequest.Flush flush -> {
                if (backend.flushes()) {
                    sync();
                } else {
                    finish(BlockStatus.OK);
                }
            }
            case BlockRequest.Discard discard -> {
                if (backend.discards()) {
                    backend.changed();
                    allocate(Step.DISCARD, FileOperation.Kind.PUNCH_HOLE);
                } else {
                    finish(BlockStatus.OK);
                }
            }
            case BlockRequest.WriteZeroes zeroes -> {
                backend.changed();
                if (lockRange()) {
                    writeZeroes(zeroes.mayUnmap());
                }
            }
        }
    }

    private void writeZeroes(boolean mayUnmap) {
        if (backend.punchesZeroes(mayUnmap)) {
            allocate(Step.PUNCH_ZEROES, FileOperation.Kind.PUNCH_HOLE);
        } else if (backend.zeroRangeWorks()) {
            allocate(Step.ZERO_RANGE, FileOperation.Kind.ZERO_RANGE);
        } else {
            bounce();
        }
    }

    private void allocate(Step newStep, FileOperation.Kind kind) {
        step = newStep;
        operation.vector().clear();
        queue.submitToHost(operation.set(kind, request.offsetBytes(), request.lengthBytes()));
    }

    /** Takes the range lock where it is needed; false while the job waits for it. */
    private boolean lockRange() {
        if (!backend.needsReadModifyWrite() || locked) {
            return true;
        }
        int alignment = backend.offsetAlignment();
        long start = request.offsetBytes();
        long end = start + request.lengthBytes();
        lockStart = start / alignment * alignment;
        lockEnd = BlockSizes.roundUp(end, alignment);
        lockExclusive = lockStart != start || lockEnd != end;
        locked = true;
        return backend.rangeLock().acquire(this);
    }

    private void unlockRange() {
        if (locked) {
            locked = false;
            backend.rangeLock().release(this);
        }
    }

    /** Called by the lock, on any thread, when the job that waited has got its range. */
    void resumeLater() {
        queue.loop().execute(resume);
    }

    private void lockGranted() {
        if (bounce.address() != 0) {
            nextPiece();
        } else if (request instanceof BlockRequest.WriteZeroes zeroes) {
            writeZeroes(zeroes.mayUnmap());
        } else {
            moveInPlace();
        }
        queue.kick();
    }

    private IoVector requestBuffer() {
        return switch (request) {
            case BlockRequest.Read read -> read.buffer();
            case BlockRequest.Write write -> write.buffer();
            case BlockRequest.Flush flush -> operation.vector();
            case BlockRequest.Discard discard -> operation.vector();
            case BlockRequest.WriteZeroes zeroes -> operation.vector();
        };
    }

    private void moveInPlace() {
        step = Step.IN_PLACE;
        IoVector vector = operation.vector();
        long rest = request.lengthBytes() - doneBytes;
        vector.clear();
        vector.addFrom(requestBuffer(), doneBytes, rest);
        FileOperation.Kind kind =
                request instanceof BlockRequest.Read ? FileOperation.Kind.READ : FileOperation.Kind.WRITE;
        queue.submitToHost(operation.set(kind, request.offsetBytes() + doneBytes, rest));
    }

    private void bounce() {
        backend.bounces().increment();
        unlockRange();
        queue.borrowBounce(this);
    }

    void bounceBorrowed(MemorySegment buffer) {
        bounce = buffer;
        if (request instanceof BlockRequest.Read || lockRange()) {
            nextPiece();
        }
    }

    private void nextPiece() {
        int alignment = backend.offsetAlignment();
        long at = request.offsetBytes() + doneBytes;
        long end = request.offsetBytes() + request.lengthBytes();
        pieceStart = at / alignment * alignment;
        pieceEnd = Math.min(BlockSizes.roundUp(end, alignment), pieceStart + FileQueue.BOUNCE_BYTES);
        if (request instanceof BlockRequest.Read) {
            moveBounce(Step.BOUNCE_READ, pieceStart, pieceEnd);
        } else if (at != pieceStart) {
            moveBounce(Step.READ_HEAD, pieceStart, pieceStart + alignment);
        } else {
            readTail();
        }
    }

    private void readTail() {
        int alignment = backend.offsetAlignment();
        long end = request.offsetBytes() + request.lengthBytes();
        boolean partial = end < pieceEnd;
        boolean alreadyRead = step == Step.READ_HEAD && pieceEnd - alignment == pieceStart;
        if (partial && !alreadyRead) {
            moveBounce(Step.READ_TAIL, pieceEnd - alignment, pieceEnd);
        } else {
            writePiece();
        }
    }

    private void writePiece() {
        long at = request.offsetBytes() + doneBytes;
        long length = pieceBytes();
        if (request instanceof BlockRequest.Write write) {
            write.buffer().copyTo(doneBytes, bounce, at - pieceStart, length);
        } else {
            bounce.asSlice(at - pieceStart, length).fill((byte) 0);
        }
        moveBounce(Step.BOUNCE_WRITE, pieceStart, pieceEnd);
    }

    /** How many bytes of the request the piece holds. */
    private long pieceBytes() {
        long at = request.offsetBytes() + doneBytes;
        return Math.min(pieceEnd, request.offsetBytes() + request.lengthBytes()) - at;
    }

    private void moveBounce(Step newStep, long start, long end) {
        step = newStep;
        ioStart = start;
        ioEnd = end;
        ioDone = 0;
        submitBounce();
    }

    private void submitBounce() {
        IoVector vector = operation.vector();
        long length = ioEnd - ioStart - ioDone;
        vector.clear();
        vector.add(bounce, ioStart - pieceStart + ioDone, length);
        FileOperation.Kind kind = step == Step.BOUNCE_WRITE ? FileOperation.Kind.WRITE : FileOperation.Kind.READ;
        queue.submitToHost(operation.set(kind, ioStart + ioDone, length));
    }

    private void sync() {
        if (backend.syncFailed()) {
            finish(BlockStatus.IO_ERROR);
            return;
        }
        step = Step.SYNC;
        operation.vector().clear();
        queue.submitToHost(operation.set(FileOperation.Kind.SYNC, 0, 0));
    }

    private void operationDone(long result) {
        if (result == -EINTR) {
            queue.submitToHost(operation);
            queue.kick();
            return;
        }
        switch (step) {
            case IN_PLACE -> movedInPlace(result);
            case BOUNCE_READ, READ_HEAD, READ_TAIL, BOUNCE_WRITE -> movedBounce(result);
            case DISCARD -> discarded(result);
            case PUNCH_ZEROES -> zeroed(result);
            case ZERO_RANGE -> zeroed(result);
            case SYNC -> synced(result);
        }
        if (request != IDLE) {
            queue.kick();
        }
    }

    private void movedInPlace(long result) {
        boolean reads = request instanceof BlockRequest.Read;
        if (result < 0 || result == 0 && !reads) {
            finish(failure(result));
            return;
        }
        doneBytes += result;
        if (doneBytes == request.lengthBytes()) {
            dataMoved();
        } else if (result > 0 && doneBytes % backend.offsetAlignment() == 0) {
            moveInPlace();
        } else if (reads && backend.mayEndAt(request.offsetBytes() + doneBytes)) {
            requestBuffer().fill(doneBytes, request.lengthBytes() - doneBytes, (byte) 0);
            finish(BlockStatus.OK);
        } else {
            finish(BlockStatus.IO_ERROR);
        }
    }

    private void movedBounce(long result) {
        boolean writes = step == Step.BOUNCE_WRITE;
        if (result < 0 || result == 0 && writes) {
            finish(failure(result));
            return;
        }
        ioDone += result;
        long missing = ioEnd - ioStart - ioDone;
        if (missing > 0) {
            if (result > 0 && ioDone % backend.offsetAlignment() == 0) {
                submitBounce();
                return;
            }
            if (writes || !backend.mayEndAt(ioStart + ioDone)) {
                finish(BlockStatus.IO_ERROR);
                return;
            }
            bounce.asSlice(ioStart - pieceStart + ioDone, missing).fill((byte) 0);
        }
        switch (step) {
            case READ_HEAD -> readTail();
            case READ_TAIL -> writePiece();
            case BOUNCE_READ -> {
                long at = request.offsetBytes() + doneBytes;
                requestBuffer().copyFrom(doneBytes, bounce, at - pieceStart, pieceBytes());
                pieceDone();
            }
            case BOUNCE_WRITE -> pieceDone();
            case IN_PLACE, DISCARD, PUNCH_ZEROES, ZERO_RANGE, SYNC -> throw new IllegalStateException("step " + step);
        }
    }

    private void pieceDone() {
        doneBytes += pieceBytes();
        if (doneBytes < request.lengthBytes()) {
            nextPiece();
        } else {
            dataMoved();
        }
    }

    /** All data of a transfer is where the host's call puts it; a durable write still needs a sync. */
    private void dataMoved() {
        if (request instanceof BlockRequest.Write write && write.durable() && backend.syncAfterDurableWrite()) {
            sync();
        } else {
            finish(BlockStatus.OK);
        }
    }

    private void discarded(long result) {
        if (result < 0 && notSupported(result)) {
            backend.punchHoleFails();
            finish(BlockStatus.OK);
        } else if (result < 0 && result != -EINVAL) {
            finish(failure(result));
        } else {
            allocationChanged();
        }
    }

    private void zeroed(long result) {
        if (result >= 0) {
            allocationChanged();
        } else if (!notSupported(result) && result != -EINVAL) {
            finish(failure(result));
        } else if (step == Step.PUNCH_ZEROES) {
            backend.punchHoleFails();
            writeZeroes(false);
        } else {
            if (notSupported(result)) {
                backend.zeroRangeFails();
            }
            bounce();
        }
    }

    private void allocationChanged() {
        if (backend.syncAfterAllocationChange()) {
            sync();
        } else {
            finish(BlockStatus.OK);
        }
    }

    private void synced(long result) {
        if (result < 0) {
            backend.syncFails();
        }
        finish(result < 0 ? failure(result) : BlockStatus.OK);
    }

    private static boolean notSupported(long result) {
        return result == -EOPNOTSUPP || result == -ENOSYS || result == -ENODEV || result == -ENOTTY;
    }

    private static BlockStatus failure(long result) {
        return result == -ENOSPC || result == -EDQUOT ? BlockStatus.NO_SPACE : BlockStatus.IO_ERROR;
    }

    private void finish(BlockStatus status) {
        BlockRequest done = request;
        BlockCompletion told = completion;
        MemorySegment buffer = bounce;
        request = IDLE;
        completion = NOBODY;
        bounce = MemorySegment.NULL;
        unlockRange();
        queue.recycle(this);
        if (buffer.address() != 0) {
            queue.returnBounce(buffer);
        }
        told.completed(done, status);
    }
}
