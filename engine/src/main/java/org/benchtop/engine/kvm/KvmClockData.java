package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

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

    private static final long CLOCK = LAYOUT.byteOffset(PathElement.groupElement("clock"));
    private static final long FLAGS = LAYOUT.byteOffset(PathElement.groupElement("flags"));

    private KvmClockData() {}

    static long clock(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + CLOCK);
    }

    static void clock(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + CLOCK, value);
    }

    static void flags(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + FLAGS, value);
    }
}
