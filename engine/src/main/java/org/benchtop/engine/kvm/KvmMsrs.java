package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_msrs}: the head of a list of MSRs; {@link KvmMsrEntry} follow. Source: linux/kvm.h, asm/kvm.h. */
final class KvmMsrs {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_INT.withName("nmsrs"), ValueLayout.JAVA_INT.withName("padding"))
            .withName("kvm_msrs");
    static final long SIZE = Layouts.checked(LAYOUT, 8);

    private static final long NMSRS = LAYOUT.byteOffset(PathElement.groupElement("nmsrs"));

    private KvmMsrs() {}

    static void nmsrs(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + NMSRS, value);
    }
}
