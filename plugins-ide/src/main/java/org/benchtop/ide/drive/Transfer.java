package org.benchtop.ide.drive;

import java.util.Locale;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.memory.IoVector;

/**
 * One piece of work for the backend: a read or write of any length, split into what the backend takes, a flush or a
 * discard. Reusable; its memory is guest RAM or the device's buffer, in place.
 *
 * <p>A device fills it under its controller's lock; from {@link AtaDevice#takeTransfer} to {@link
 * AtaDevice#transferDone} it belongs to the event loop.
 */
public final class Transfer {
    private static final int SECTOR_BYTES = 512;

    private enum Kind {
        READ,
        WRITE,
        FLUSH,
        DISCARD,
    }

    private final int tag;
    private final BlockRequest.Read read = new BlockRequest.Read();
    private final BlockRequest.Write write = new BlockRequest.Write();
    private final BlockRequest.Flush flush = new BlockRequest.Flush();
    private final BlockRequest.Discard discard = new BlockRequest.Discard();
    private final IoVector memory = new IoVector();

    private Kind kind = Kind.FLUSH;
    private long offsetBytes;
    private long lengthBytes;
    private long doneBytes;
    private boolean durable;
    private boolean inGuestMemory;

    Transfer(int tag) {
        this.tag = tag;
    }

    /** The number of a queued command; -1 for the others. */
    public int tag() {
        return tag;
    }

    /** The memory of the next read or write; fill it before {@link #read} or {@link #write}. */
    public IoVector memory() {
        return memory;
    }

    void read(long offset, long length, boolean intoGuestMemory) {
        set(Kind.READ, offset, length);
        inGuestMemory = intoGuestMemory;
    }

    void write(long offset, long length, boolean isDurable) {
        set(Kind.WRITE, offset, length);
        durable = isDurable;
    }

    void flush() {
        set(Kind.FLUSH, 0, 0);
    }

    void discard(long offset, long length) {
        set(Kind.DISCARD, offset, length);
    }

    private void set(Kind newKind, long offset, long length) {
        kind = newKind;
        offsetBytes = offset;
        lengthBytes = length;
        doneBytes = 0;
    }

    /** Whether it changes guest memory, which has to be told. */
    public boolean writesGuestMemory() {
        return kind == Kind.READ && inGuestMemory;
    }

    /** Whether it is a write of the medium. */
    public boolean writes() {
        return kind == Kind.WRITE;
    }

    /** Whether it moves data at all. */
    public boolean movesData() {
        return kind == Kind.READ || kind == Kind.WRITE;
    }

    /** Where it starts on the medium. */
    public long offsetBytes() {
        return offsetBytes;
    }

    /** Its length. */
    public long lengthBytes() {
        return lengthBytes;
    }

    /** How much of it is done; everything before this offset was transferred. */
    public long doneBytes() {
        return doneBytes;
    }

    /** Whether everything is done. */
    public boolean complete() {
        return doneBytes >= lengthBytes && doneBytes > 0;
    }

    /**
     * The next request for the backend, or null if a single unit does not fit into its limits.
     *
     * @param unitBytes smallest piece
     * @param maxBytes longest request
     * @param maxSegments most elements
     */
    public @org.jspecify.annotations.Nullable BlockRequest next(int unitBytes, long maxBytes, int maxSegments) {
        long left = lengthBytes - doneBytes;
        switch (kind) {
            case READ -> {
                long part = part(left, unitBytes, maxBytes, maxSegments);
                if (part == 0) {
                    return null;
                }
                read.buffer().clear();
                read.buffer().addFrom(memory, doneBytes, part);
                return read.at(offsetBytes + doneBytes);
            }
            case WRITE -> {
                long part = part(left, unitBytes, maxBytes, maxSegments);
                if (part == 0) {
                    return null;
                }
                write.buffer().clear();
                write.buffer().addFrom(memory, doneBytes, part);
                return write.at(offsetBytes + doneBytes, durable);
            }
            case FLUSH -> {
                return flush;
            }
            case DISCARD -> {
                return discard.at(offsetBytes, lengthBytes);
            }
        }
        return null;
    }

    /** The longest run of whole units from here on that keeps the limits. */
    private long part(long left, int unitBytes, long maxBytes, int maxSegments) {
        long most = Math.min(left, maxBytes / unitBytes * unitBytes);
        if (memory.count() <= maxSegments) {
            return most;
        }
        long skip = doneBytes;
        long taken = 0;
        int segments = 0;
        for (int i = 0; i < memory.count() && segments < maxSegments && taken < most; i++) {
            long length = memory.length(i);
            if (skip >= length) {
                skip -= length;
                continue;
            }
            taken += length - skip;
            skip = 0;
            segments++;
        }
        return Math.min(taken, most) / unitBytes * unitBytes;
    }

    /** Whether it reads the medium. */
    public boolean reads() {
        return kind == Kind.READ;
    }

    @Override
    public String toString() {
        String name = kind.name().toLowerCase(Locale.ROOT);
        return kind == Kind.FLUSH ? name : name + " " + lengthBytes + " bytes at sector " + offsetBytes / SECTOR_BYTES;
    }

    /** A part is done. */
    public void advance(BlockRequest request) {
        doneBytes += Math.max(request.lengthBytes(), kind == Kind.FLUSH ? 1 : 0);
    }
}
