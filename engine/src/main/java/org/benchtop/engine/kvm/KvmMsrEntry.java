package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code struct kvm_msr_entry}: an MSR and its value. Source: linux/kvm.h, asm/kvm.h. */
final class KvmMsrEntry {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_INT.withName("index"),
            ValueLayout.JAVA_INT.withName("reserved"),
            ValueLayout.JAVA_LONG.withName("data"))
            .withName("kvm_msr_entry");
    static final long SIZE = Layouts.checked(LAYOUT, 16);

    private static final VarHandle INDEX = LAYOUT.varHandle(PathElement.groupElement("index"));
    private static final VarHandle DATA = LAYOUT.varHandle(PathElement.groupElement("data"));

    private KvmMsrEntry() {}

    static void index(MemorySegment segment, long offset, int value) {
        INDEX.set(segment, offset, value);
    }

    static long data(MemorySegment segment, long offset) {
        return (long) DATA.get(segment, offset);
    }

    static void data(MemorySegment segment, long offset, long value) {
        DATA.set(segment, offset, value);
    }
}
