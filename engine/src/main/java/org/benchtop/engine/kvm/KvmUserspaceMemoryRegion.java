package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

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

    private static final long SLOT = LAYOUT.byteOffset(PathElement.groupElement("slot"));
    private static final long FLAGS = LAYOUT.byteOffset(PathElement.groupElement("flags"));
    private static final long GUEST_PHYS_ADDR = LAYOUT.byteOffset(PathElement.groupElement("guest_phys_addr"));
    private static final long MEMORY_SIZE = LAYOUT.byteOffset(PathElement.groupElement("memory_size"));
    private static final long USERSPACE_ADDR = LAYOUT.byteOffset(PathElement.groupElement("userspace_addr"));

    private KvmUserspaceMemoryRegion() {}

    static void slot(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + SLOT, value);
    }

    static void flags(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + FLAGS, value);
    }

    static void guestPhysAddr(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + GUEST_PHYS_ADDR, value);
    }

    static void memorySize(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + MEMORY_SIZE, value);
    }

    static void userspaceAddr(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + USERSPACE_ADDR, value);
    }
}
