package org.benchtop.testkit.virtio;

import java.lang.foreign.MemorySegment;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;

/** Hands out pieces of guest RAM, one after another; nothing is freed. */
public final class GuestHeap {
    private final GuestMemory memory;
    private final long endGpa;
    private long nextGpa;

    /** A heap in a range of RAM. */
    public GuestHeap(GuestMemory memory, long gpa, long sizeBytes) {
        this.memory = memory;
        this.nextGpa = gpa;
        this.endGpa = gpa + sizeBytes;
    }

    /** The RAM that the heap is in. */
    public GuestMemory memory() {
        return memory;
    }

    /** A zeroed piece, aligned to a power of two. */
    public long allocate(long sizeBytes, long alignment) {
        long at = nextGpa + alignment - 1 & -alignment;
        if (at + sizeBytes > endGpa) {
            throw new AssertionError("guest heap is full: needs " + sizeBytes + " bytes at 0x" + Long.toHexString(at));
        }
        nextGpa = at + sizeBytes;
        segment(at, sizeBytes).fill((byte) 0);
        return at;
    }

    /** RAM as a segment; fails the test where there is none. */
    public MemorySegment segment(long gpa, long sizeBytes) {
        try {
            return memory.slice(gpa, sizeBytes);
        } catch (GuestFault e) {
            throw new AssertionError(e.getMessage(), e);
        }
    }
}
