package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_irq_routing}: the head of a routing table; {@link KvmIrqRoutingEntry} follow. Source: linux/kvm.h, asm/kvm.h. */
final class KvmIrqRouting {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_INT.withName("nr"), ValueLayout.JAVA_INT.withName("flags"))
            .withName("kvm_irq_routing");
    static final long SIZE = Layouts.checked(LAYOUT, 8);

    private static final long NR = LAYOUT.byteOffset(PathElement.groupElement("nr"));

    private KvmIrqRouting() {}

    static void nr(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + NR, value);
    }
}
