package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_msi}: an interrupt message. Source: linux/kvm.h, asm/kvm.h. */
final class KvmMsi {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_INT.withName("address_lo"),
                    ValueLayout.JAVA_INT.withName("address_hi"),
                    ValueLayout.JAVA_INT.withName("data"),
                    ValueLayout.JAVA_INT.withName("flags"),
                    ValueLayout.JAVA_INT.withName("devid"),
                    MemoryLayout.sequenceLayout(12, ValueLayout.JAVA_BYTE).withName("padding"))
            .withName("kvm_msi");
    static final long SIZE = Layouts.checked(LAYOUT, 32);

    private static final long ADDRESS_LO = LAYOUT.byteOffset(PathElement.groupElement("address_lo"));
    private static final long ADDRESS_HI = LAYOUT.byteOffset(PathElement.groupElement("address_hi"));
    private static final long DATA = LAYOUT.byteOffset(PathElement.groupElement("data"));

    private KvmMsi() {}

    static void addressLo(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + ADDRESS_LO, value);
    }

    static void addressHi(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + ADDRESS_HI, value);
    }

    static void data(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + DATA, value);
    }
}
