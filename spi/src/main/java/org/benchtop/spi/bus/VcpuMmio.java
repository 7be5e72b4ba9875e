package org.benchtop.spi.bus;

/**
 * Registers that every vCPU has for itself and sees at an address that may differ from vCPU to vCPU: those of emulated
 * local APICs.
 *
 * <p>The engine asks before it looks at the ranges of the bus. All methods are called on the vCPU's own thread, are hot
 * and allocate nothing; a guest's mistake must not throw.
 */
public interface VcpuMmio {
    /** Whether an access of this vCPU at a guest physical address belongs here. */
    boolean decodes(int vcpu, long gpa);

    /** Reads {@code size} bytes (1, 2, 4 or 8), zero-extended. */
    long read(int vcpu, long gpa, int size);

    /** Writes the low {@code size} bytes of {@code value}. */
    void write(int vcpu, long gpa, int size, long value);
}
