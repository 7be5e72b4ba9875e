package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code struct kvm_irq_level}: the level of an interrupt line. Source: linux/kvm.h, asm/kvm.h. */
final class KvmIrqLevel {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_INT.withName("irq"),
            ValueLayout.JAVA_INT.withName("level"))
            .withName("kvm_irq_level");
    static final long SIZE = Layouts.checked(LAYOUT, 8);

    private static final VarHandle IRQ = LAYOUT.varHandle(PathElement.groupElement("irq"));
    private static final VarHandle LEVEL = LAYOUT.varHandle(PathElement.groupElement("level"));

    private KvmIrqLevel() {}

    static void irq(MemorySegment segment, long offset, int value) {
        IRQ.set(segment, offset, value);
    }

    static void level(MemorySegment segment, long offset, int value) {
        LEVEL.set(segment, offset, value);
    }
}
