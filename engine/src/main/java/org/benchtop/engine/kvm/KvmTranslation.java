package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code struct kvm_translation}: a walk of the guest page tables. Source: linux/kvm.h, asm/kvm.h. */
final class KvmTranslation {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("linear_address"),
            ValueLayout.JAVA_LONG.withName("physical_address"),
            ValueLayout.JAVA_BYTE.withName("valid"),
            ValueLayout.JAVA_BYTE.withName("writeable"),
            ValueLayout.JAVA_BYTE.withName("usermode"),
            MemoryLayout.sequenceLayout(5, ValueLayout.JAVA_BYTE).withName("padding"))
            .withName("kvm_translation");
    static final long SIZE = Layouts.checked(LAYOUT, 24);

    private static final VarHandle LINEAR_ADDRESS = LAYOUT.varHandle(PathElement.groupElement("linear_address"));
    private static final VarHandle PHYSICAL_ADDRESS = LAYOUT.varHandle(PathElement.groupElement("physical_address"));
    private static final VarHandle VALID = LAYOUT.varHandle(PathElement.groupElement("valid"));

    private KvmTranslation() {}

    static void linearAddress(MemorySegment segment, long offset, long value) {
        LINEAR_ADDRESS.set(segment, offset, value);
    }

    static long physicalAddress(MemorySegment segment, long offset) {
        return (long) PHYSICAL_ADDRESS.get(segment, offset);
    }

    static int valid(MemorySegment segment, long offset) {
        return Byte.toUnsignedInt((byte) VALID.get(segment, offset));
    }
}
