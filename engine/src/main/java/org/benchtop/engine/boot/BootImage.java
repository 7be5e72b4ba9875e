package org.benchtop.engine.boot;

import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.memory.MemoryMap;

/** What a machine starts with, read and checked once. Immutable; any thread. */
public sealed interface BootImage permits NoImage, KernelImage, BzImage, FlatImage, FirmwareImage, GuestProgramImage {
    /** One line for people: the format, the file and how it is entered. */
    String description();

    /** Whether this is firmware, which enumerates PCI and builds tables itself. */
    default boolean firmware() {
        return false;
    }

    /** Maps ROMs; called once per machine, before the first {@link #apply}. */
    default void map(MemoryMap memoryMap) {}

    /**
     * Writes everything that the guest expects into RAM; called at every reset, while no vCPU runs.
     *
     * @return the state of vCPU 0
     * @throws org.benchtop.spi.BenchtopException of kind IMAGE if it does not fit
     */
    BootState apply(GuestMemory memory, BootFacts facts);
}
