package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_guest_debug}: single-stepping and hardware breakpoints. Source: linux/kvm.h, asm/kvm.h. */
final class KvmGuestDebug {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_INT.withName("control"),
                    ValueLayout.JAVA_INT.withName("padding"),
                    MemoryLayout.sequenceLayout(8, ValueLayout.JAVA_LONG).withName("debugreg"))
            .withName("kvm_guest_debug");
    static final long SIZE = Layouts.checked(LAYOUT, 72);

    private static final long CONTROL = LAYOUT.byteOffset(PathElement.groupElement("control"));
    private static final long DEBUGREG = LAYOUT.byteOffset(PathElement.groupElement("debugreg"));

    private KvmGuestDebug() {}

    static void control(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + CONTROL, value);
    }

    static void debugreg(MemorySegment segment, long offset, long index, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + DEBUGREG + index * ValueLayout.JAVA_LONG.byteSize(), value);
    }
}
