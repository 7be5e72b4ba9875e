package org.benchtop.engine.kvm;

import org.benchtop.spi.cpu.Registers;
import org.benchtop.spi.cpu.SpecialRegisters;

/**
 * Everything that a guest can observe of a vCPU. The byte arrays are kernel structures (linux/kvm.h), empty where this
 * KVM has none.
 *
 * @param mpState {@code KVM_MP_STATE_*}
 * @param floatingPoint {@code kvm_xsave}, or {@code kvm_fpu} where KVM has no XSAVE
 * @param xcrs {@code kvm_xcrs}
 * @param debugRegisters {@code kvm_debugregs}
 * @param localApic {@code kvm_lapic_state}
 * @param events {@code kvm_vcpu_events}
 * @param msrIndices the numbers of the MSRs in {@code msrValues}
 */
record VcpuState(
        int mpState,
        Registers registers,
        SpecialRegisters special,
        byte[] floatingPoint,
        byte[] xcrs,
        byte[] debugRegisters,
        byte[] localApic,
        byte[] events,
        int[] msrIndices,
        long[] msrValues) {
    static final int VERSION = 1;
}
