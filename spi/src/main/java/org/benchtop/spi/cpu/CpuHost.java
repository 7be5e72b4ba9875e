package org.benchtop.spi.cpu;

import java.util.HexFormat;

/**
 * What vCPUs call when guest code touches something that is not memory. Called on vCPU threads; never throws.
 *
 * <p>Sizes are 1, 2 or 4 for ports and 1, 2, 4 or 8 for memory; engines split other accesses.
 */
public interface CpuHost {
    /** A port read. */
    long pioRead(int vcpu, int port, int size);

    /** A port write. */
    void pioWrite(int vcpu, int port, int size, long value);

    /** A read of an address without memory behind it. */
    long mmioRead(int vcpu, long gpa, int size);

    /** A write to an address without memory behind it. */
    void mmioWrite(int vcpu, long gpa, int size, long value);

    /** A hypercall that the engine passes on; the result goes to RAX. */
    long hypercall(int vcpu, long number, long a0, long a1, long a2, long a3, long a4);

    /**
     * A VMCALL with all general registers, from engines that have them at hand; others use the method above.
     *
     * @see Hypervisor#hypercall
     */
    default long hypercall(int vcpu, long[] registers, boolean longMode, int privilegeLevel) {
        // The registers of KVM's own calls (RAX; RBX, RCX, RDX, RSI), by their encoding.
        return hypercall(vcpu, registers[0], registers[3], registers[1], registers[2], registers[6], registers[7]);
    }

    /**
     * A CPUID leaf from 0x40000000 to 0x4000ffff; false where the engine's own answer holds.
     *
     * @see Hypervisor#cpuid
     */
    default boolean cpuid(int vcpu, int leaf, int[] registers) {
        return false;
    }

    /** A read of an MSR that the engine does not know; empty injects #GP. */
    java.util.OptionalLong readMsr(int vcpu, int msr);

    /** A write of an MSR that the engine does not know; false injects #GP. */
    boolean writeMsr(int vcpu, int msr, long value);

    /**
     * An instruction as text, for reports.
     *
     * @param code begins with the instruction and may go on behind it
     * @param address of the first byte
     * @param bits 16, 32 or 64
     * @return the instruction in Intel syntax, or the bytes where the host has no disassembler
     */
    default String disassemble(byte[] code, long address, int bits) {
        return HexFormat.ofDelimiter(" ").formatHex(code);
    }
}
