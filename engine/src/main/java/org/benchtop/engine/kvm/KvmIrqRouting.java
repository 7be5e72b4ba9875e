package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code struct kvm_irq_routing}: the head of a routing table; {@link KvmIrqRoutingEntry} follow. Source: linux/kvm.h, asm/kvm.h. */
final class KvmIrqRouting {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_INT.withName("nr"),
            ValueLayout.JAVA_INT.withName("flags"))
            .withName("kvm_irq_routing");
    static final long SIZE = Layouts.checked(LAYOUT, 8);

    private static final VarHandle NR = LAYOUT.varHandle(PathElement.groupElement("nr"));

    private KvmIrqRouting() {}

    static void nr(MemorySegment segment, long offset, int value) {
        NR.set(segment, offset, value);
    }
}
