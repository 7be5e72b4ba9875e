package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_reinject_control}: whether the 8254 makes up for missed ticks. Source: linux/kvm.h, asm/kvm.h. */
final class KvmReinjectControl {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_BYTE.withName("pit_reinject"),
                    MemoryLayout.sequenceLayout(31, ValueLayout.JAVA_BYTE).withName("reserved"))
            .withName("kvm_reinject_control");
    static final long SIZE = Layouts.checked(LAYOUT, 32);

    private static final long PIT_REINJECT = LAYOUT.byteOffset(PathElement.groupElement("pit_reinject"));

    private KvmReinjectControl() {}

    static void pitReinject(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_BYTE, offset + PIT_REINJECT, (byte) value);
    }
}
