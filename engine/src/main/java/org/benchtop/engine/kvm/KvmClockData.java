package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code struct kvm_clock_data}: the guest clock. Source: linux/kvm.h, asm/kvm.h. */
final class KvmClockData {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("clock"),
            ValueLayout.JAVA_INT.withName("flags"),
            ValueLayout.JAVA_INT.withName("pad0"),
            ValueLayout.JAVA_LONG.withName("realtime"),
            ValueLayout.JAVA_LONG.withName("host_tsc"),
            MemoryLayout.sequenceLayout(4, ValueLayout.JAVA_INT).withName("padding"))
            .withName("kvm_clock_data");
    static final long SIZE = Layouts.checked(LAYOUT, 48);

    private static final VarHandle CLOCK = LAYOUT.varHandle(PathElement.groupElement("clock"));
    private static final VarHandle FLAGS = LAYOUT.varHandle(PathElement.groupElement("flags"));

    private KvmClockData() {}

    static long clock(MemorySegment segment, long offset) {
        return (long) CLOCK.get(segment, offset);
    }

    static void clock(MemorySegment segment, long offset, long value) {
        CLOCK.set(segment, offset, value);
    }

    static void flags(MemorySegment segment, long offset, int value) {
        FLAGS.set(segment, offset, value);
    }
}
