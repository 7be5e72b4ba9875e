package org.benchtop.spi.pci;

import java.lang.foreign.MemorySegment;
import java.util.Optional;
import org.benchtop.spi.bus.RegisterAccess;

/**
 * One base address register.
 *
 * @param index 0 to 5; a 64-bit BAR takes the next one too
 * @param kind which address space and width
 * @param prefetchable the prefetchable bit; memory BARs only
 * @param sizeBytes a power of two: at least 4 for I/O, 16 for memory (4096 with {@code memory})
 * @param access the registers; empty where {@code memory} is mapped instead or only MSI-X tables lie there
 * @param memory memory that vCPUs access without exits
 */
public record Bar(
        int index,
        Kind kind,
        boolean prefetchable,
        long sizeBytes,
        Optional<RegisterAccess> access,
        Optional<MemorySegment> memory) {
    /** Address space and width. */
    public enum Kind {
        /** I/O ports. */
        IO,
        /** Memory below 4 GiB. */
        MEMORY_32,
        /** Memory anywhere. */
        MEMORY_64,
    }

    public Bar {
        boolean io = kind == Kind.IO;
        if (index < 0 || index > (kind == Kind.MEMORY_64 ? 4 : 5)) {
            throw new IllegalArgumentException("BAR index " + index + " of kind " + kind);
        }
        if (Long.bitCount(sizeBytes) != 1 || sizeBytes < (io ? 4 : 16) || io && sizeBytes > 256) {
            throw new IllegalArgumentException("BAR" + index + " size must be a power of two, at least " + (io ? 4 : 16)
                    + (io ? " and at most 256" : "") + ": " + sizeBytes);
        }
    }

    /** An I/O BAR. */
    public static Bar io(int index, long sizeBytes, RegisterAccess access) {
        return new Bar(index, Kind.IO, false, sizeBytes, Optional.of(access), Optional.empty());
    }

    /** A 32-bit memory BAR. */
    public static Bar memory32(int index, long sizeBytes, RegisterAccess access) {
        return new Bar(index, Kind.MEMORY_32, false, sizeBytes, Optional.of(access), Optional.empty());
    }

    /** A 64-bit, prefetchable memory BAR. */
    public static Bar memory64(int index, long sizeBytes, RegisterAccess access) {
        return new Bar(index, Kind.MEMORY_64, true, sizeBytes, Optional.of(access), Optional.empty());
    }
}
