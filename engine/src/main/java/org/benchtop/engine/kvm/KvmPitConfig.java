package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_pit_config}: how the in-kernel 8254 is made. Source: linux/kvm.h, asm/kvm.h. */
final class KvmPitConfig {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_INT.withName("flags"),
                    MemoryLayout.sequenceLayout(15, ValueLayout.JAVA_INT).withName("padding"))
            .withName("kvm_pit_config");
    static final long SIZE = Layouts.checked(LAYOUT, 64);

    private static final long FLAGS = LAYOUT.byteOffset(PathElement.groupElement("flags"));

    private KvmPitConfig() {}

    static void flags(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + FLAGS, value);
    }
}
