package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_msr_list}: the head of a list of 32-bit MSR numbers. Source: linux/kvm.h, asm/kvm.h. */
final class KvmMsrList {
    static final StructLayout LAYOUT =
            MemoryLayout.structLayout(ValueLayout.JAVA_INT.withName("nmsrs")).withName("kvm_msr_list");
    static final long SIZE = Layouts.checked(LAYOUT, 4);

    private static final long NMSRS = LAYOUT.byteOffset(PathElement.groupElement("nmsrs"));

    private KvmMsrList() {}

    static int nmsrs(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_INT, offset + NMSRS);
    }

    static void nmsrs(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + NMSRS, value);
    }
}
