package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code struct kvm_dirty_log}: where the dirty bitmap of a slot goes. Source: linux/kvm.h, asm/kvm.h. */
final class KvmDirtyLog {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_INT.withName("slot"),
            ValueLayout.JAVA_INT.withName("padding"),
            ValueLayout.JAVA_LONG.withName("dirty_bitmap"))
            .withName("kvm_dirty_log");
    static final long SIZE = Layouts.checked(LAYOUT, 16);

    private static final VarHandle SLOT = LAYOUT.varHandle(PathElement.groupElement("slot"));
    private static final VarHandle DIRTY_BITMAP = LAYOUT.varHandle(PathElement.groupElement("dirty_bitmap"));

    private KvmDirtyLog() {}

    static void slot(MemorySegment segment, long offset, int value) {
        SLOT.set(segment, offset, value);
    }

    static void dirtyBitmap(MemorySegment segment, long offset, long value) {
        DIRTY_BITMAP.set(segment, offset, value);
    }
}
