package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_irq_level}: the level of an interrupt line. Source: linux/kvm.h, asm/kvm.h. */
final class KvmIrqLevel {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_INT.withName("irq"), ValueLayout.JAVA_INT.withName("level"))
            .withName("kvm_irq_level");
    static final long SIZE = Layouts.checked(LAYOUT, 8);

    private static final long IRQ = LAYOUT.byteOffset(PathElement.groupElement("irq"));
    private static final long LEVEL = LAYOUT.byteOffset(PathElement.groupElement("level"));

    private KvmIrqLevel() {}

    static void irq(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + IRQ, value);
    }

    static void level(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + LEVEL, value);
    }
}
