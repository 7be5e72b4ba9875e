package org.benchtop.spi.pci;

/**
 * Sees guest accesses to a function's configuration space, one naturally aligned access of 1, 2 or 4 bytes at a time.
 * Called on vCPU threads, serialised per bus.
 */
public interface PciConfigHook {
    /** Before the engine answers a read: may refresh bytes with {@link PciFunction#config(int, int, long)}. */
    default void beforeRead(int offset, int size) {}

    /** After the engine has stored a write (masked by what is writable). */
    default void afterWrite(int offset, int size, long value) {}
}
