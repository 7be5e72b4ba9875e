package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_lapic_state}: the registers of the local APIC; saved and restored as a whole. Source: linux/kvm.h, asm/kvm.h. */
final class KvmLapicState {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    MemoryLayout.sequenceLayout(1024, ValueLayout.JAVA_BYTE).withName("content"))
            .withName("kvm_lapic_state");
    static final long SIZE = Layouts.checked(LAYOUT, 1024);

    private KvmLapicState() {}
}
