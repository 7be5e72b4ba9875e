package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_debugregs}: the debug registers; saved and restored as a whole. Source: linux/kvm.h, asm/kvm.h. */
final class KvmDebugregs {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    MemoryLayout.sequenceLayout(128, ValueLayout.JAVA_BYTE).withName("content"))
            .withName("kvm_debugregs");
    static final long SIZE = Layouts.checked(LAYOUT, 128);

    private KvmDebugregs() {}
}
