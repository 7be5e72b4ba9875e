package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_dirty_log}: where the dirty bitmap of a slot goes. Source: linux/kvm.h, asm/kvm.h. */
final class KvmDirtyLog {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_INT.withName("slot"),
                    ValueLayout.JAVA_INT.withName("padding"),
                    ValueLayout.JAVA_LONG.withName("dirty_bitmap"))
            .withName("kvm_dirty_log");
    static final long SIZE = Layouts.checked(LAYOUT, 16);

    private static final long SLOT = LAYOUT.byteOffset(PathElement.groupElement("slot"));
    private static final long DIRTY_BITMAP = LAYOUT.byteOffset(PathElement.groupElement("dirty_bitmap"));

    private KvmDirtyLog() {}

    static void slot(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + SLOT, value);
    }

    static void dirtyBitmap(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + DIRTY_BITMAP, value);
    }
}
