package org.benchtop.engine.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.benchtop.spi.host.FileOperation;
import org.benchtop.spi.memory.IoVector;
import org.jspecify.annotations.Nullable;

/**
 * One operation in flight: its native vector, how far it has come, its result, and a link for whatever list it is on.
 * Reused; belongs to the loop, except between being handed to a worker and appearing on the list of those done.
 */
final class FileSlot {
    private static final System.Logger LOG = System.getLogger("org.benchtop.engine.linux");
    private static final int INITIAL_ELEMENTS = 16;
    private static final int SECOND_ELEMENTS = 128;

    final LinuxFile file;
    final Owner owner;
    /** The number that the engine knows the file by, or -1. */
    final int fileNumber;

    /** The number that the kernel knows the slot by, where it is given one. */
    int index = -1;

    @Nullable
    FileSlot next;

    private final FileOperation nothing = new FileOperation((operation, result) -> {});
    private FileOperation operation = nothing;
    private MemorySegment iovecs = allocate(INITIAL_ELEMENTS);
    private int capacity = INITIAL_ELEMENTS;
    /** The part of the vector that is in {@link #iovecs}. */
    private int chunkFirst;

    private int chunkCount;
    private long chunkBytes;
    private long doneBytes;
    private long result;

    /** Whom a slot goes back to. */
    interface Owner {
        /** The slot's operation is done. Called by the worker that did it. */
        void done(FileSlot slot);
    }

    FileSlot(LinuxFile file, Owner owner, int fileNumber) {
        this.file = file;
        this.owner = owner;
        this.fileNumber = fileNumber;
    }

    private static MemorySegment allocate(int elements) {
        return Arena.ofAuto().allocate((long) elements * Iovec.BYTES, 8);
    }

    void start(FileOperation operation) {
        this.operation = operation;
        doneBytes = 0;
        if (transfers()) {
            prepareChunk(0);
        }
    }

    FileOperation operation() {
        return operation;
    }

    boolean transfers() {
        return operation.kind() == FileOperation.Kind.READ || operation.kind() == FileOperation.Kind.WRITE;
    }

    boolean writes() {
        return operation.kind() == FileOperation.Kind.WRITE;
    }

    long result() {
        return result;
    }

    void result(long result) {
        this.result = result;
    }

    long chunkAddress() {
        return iovecs.address();
    }

    /** Where a chunk of one element is. */
    long firstAddress() {
        return operation.vector().address(chunkFirst);
    }

    /** Whether one plain read or write moves the chunk. */
    boolean single() {
        return chunkCount == 1 && chunkBytes <= Integer.MAX_VALUE;
    }

    int chunkCount() {
        return chunkCount;
    }

    long chunkBytes() {
        return chunkBytes;
    }

    long chunkOffsetBytes() {
        return operation.offsetBytes() + doneBytes;
    }

    /** Puts as many elements as one call takes into native memory. */
    private void prepareChunk(int first) {
        IoVector vector = operation.vector();
        int count = Math.min(vector.count() - first, Iovec.MAX_COUNT);
        if (count > capacity) {
            capacity = count <= SECOND_ELEMENTS ? SECOND_ELEMENTS : Iovec.MAX_COUNT;
            iovecs = allocate(capacity);
        }
        long bytes = 0;
        for (int i = 0; i < count; i++) {
            long length = vector.length(first + i);
            Iovec.set(iovecs, i, vector.address(first + i), length);
            bytes += length;
        }
        chunkFirst = first;
        chunkCount = count;
        chunkBytes = bytes;
    }

    /**
     * Takes the outcome of one kernel request. True if the operation needs another one: the same again after an
     * interrupt, or the next part of a long vector. Otherwise the result is set.
     */
    boolean advance(long outcome) {
        if (outcome == -Errno.EINTR || outcome == -Errno.EAGAIN) {
            return true;
        }
        if (!transfers()) {
            result = outcome;
            return false;
        }
        if (outcome < 0) {
            result = doneBytes > 0 ? doneBytes : outcome;
            return false;
        }
        doneBytes += outcome;
        int following = chunkFirst + chunkCount;
        if (outcome < chunkBytes || following >= operation.vector().count()) {
            result = doneBytes;
            return false;
        }
        prepareChunk(following);
        return true;
    }

    /**
     * Tries a read from the page cache that does not wait. True if the whole vector was filled; otherwise somebody has
     * to do the whole read again, waiting.
     */
    boolean readWithoutWaiting(MemorySegment capture) {
        result = LibC.preadv2(
                capture, file.fd(), iovecs.address(), chunkCount, operation.offsetBytes(), LibC.RWF_NOWAIT);
        return result == operation.vector().sizeBytes();
    }

    /** Does the operation, waiting for it. */
    void execute(MemorySegment capture) {
        long outcome;
        do {
            outcome = switch (operation.kind()) {
                case READ -> LibC.preadv(capture, file.fd(), iovecs.address(), chunkCount, chunkOffsetBytes());
                case WRITE -> LibC.pwritev(capture, file.fd(), iovecs.address(), chunkCount, chunkOffsetBytes());
                case SYNC -> LibC.fdatasync(capture, file.fd());
                case PUNCH_HOLE -> file.punchHole(capture, operation.offsetBytes(), operation.lengthBytes());
                case ZERO_RANGE -> file.zeroRange(capture, operation.offsetBytes(), operation.lengthBytes());
            };
        } while (advance(outcome));
    }

    /**
     * Tells the operation's owner, who may submit it again at once: the slot must be free for that before, so the
     * caller passes what it took out with {@link #take}.
     */
    static void complete(LinuxFile file, FileOperation operation, long result) {
        try {
            operation.completion().completed(operation, result);
        } catch (Throwable failure) {
            LOG.log(
                    System.Logger.Level.ERROR,
                    "completion of " + operation.kind() + " on " + file.name() + " failed",
                    failure);
        }
    }

    /** Ends the operation's stay; the slot may be used again when this returns. */
    FileOperation take() {
        FileOperation done = operation;
        operation = nothing;
        return done;
    }
}
