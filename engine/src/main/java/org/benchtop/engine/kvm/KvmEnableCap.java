package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code struct kvm_enable_cap}: turns on an optional capability. Source: linux/kvm.h, asm/kvm.h. */
final class KvmEnableCap {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_INT.withName("cap"),
            ValueLayout.JAVA_INT.withName("flags"),
            MemoryLayout.sequenceLayout(4, ValueLayout.JAVA_LONG).withName("args"),
            MemoryLayout.sequenceLayout(64, ValueLayout.JAVA_BYTE).withName("padding"))
            .withName("kvm_enable_cap");
    static final long SIZE = Layouts.checked(LAYOUT, 104);

    private static final VarHandle CAP = LAYOUT.varHandle(PathElement.groupElement("cap"));
    private static final VarHandle ARGS = LAYOUT.varHandle(PathElement.groupElement("args"), PathElement.sequenceElement());

    private KvmEnableCap() {}

    static void cap(MemorySegment segment, long offset, int value) {
        CAP.set(segment, offset, value);
    }

    static void args(MemorySegment segment, long offset, long index, long value) {
        ARGS.set(segment, offset, index, value);
    }
}
