package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code struct kvm_coalesced_mmio}: one queued write. Source: linux/kvm.h, asm/kvm.h. */
final class KvmCoalescedMmio {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("phys_addr"),
            ValueLayout.JAVA_INT.withName("len"),
            ValueLayout.JAVA_INT.withName("pio"),
            ValueLayout.JAVA_LONG.withName("data"))
            .withName("kvm_coalesced_mmio");
    static final long SIZE = Layouts.checked(LAYOUT, 24);

    private static final VarHandle PHYS_ADDR = LAYOUT.varHandle(PathElement.groupElement("phys_addr"));
    private static final VarHandle LEN = LAYOUT.varHandle(PathElement.groupElement("len"));
    private static final VarHandle PIO = LAYOUT.varHandle(PathElement.groupElement("pio"));
    private static final VarHandle DATA = LAYOUT.varHandle(PathElement.groupElement("data"));

    private KvmCoalescedMmio() {}

    static long physAddr(MemorySegment segment, long offset) {
        return (long) PHYS_ADDR.get(segment, offset);
    }

    static int len(MemorySegment segment, long offset) {
        return (int) LEN.get(segment, offset);
    }

    static int pio(MemorySegment segment, long offset) {
        return (int) PIO.get(segment, offset);
    }

    static long data(MemorySegment segment, long offset) {
        return (long) DATA.get(segment, offset);
    }
}
