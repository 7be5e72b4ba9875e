package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

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

    private static final long DATAMATCH = LAYOUT.byteOffset(PathElement.groupElement("datamatch"));
    private static final long ADDR = LAYOUT.byteOffset(PathElement.groupElement("addr"));
    private static final long LEN = LAYOUT.byteOffset(PathElement.groupElement("len"));
    private static final long FD = LAYOUT.byteOffset(PathElement.groupElement("fd"));
    private static final long FLAGS = LAYOUT.byteOffset(PathElement.groupElement("flags"));

    private KvmIoeventfd() {}

    static void datamatch(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + DATAMATCH, value);
    }

    static void addr(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + ADDR, value);
    }

    static void len(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + LEN, value);
    }

    static void fd(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + FD, value);
    }

    static int flags(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_INT, offset + FLAGS);
    }

    static void flags(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + FLAGS, value);
    }
}
