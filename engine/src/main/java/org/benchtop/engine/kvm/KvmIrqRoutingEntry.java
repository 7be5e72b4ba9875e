package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_irq_routing_entry}, with the union as its irqchip (chip, pin) and MSI (address, data) members. Source: linux/kvm.h, asm/kvm.h. */
final class KvmIrqRoutingEntry {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_INT.withName("gsi"),
                    ValueLayout.JAVA_INT.withName("type"),
                    ValueLayout.JAVA_INT.withName("flags"),
                    ValueLayout.JAVA_INT.withName("padding"),
                    ValueLayout.JAVA_INT.withName("u0"),
                    ValueLayout.JAVA_INT.withName("u1"),
                    ValueLayout.JAVA_INT.withName("u2"),
                    MemoryLayout.sequenceLayout(5, ValueLayout.JAVA_INT).withName("u"))
            .withName("kvm_irq_routing_entry");
    static final long SIZE = Layouts.checked(LAYOUT, 48);

    private static final long GSI = LAYOUT.byteOffset(PathElement.groupElement("gsi"));
    private static final long TYPE = LAYOUT.byteOffset(PathElement.groupElement("type"));
    private static final long U0 = LAYOUT.byteOffset(PathElement.groupElement("u0"));
    private static final long U1 = LAYOUT.byteOffset(PathElement.groupElement("u1"));
    private static final long U2 = LAYOUT.byteOffset(PathElement.groupElement("u2"));

    private KvmIrqRoutingEntry() {}

    static void gsi(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + GSI, value);
    }

    static void type(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + TYPE, value);
    }

    static void u0(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + U0, value);
    }

    static void u1(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + U1, value);
    }

    static void u2(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + U2, value);
    }
}
