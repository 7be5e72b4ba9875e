package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

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

    private static final VarHandle ADDRESS_LO = LAYOUT.varHandle(PathElement.groupElement("address_lo"));
    private static final VarHandle ADDRESS_HI = LAYOUT.varHandle(PathElement.groupElement("address_hi"));
    private static final VarHandle DATA = LAYOUT.varHandle(PathElement.groupElement("data"));

    private KvmMsi() {}

    static void addressLo(MemorySegment segment, long offset, int value) {
        ADDRESS_LO.set(segment, offset, value);
    }

    static void addressHi(MemorySegment segment, long offset, int value) {
        ADDRESS_HI.set(segment, offset, value);
    }

    static void data(MemorySegment segment, long offset, int value) {
        DATA.set(segment, offset, value);
    }
}
