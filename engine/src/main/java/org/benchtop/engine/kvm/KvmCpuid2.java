package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_cpuid2}: the head of a CPUID table; {@link KvmCpuidEntry2} follow. Source: linux/kvm.h, asm/kvm.h. */
final class KvmCpuid2 {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_INT.withName("nent"), ValueLayout.JAVA_INT.withName("padding"))
            .withName("kvm_cpuid2");
    static final long SIZE = Layouts.checked(LAYOUT, 8);

    private static final long NENT = LAYOUT.byteOffset(PathElement.groupElement("nent"));

    private KvmCpuid2() {}

    static int nent(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_INT, offset + NENT);
    }

    static void nent(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + NENT, value);
    }
}
