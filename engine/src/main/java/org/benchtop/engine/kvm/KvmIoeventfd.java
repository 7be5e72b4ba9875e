package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code struct kvm_ioeventfd}: an eventfd that guest writes ring. Source: linux/kvm.h, asm/kvm.h. */
final class KvmIoeventfd {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("datamatch"),
            ValueLayout.JAVA_LONG.withName("addr"),
            ValueLayout.JAVA_INT.withName("len"),
            ValueLayout.JAVA_INT.withName("fd"),
            ValueLayout.JAVA_INT.withName("flags"),
            MemoryLayout.sequenceLayout(36, ValueLayout.JAVA_BYTE).withName("padding"))
            .withName("kvm_ioeventfd");
    static final long SIZE = Layouts.checked(LAYOUT, 64);

    private static final VarHandle DATAMATCH = LAYOUT.varHandle(PathElement.groupElement("datamatch"));
    private static final VarHandle ADDR = LAYOUT.varHandle(PathElement.groupElement("addr"));
    private static final VarHandle LEN = LAYOUT.varHandle(PathElement.groupElement("len"));
    private static final VarHandle FD = LAYOUT.varHandle(PathElement.groupElement("fd"));
    private static final VarHandle FLAGS = LAYOUT.varHandle(PathElement.groupElement("flags"));

    private KvmIoeventfd() {}

    static void datamatch(MemorySegment segment, long offset, long value) {
        DATAMATCH.set(segment, offset, value);
    }

    static void addr(MemorySegment segment, long offset, long value) {
        ADDR.set(segment, offset, value);
    }

    static void len(MemorySegment segment, long offset, int value) {
        LEN.set(segment, offset, value);
    }

    static void fd(MemorySegment segment, long offset, int value) {
        FD.set(segment, offset, value);
    }

    static int flags(MemorySegment segment, long offset) {
        return (int) FLAGS.get(segment, offset);
    }

    static void flags(MemorySegment segment, long offset, int value) {
        FLAGS.set(segment, offset, value);
    }
}
