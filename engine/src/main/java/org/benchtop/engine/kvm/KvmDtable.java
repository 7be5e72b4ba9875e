package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_dtable}: GDTR or IDTR. Source: linux/kvm.h, asm/kvm.h. */
final class KvmDtable {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_LONG.withName("base"),
                    ValueLayout.JAVA_SHORT.withName("limit"),
                    MemoryLayout.sequenceLayout(3, ValueLayout.JAVA_SHORT).withName("padding"))
            .withName("kvm_dtable");
    static final long SIZE = Layouts.checked(LAYOUT, 16);

    private static final long BASE = LAYOUT.byteOffset(PathElement.groupElement("base"));
    private static final long LIMIT = LAYOUT.byteOffset(PathElement.groupElement("limit"));

    private KvmDtable() {}

    static long base(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + BASE);
    }

    static void base(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + BASE, value);
    }

    static int limit(MemorySegment segment, long offset) {
        return Short.toUnsignedInt(segment.get(ValueLayout.JAVA_SHORT, offset + LIMIT));
    }

    static void limit(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_SHORT, offset + LIMIT, (short) value);
    }
}
