package org.benchtop.engine.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.benchtop.spi.host.FileOperation;
import org.benchtop.spi.memory.IoVector;
import org.jspecify.annotations.Nullable;

/**
 * One operation in flight: its native vector, its result, and a link for whatever list it is on. Reused; belongs to
 * the loop until it is handed to a worker, and again once it is on the list of those that are done.
 */
final class FileSlot {
    private static final int INITIAL_ELEMENTS = 16;

    private final LinuxFile file;
    final ThreadQueue queue;
    private final FileOperation nothing = new FileOperation((operation, result) -> {});
    private FileOperation operation = nothing;
    private MemorySegment iovecs = allocate(INITIAL_ELEMENTS);
    private int capacity = INITIAL_ELEMENTS;
    /** How many elements of the operation's vector are in {@link #iovecs}, and how many bytes they are. */
    private int chunkCount;

    private long chunkBytes;
    private long result;

    @Nullable
    FileSlot next;

    FileSlot(LinuxFile file, ThreadQueue queue) {
        this.file = file;
        this.queue = queue;
    }

    private static MemorySegment allocate(int elements) {
        return Arena.ofAuto().allocate((long) elements * Iovec.BYTES, 8);
    }

    void start(FileOperation operation) {
        this.operation = operation;
        if (operation.kind() == FileOperation.Kind.READ || operation.kind() == FileOperation.Kind.WRITE) {
            prepareChunk(0);
        }
    }

    /** Ends the operation's stay; the slot may be used again when this returns. */
    FileOperation release() {
        FileOperation done = operation;
        operation = nothing;
        return done;
    }

    long result() {
        return result;
    }

    void result(long result) {
        this.result = result;
    }

    /** Puts as many elements as one call takes into native memory. */
    private void prepareChunk(int first) {
        IoVector vector = operation.vector();
        int count = Math.min(vector.count() - first, Iovec.MAX_COUNT);
        if (count > capacity) {
            capacity = count <= 128 ? 128 : Iovec.MAX_COUNT;
            iovecs = allocate(capacity);
        }
        long bytes = 0;
        for (int i = 0; i < count; i++) {
            long length = vector.length(first + i);
            Iovec.set(iovecs, i, vector.address(first + i), length);
            bytes += length;
        }
        chunkCount = count;
        chunkBytes = bytes;
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
        result = switch (operation.kind()) {
            case READ -> transfer(capture, false);
            case WRITE -> transfer(capture, true);
            case SYNC -> file.syncNow(capture);
            case PUNCH_HOLE -> file.punchHoleNow(capture, operation.offsetBytes(), operation.lengthBytes());
            case ZERO_RANGE -> file.zeroRangeNow(capture, operation.offsetBytes(), operation.lengthBytes());
        };
    }

    private long transfer(MemorySegment capture, boolean write) {
        int elements = operation.vector().count();
        int first = 0;
        long done = 0;
        while (first < elements) {
            long moved = transferChunk(capture, write, operation.offsetBytes() + done);
            if (moved == -Errno.EINTR) {
                continue;
            }
            if (moved < 0) {
                return done > 0 ? done : moved;
            }
            done += moved;
            if (moved < chunkBytes) {
                return done;
            }
            first += chunkCount;
            if (first < elements) {
                prepareChunk(first);
            }
        }
        return done;
    }

    private long transferChunk(MemorySegment capture, boolean write, long offsetBytes) {
        int fd = file.fd();
        if (write) {
            return LibC.pwritev(capture, fd, iovecs.address(), chunkCount, offsetBytes);
        }
        return LibC.preadv(capture, fd, iovecs.address(), chunkCount, offsetBytes);
    }
}
