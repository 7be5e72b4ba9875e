package org.benchtop.xen;

import java.lang.foreign.MemorySegment;

/**
 * The guest's grant table, version 1 (grant_table.h): which of its pages backends may touch.
 *
 * <p>Everything in it is the guest's word of the moment: an entry is claimed by one atomic change of its flags, and its frame
 * is read once, behind that. Any thread; allocates nothing.
 */
final class GrantTable {
    /** Pages in the table at most. */
    static final int MAX_FRAMES = 64;

    private static final int ENTRY_BYTES = 8;
    private static final int ENTRIES = MAX_FRAMES * Xen.PAGE_SIZE / ENTRY_BYTES;
    private static final int TYPE_MASK = 3;
    private static final int PERMIT_ACCESS = 1;
    private static final int READ_ONLY = 1 << 2;
    private static final int READING = 1 << 3;
    private static final int WRITING = 1 << 4;
    /** Sub-page grants and others: nothing that version 1 has. */
    private static final int RESERVED = 1 << 8;

    private static final int ATTEMPTS = 16;

    private final MemorySegment table;
    /** How many frames are in use; grows as the guest maps them. */
    private volatile int frames = 1;
    /** How often each entry is claimed, so that its in-use flags go away with the last. */
    private final Claims[] claims = new Claims[ENTRIES];

    private static final class Claims {
        int count;
    }

    /** A table over memory of {@link #MAX_FRAMES} pages. */
    GrantTable(MemorySegment table) {
        this.table = table;
        for (int i = 0; i < ENTRIES; i++) {
            claims[i] = new Claims();
        }
    }

    /** Empties the table. Nothing is claimed. */
    void reset() {
        table.fill((byte) 0);
        frames = 1;
        for (Claims claim : claims) {
            synchronized (claim) {
                claim.count = 0;
            }
        }
    }

    int frames() {
        return frames;
    }

    /** The page of a frame, which is in use from now on. */
    MemorySegment frame(int index) {
        synchronized (this) {
            frames = Math.max(frames, index + 1);
        }
        return table.asSlice((long) index * Xen.PAGE_SIZE, Xen.PAGE_SIZE);
    }

    /**
     * Claims a page.
     *
     * @param write whether it will be written
     * @return its guest frame number, or -1 if domain 0 may not touch it so
     */
    long claim(int reference, boolean write) {
        if (reference <= 0 || reference >= frames * (Xen.PAGE_SIZE / ENTRY_BYTES)) {
            return -1;
        }
        long at = (long) reference * ENTRY_BYTES;
        Claims claim = claims[reference];
        synchronized (claim) {
            long frame = claim(at, write);
            claim.count += frame < 0 ? 0 : 1;
            return frame;
        }
    }

    private long claim(long at, boolean write) {
        for (int i = 0; i < ATTEMPTS; i++) {
            int header = (int) Xen.INTS.getVolatile(table, at);
            boolean granted = (header & TYPE_MASK) == PERMIT_ACCESS
                    && header >>> 16 == 0
                    && (header & RESERVED) == 0
                    && !(write && (header & READ_ONLY) != 0);
            if (!granted) {
                return -1;
            }
            if (Xen.INTS.compareAndSet(table, at, header, header | READING | (write ? WRITING : 0))) {
                return (int) Xen.INTS.getVolatile(table, at + 4) & 0xffff_ffffL;
            }
        }
        return -1;
    }

    /** Gives up a claim. */
    void release(int reference) {
        Claims claim = claims[reference];
        synchronized (claim) {
            claim.count = Math.max(0, claim.count - 1);
            if (claim.count == 0) {
                Object unused =
                        (int) Xen.INTS.getAndBitwiseAnd(table, (long) reference * ENTRY_BYTES, ~(READING | WRITING));
            }
        }
    }

    /** How many entries are claimed, for people. */
    int claimed() {
        int n = 0;
        for (Claims claim : claims) {
            synchronized (claim) {
                n += claim.count > 0 ? 1 : 0;
            }
        }
        return n;
    }
}
