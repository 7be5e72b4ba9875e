package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_msr_entry}: an MSR and its value. Source: linux/kvm.h, asm/kvm.h. */
final class KvmMsrEntry {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_INT.withName("index"),
                    ValueLayout.JAVA_INT.withName("reserved"),
                    ValueLayout.JAVA_LONG.withName("data"))
            .withName("kvm_msr_entry");
    static final long SIZE = Layouts.checked(LAYOUT, 16);

    private static final long INDEX = LAYOUT.byteOffset(PathElement.groupElement("index"));
    private static final long DATA = LAYOUT.byteOffset(PathElement.groupElement("data"));

    private KvmMsrEntry() {}

    static void index(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + INDEX, value);
    }

    static long data(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + DATA);
    }

    static void data(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + DATA, value);
    }
}
