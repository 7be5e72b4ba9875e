package org.benchtop.spi.cpu;

import java.util.OptionalLong;

/**
 * The paravirtual interface of a machine: what a guest finds in the CPUID leaves of hypervisors, and reaches by VMCALL and
 * MSRs. One device of a machine may offer it.
 *
 * <p>Called on vCPU threads, by several at once; a guest's mistake becomes a result, never an exception.
 */
public interface Hypervisor {
    /** How many registers {@link #hypercall} sees. */
    int REGISTERS = 16;

    /**
     * A CPUID leaf from 0x40000000 to 0x4000ffff.
     *
     * @param registers EAX, EBX, ECX and EDX of the answer
     * @return false if the leaf is not one of this interface
     */
    boolean cpuid(int vcpu, int leaf, int[] registers);

    /**
     * A VMCALL or VMMCALL; the result goes to RAX.
     *
     * @param registers the general registers in the order of their encoding (RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8 to
     *     R15); to be read only
     * @param longMode whether the caller runs 64-bit code
     * @param privilegeLevel the caller's ring
     */
    long hypercall(int vcpu, long[] registers, boolean longMode, int privilegeLevel);

    /** A read of an MSR that the engine does not know; empty injects #GP. */
    OptionalLong readMsr(int vcpu, int msr);

    /** A write of an MSR that the engine does not know; false injects #GP. */
    boolean writeMsr(int vcpu, int msr, long value);
}
