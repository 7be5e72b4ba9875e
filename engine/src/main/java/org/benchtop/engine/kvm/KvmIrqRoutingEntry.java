package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

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

    private static final VarHandle GSI = LAYOUT.varHandle(PathElement.groupElement("gsi"));
    private static final VarHandle TYPE = LAYOUT.varHandle(PathElement.groupElement("type"));
    private static final VarHandle U0 = LAYOUT.varHandle(PathElement.groupElement("u0"));
    private static final VarHandle U1 = LAYOUT.varHandle(PathElement.groupElement("u1"));
    private static final VarHandle U2 = LAYOUT.varHandle(PathElement.groupElement("u2"));

    private KvmIrqRoutingEntry() {}

    static void gsi(MemorySegment segment, long offset, int value) {
        GSI.set(segment, offset, value);
    }

    static void type(MemorySegment segment, long offset, int value) {
        TYPE.set(segment, offset, value);
    }

    static void u0(MemorySegment segment, long offset, int value) {
        U0.set(segment, offset, value);
    }

    static void u1(MemorySegment segment, long offset, int value) {
        U1.set(segment, offset, value);
    }

    static void u2(MemorySegment segment, long offset, int value) {
        U2.set(segment, offset, value);
    }
}
