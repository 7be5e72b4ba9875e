package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_coalesced_mmio}: one queued write. Source: linux/kvm.h, asm/kvm.h. */
final class KvmCoalescedMmio {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_LONG.withName("phys_addr"),
                    ValueLayout.JAVA_INT.withName("len"),
                    ValueLayout.JAVA_INT.withName("pio"),
                    ValueLayout.JAVA_LONG.withName("data"))
            .withName("kvm_coalesced_mmio");
    static final long SIZE = Layouts.checked(LAYOUT, 24);

    private static final long PHYS_ADDR = LAYOUT.byteOffset(PathElement.groupElement("phys_addr"));
    private static final long LEN = LAYOUT.byteOffset(PathElement.groupElement("len"));
    private static final long PIO = LAYOUT.byteOffset(PathElement.groupElement("pio"));
    private static final long DATA = LAYOUT.byteOffset(PathElement.groupElement("data"));

    private KvmCoalescedMmio() {}

    static long physAddr(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + PHYS_ADDR);
    }

    static int len(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_INT, offset + LEN);
    }

    static int pio(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_INT, offset + PIO);
    }

    static long data(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + DATA);
    }
}
