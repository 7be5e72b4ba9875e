package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_irqfd}: an eventfd that raises an interrupt. Source: linux/kvm.h, asm/kvm.h. */
final class KvmIrqfd {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_INT.withName("fd"),
                    ValueLayout.JAVA_INT.withName("gsi"),
                    ValueLayout.JAVA_INT.withName("flags"),
                    ValueLayout.JAVA_INT.withName("resamplefd"),
                    MemoryLayout.sequenceLayout(16, ValueLayout.JAVA_BYTE).withName("padding"))
            .withName("kvm_irqfd");
    static final long SIZE = Layouts.checked(LAYOUT, 32);

    private static final long FD = LAYOUT.byteOffset(PathElement.groupElement("fd"));
    private static final long GSI = LAYOUT.byteOffset(PathElement.groupElement("gsi"));
    private static final long FLAGS = LAYOUT.byteOffset(PathElement.groupElement("flags"));

    private KvmIrqfd() {}

    static void fd(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + FD, value);
    }

    static void gsi(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + GSI, value);
    }

    static void flags(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + FLAGS, value);
    }
}
