package org.benchtop.spi.memory;

import java.lang.foreign.MemorySegment;

/**
 * A contiguous range of guest RAM and the host memory behind it.
 *
 * @param gpa first guest physical address
 * @param segment the host memory, of the region's length
 */
public record MemoryRegion(long gpa, MemorySegment segment) {
    /** The region's length. */
    public long sizeBytes() {
        return segment.byteSize();
    }

    /** The first address behind the region. */
    public long endGpa() {
        return gpa + segment.byteSize();
    }
}
