package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_enable_cap}: turns on an optional capability. Source: linux/kvm.h, asm/kvm.h. */
final class KvmEnableCap {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_INT.withName("cap"),
                    ValueLayout.JAVA_INT.withName("flags"),
                    MemoryLayout.sequenceLayout(4, ValueLayout.JAVA_LONG).withName("args"),
                    MemoryLayout.sequenceLayout(64, ValueLayout.JAVA_BYTE).withName("padding"))
            .withName("kvm_enable_cap");
    static final long SIZE = Layouts.checked(LAYOUT, 104);

    private static final long CAP = LAYOUT.byteOffset(PathElement.groupElement("cap"));
    private static final long ARGS = LAYOUT.byteOffset(PathElement.groupElement("args"));

    private KvmEnableCap() {}

    static void cap(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + CAP, value);
    }

    static void args(MemorySegment segment, long offset, long index, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + ARGS + index * ValueLayout.JAVA_LONG.byteSize(), value);
    }
}
