package org.benchtop.spi.host;

import org.benchtop.spi.memory.IoVector;

/** A reusable file operation: its owner sets the fields, submits it, and owns it again when it is completed. */
public final class FileOperation {
    private final Completion completion;
    private final IoVector vector = new IoVector();
    private Kind kind = Kind.SYNC;
    private long offsetBytes;
    private long lengthBytes;

    public FileOperation(Completion completion) {
        this.completion = completion;
    }

    /** What an operation does. */
    public enum Kind {
        /** preadv into the vector. */
        READ,
        /** pwritev from the vector. */
        WRITE,
        /** fdatasync. */
        SYNC,
        /** fallocate PUNCH_HOLE | KEEP_SIZE (BLKDISCARD on a device): deallocates, reads as zeroes on a file. */
        PUNCH_HOLE,
        /** fallocate ZERO_RANGE (BLKZEROOUT on a device): reads as zeroes, stays allocated. */
        ZERO_RANGE,
    }

    /** Told when an operation is done. */
    @FunctionalInterface
    public interface Completion {
        /**
         * Called on the queue's loop.
         *
         * @param result the number of bytes transferred (which may be short), 0 for other kinds, or a negative errno
         */
        void completed(FileOperation operation, long result);
    }

    /** Sets kind and range; for reads and writes fill {@link #vector} as well. */
    public FileOperation set(Kind kind, long offsetBytes, long lengthBytes) {
        this.kind = kind;
        this.offsetBytes = offsetBytes;
        this.lengthBytes = lengthBytes;
        return this;
    }

    /** The buffers of a read or write. */
    public IoVector vector() {
        return vector;
    }

    /** What to do. */
    public Kind kind() {
        return kind;
    }

    /** Where. */
    public long offsetBytes() {
        return offsetBytes;
    }

    /** How much. */
    public long lengthBytes() {
        return lengthBytes;
    }

    /** Whom to tell. */
    public Completion completion() {
        return completion;
    }
}
