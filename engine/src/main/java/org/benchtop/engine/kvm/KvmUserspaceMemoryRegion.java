package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code struct kvm_userspace_memory_region}: a memory slot. Source: linux/kvm.h, asm/kvm.h. */
final class KvmUserspaceMemoryRegion {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_INT.withName("slot"),
            ValueLayout.JAVA_INT.withName("flags"),
            ValueLayout.JAVA_LONG.withName("guest_phys_addr"),
            ValueLayout.JAVA_LONG.withName("memory_size"),
            ValueLayout.JAVA_LONG.withName("userspace_addr"))
            .withName("kvm_userspace_memory_region");
    static final long SIZE = Layouts.checked(LAYOUT, 32);

    private static final VarHandle SLOT = LAYOUT.varHandle(PathElement.groupElement("slot"));
    private static final VarHandle FLAGS = LAYOUT.varHandle(PathElement.groupElement("flags"));
    private static final VarHandle GUEST_PHYS_ADDR = LAYOUT.varHandle(PathElement.groupElement("guest_phys_addr"));
    private static final VarHandle MEMORY_SIZE = LAYOUT.varHandle(PathElement.groupElement("memory_size"));
    private static final VarHandle USERSPACE_ADDR = LAYOUT.varHandle(PathElement.groupElement("userspace_addr"));

    private KvmUserspaceMemoryRegion() {}

    static void slot(MemorySegment segment, long offset, int value) {
        SLOT.set(segment, offset, value);
    }

    static void flags(MemorySegment segment, long offset, int value) {
        FLAGS.set(segment, offset, value);
    }

    static void guestPhysAddr(MemorySegment segment, long offset, long value) {
        GUEST_PHYS_ADDR.set(segment, offset, value);
    }

    static void memorySize(MemorySegment segment, long offset, long value) {
        MEMORY_SIZE.set(segment, offset, value);
    }

    static void userspaceAddr(MemorySegment segment, long offset, long value) {
        USERSPACE_ADDR.set(segment, offset, value);
    }
}
