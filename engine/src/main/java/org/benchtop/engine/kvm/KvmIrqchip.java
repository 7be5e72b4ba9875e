package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_irqchip}: the state of one in-kernel interrupt controller. Source: linux/kvm.h, asm/kvm.h. */
final class KvmIrqchip {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_INT.withName("chip_id"),
                    ValueLayout.JAVA_INT.withName("padding"),
                    MemoryLayout.sequenceLayout(512, ValueLayout.JAVA_BYTE).withName("content"))
            .withName("kvm_irqchip");
    static final long SIZE = Layouts.checked(LAYOUT, 520);

    private static final long CHIP_ID = LAYOUT.byteOffset(PathElement.groupElement("chip_id"));

    private KvmIrqchip() {}

    static void chipId(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + CHIP_ID, value);
    }
}
