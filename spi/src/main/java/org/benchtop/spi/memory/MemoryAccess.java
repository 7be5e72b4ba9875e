package org.benchtop.spi.memory;

/** What a vCPU may do with a mapping without leaving guest mode. */
public enum MemoryAccess {
    /** Plain RAM. */
    READ_WRITE,
    /** Reads and fetches see memory; writes are dropped (ROM, or RAM shadowed by PAM). */
    READ_ONLY,
    /** The mapping is not visible: what lies beneath shows. */
    NONE,
}
