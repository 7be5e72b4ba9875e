package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_vcpu_events}: events in flight; saved and restored as a whole. Source: linux/kvm.h, asm/kvm.h. */
final class KvmVcpuEvents {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    MemoryLayout.sequenceLayout(64, ValueLayout.JAVA_BYTE).withName("content"))
            .withName("kvm_vcpu_events");
    static final long SIZE = Layouts.checked(LAYOUT, 64);

    private KvmVcpuEvents() {}
}
