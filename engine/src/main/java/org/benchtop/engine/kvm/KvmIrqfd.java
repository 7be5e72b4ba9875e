package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

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

    private static final VarHandle FD = LAYOUT.varHandle(PathElement.groupElement("fd"));
    private static final VarHandle GSI = LAYOUT.varHandle(PathElement.groupElement("gsi"));
    private static final VarHandle FLAGS = LAYOUT.varHandle(PathElement.groupElement("flags"));

    private KvmIrqfd() {}

    static void fd(MemorySegment segment, long offset, int value) {
        FD.set(segment, offset, value);
    }

    static void gsi(MemorySegment segment, long offset, int value) {
        GSI.set(segment, offset, value);
    }

    static void flags(MemorySegment segment, long offset, int value) {
        FLAGS.set(segment, offset, value);
    }
}
