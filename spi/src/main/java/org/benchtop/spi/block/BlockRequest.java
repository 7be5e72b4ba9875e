package org.benchtop.spi.block;

import org.benchtop.spi.memory.IoVector;

/**
 * One request to a backend. Reusable: its owner fills it, submits it, and may fill it again after its completion.
 *
 * <p>Offsets and lengths are in bytes and multiples of the backend's logical block size.
 */
public abstract sealed class BlockRequest {
    private long offsetBytes;
    private long lengthBytes;

    private BlockRequest() {}

    /** Where the request starts. */
    public final long offsetBytes() {
        return offsetBytes;
    }

    /** How long it is; for reads and writes the size of the buffer. 0 for a flush. */
    public final long lengthBytes() {
        return lengthBytes;
    }

    final void range(long offset, long length) {
        this.offsetBytes = offset;
        this.lengthBytes = length;
    }

    @Override
    public String toString() {
        return getClass().getSimpleName() + "[offset=" + offsetBytes + " length=" + lengthBytes + "]";
    }

    /** Reads into the buffer. */
    public static final class Read extends BlockRequest {
        private final IoVector buffer = new IoVector();

        /** Where the data goes: fill it, then call {@link #at}. */
        public IoVector buffer() {
            return buffer;
        }

        /** Sets the offset and takes the length from the buffer. */
        public Read at(long offsetBytes) {
            range(offsetBytes, buffer.sizeBytes());
            return this;
        }
    }

    /** Writes the buffer. */
    public static final class Write extends BlockRequest {
        private final IoVector buffer = new IoVector();
        private boolean durable;

        /** Where the data is: fill it, then call {@link #at}. */
        public IoVector buffer() {
            return buffer;
        }

        /** Sets the offset and takes the length from the buffer; not durable (no FUA). */
        public Write at(long offsetBytes) {
            return at(offsetBytes, false);
        }

        /** Sets the offset and whether the data must be durable when the request completes (FUA). */
        public Write at(long offsetBytes, boolean durable) {
            range(offsetBytes, buffer.sizeBytes());
            this.durable = durable;
            return this;
        }

        /** Whether completion promises durability whatever the cache mode (FUA). */
        public boolean durable() {
            return durable;
        }
    }

    /** Makes all completed writes durable. */
    public static final class Flush extends BlockRequest {}

    /** Says that a range is not needed any more; afterwards it reads as old data or zeroes. Advisory. */
    public static final class Discard extends BlockRequest {
        /** Sets the range. */
        public Discard at(long offsetBytes, long lengthBytes) {
            range(offsetBytes, lengthBytes);
            return this;
        }
    }

    /** Makes a range read as zeroes. */
    public static final class WriteZeroes extends BlockRequest {
        private boolean mayUnmap;

        /** Sets the range, and whether the backend may deallocate it. */
        public WriteZeroes at(long offsetBytes, long lengthBytes, boolean mayUnmap) {
            range(offsetBytes, lengthBytes);
            this.mayUnmap = mayUnmap;
            return this;
        }

        /** Whether the space may be given back. */
        public boolean mayUnmap() {
            return mayUnmap;
        }
    }
}
