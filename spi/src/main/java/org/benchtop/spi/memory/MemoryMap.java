package org.benchtop.spi.memory;

import java.lang.foreign.MemorySegment;

/**
 * Puts blocks of host memory into the guest physical address space, besides RAM: ROMs, RAM-backed BARs, overlays.
 *
 * <p>A later mapping covers earlier ones and RAM where they overlap. Control plane: any thread; slow.
 */
public interface MemoryMap {
    /** Allocates page-aligned, zeroed memory that lives as long as the machine. */
    MemorySegment allocate(String name, long sizeBytes);

    /**
     * Maps a block.
     *
     * @param gpa page-aligned
     * @param memory page-aligned address and size: from {@link #allocate}, or a slice of {@link GuestMemory}
     */
    Mapping map(String name, long gpa, MemorySegment memory, MemoryAccess access);

    /** A mapping that can change and go away. */
    interface Mapping extends AutoCloseable {
        /** Changes what vCPUs may do. */
        void access(MemoryAccess access);

        /** Moves the mapping. */
        void move(long gpa);

        /** Removes the mapping. */
        @Override
        void close();
    }
}
