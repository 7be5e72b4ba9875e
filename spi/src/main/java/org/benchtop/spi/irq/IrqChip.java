package org.benchtop.spi.irq;

/** The machine's interrupt controllers as devices see them. Thread-safe. */
public interface IrqChip {
    /**
     * The line of a global system interrupt: 0–15 are the ISA interrupts, 16–23 further IOAPIC pins.
     *
     * <p>Each call gives a separate source; a line shared by several sources is asserted while any source asserts it.
     */
    IrqLine line(int gsi);

    /** A new MSI route. */
    Msi newMsi();

    /** Whether the guest can be reached by {@link #newMsi}. */
    boolean supportsMsi();
}
