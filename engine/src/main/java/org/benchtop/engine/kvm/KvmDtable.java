package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code struct kvm_dtable}: GDTR or IDTR. Source: linux/kvm.h, asm/kvm.h. */
final class KvmDtable {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("base"),
            ValueLayout.JAVA_SHORT.withName("limit"),
            MemoryLayout.sequenceLayout(3, ValueLayout.JAVA_SHORT).withName("padding"))
            .withName("kvm_dtable");
    static final long SIZE = Layouts.checked(LAYOUT, 16);

    private static final VarHandle BASE = LAYOUT.varHandle(PathElement.groupElement("base"));
    private static final VarHandle LIMIT = LAYOUT.varHandle(PathElement.groupElement("limit"));

    private KvmDtable() {}

    static long base(MemorySegment segment, long offset) {
        return (long) BASE.get(segment, offset);
    }

    static void base(MemorySegment segment, long offset, long value) {
        BASE.set(segment, offset, value);
    }

    static int limit(MemorySegment segment, long offset) {
        return Short.toUnsignedInt((short) LIMIT.get(segment, offset));
    }

    static void limit(MemorySegment segment, long offset, int value) {
        LIMIT.set(segment, offset, (short) value);
    }
}
