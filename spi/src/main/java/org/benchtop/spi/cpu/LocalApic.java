package org.benchtop.spi.cpu;

/** An emulated local APIC as its vCPU sees it; called on the vCPU's thread. */
public interface LocalApic {
    /** Whether an interrupt waits that the task priority lets through. */
    boolean interruptPending();

    /** Takes the interrupt and returns its vector, or -1 if there is none any more. */
    int acknowledge();

    /** CR8: bits 7:4 of the task priority. */
    int cr8();

    /** Sets CR8. */
    void cr8(int value);

    /** The APIC base MSR. */
    long base();

    /** Sets the APIC base MSR; false injects #GP. */
    boolean base(long value);

    /** Reads an x2APIC MSR (0x800–0x8ff); empty injects #GP. */
    java.util.OptionalLong readMsr(int index);

    /** Writes an x2APIC MSR (0x800–0x8ff) or the TSC deadline (0x6e0); false injects #GP. */
    boolean writeMsr(int index, long value);
}
