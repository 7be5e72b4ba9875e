package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_coalesced_mmio_zone}: a range whose writes KVM queues. Source: linux/kvm.h, asm/kvm.h. */
final class KvmCoalescedMmioZone {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_LONG.withName("addr"),
                    ValueLayout.JAVA_INT.withName("size"),
                    ValueLayout.JAVA_INT.withName("pio"))
            .withName("kvm_coalesced_mmio_zone");
    static final long SIZE = Layouts.checked(LAYOUT, 16);

    private static final long ADDR = LAYOUT.byteOffset(PathElement.groupElement("addr"));
    private static final long SIZE_FIELD = LAYOUT.byteOffset(PathElement.groupElement("size"));
    private static final long PIO = LAYOUT.byteOffset(PathElement.groupElement("pio"));

    private KvmCoalescedMmioZone() {}

    static void addr(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + ADDR, value);
    }

    static void size(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + SIZE_FIELD, value);
    }

    static void pio(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + PIO, value);
    }
}
