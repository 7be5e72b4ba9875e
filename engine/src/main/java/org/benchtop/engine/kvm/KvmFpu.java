package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_fpu}: the x87 and SSE state, for a KVM without XSAVE; saved and restored as a whole. Source: linux/kvm.h, asm/kvm.h. */
final class KvmFpu {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    MemoryLayout.sequenceLayout(416, ValueLayout.JAVA_BYTE).withName("content"))
            .withName("kvm_fpu");
    static final long SIZE = Layouts.checked(LAYOUT, 416);

    private KvmFpu() {}
}
