package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_xcrs}: the extended control registers; saved and restored as a whole. Source: linux/kvm.h, asm/kvm.h. */
final class KvmXcrs {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    MemoryLayout.sequenceLayout(392, ValueLayout.JAVA_BYTE).withName("content"))
            .withName("kvm_xcrs");
    static final long SIZE = Layouts.checked(LAYOUT, 392);

    private KvmXcrs() {}
}
