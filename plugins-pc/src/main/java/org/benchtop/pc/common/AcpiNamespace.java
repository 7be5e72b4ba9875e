package org.benchtop.pc.common;

/** Where the board's other devices announce what the guest cannot probe; offered by {@code acpi-tables}. */
public interface AcpiNamespace {
    /** Describes a device; takes effect at the next reset. */
    void add(IsaDescription description);

    /** Takes a description away. */
    void remove(IsaDescription description);
}
