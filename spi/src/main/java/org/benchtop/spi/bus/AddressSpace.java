package org.benchtop.spi.bus;

/** The two address spaces of an x86 machine. */
public enum AddressSpace {
    /** I/O ports, 0 to 0xffff. */
    PIO,
    /** Guest physical addresses. */
    MMIO,
}
