package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_pit_state2}: the state of the in-kernel 8254; saved and restored as a whole. Source: linux/kvm.h, asm/kvm.h. */
final class KvmPitState2 {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    MemoryLayout.sequenceLayout(112, ValueLayout.JAVA_BYTE).withName("content"))
            .withName("kvm_pit_state2");
    static final long SIZE = Layouts.checked(LAYOUT, 112);

    private KvmPitState2() {}
}
