package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_mp_state}: whether a vCPU runs, waits or sleeps. Source: linux/kvm.h, asm/kvm.h. */
final class KvmMpState {
    static final StructLayout LAYOUT =
            MemoryLayout.structLayout(ValueLayout.JAVA_INT.withName("mp_state")).withName("kvm_mp_state");
    static final long SIZE = Layouts.checked(LAYOUT, 4);

    private static final long MP_STATE = LAYOUT.byteOffset(PathElement.groupElement("mp_state"));

    private KvmMpState() {}

    static int mpState(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_INT, offset + MP_STATE);
    }

    static void mpState(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + MP_STATE, value);
    }
}
