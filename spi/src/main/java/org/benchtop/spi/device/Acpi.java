package org.benchtop.spi.device;

/** The ACPI tables of a machine that boots without firmware. */
public interface Acpi {
    /** Where the RSDP is, valid after reset. */
    long rsdpGpa();
}
