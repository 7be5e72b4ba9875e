package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

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

    private static final long LINEAR_ADDRESS = LAYOUT.byteOffset(PathElement.groupElement("linear_address"));
    private static final long PHYSICAL_ADDRESS = LAYOUT.byteOffset(PathElement.groupElement("physical_address"));
    private static final long VALID = LAYOUT.byteOffset(PathElement.groupElement("valid"));

    private KvmTranslation() {}

    static void linearAddress(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + LINEAR_ADDRESS, value);
    }

    static long physicalAddress(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + PHYSICAL_ADDRESS);
    }

    static int valid(MemorySegment segment, long offset) {
        return Byte.toUnsignedInt(segment.get(ValueLayout.JAVA_BYTE, offset + VALID));
    }
}
