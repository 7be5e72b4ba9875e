package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code struct kvm_coalesced_mmio_zone}: a range whose writes KVM queues. Source: linux/kvm.h, asm/kvm.h. */
final class KvmCoalescedMmioZone {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("addr"),
            ValueLayout.JAVA_INT.withName("size"),
            ValueLayout.JAVA_INT.withName("pio"))
            .withName("kvm_coalesced_mmio_zone");
    static final long SIZE = Layouts.checked(LAYOUT, 16);

    private static final VarHandle ADDR = LAYOUT.varHandle(PathElement.groupElement("addr"));
    private static final VarHandle SIZE_FIELD = LAYOUT.varHandle(PathElement.groupElement("size"));
    private static final VarHandle PIO = LAYOUT.varHandle(PathElement.groupElement("pio"));

    private KvmCoalescedMmioZone() {}

    static void addr(MemorySegment segment, long offset, long value) {
        ADDR.set(segment, offset, value);
    }

    static void size(MemorySegment segment, long offset, int value) {
        SIZE_FIELD.set(segment, offset, value);
    }

    static void pio(MemorySegment segment, long offset, int value) {
        PIO.set(segment, offset, value);
    }
}
