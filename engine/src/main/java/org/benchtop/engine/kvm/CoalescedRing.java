package org.benchtop.engine.kvm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import org.benchtop.spi.cpu.CpuHost;

/**
 * The ring of writes that KVM has queued for a VM: {@code struct kvm_coalesced_mmio_ring}, a page that lies in the
 * mapping of every vCPU. Any vCPU drains it before it handles an exit of its own, so writes reach a device before what
 * follows them. Source: linux/kvm.h, Documentation/virt/kvm/api.rst 4.116.
 */
final class CoalescedRing {
    private static final long FIRST = 0;
    private static final long LAST = 4;
    private static final long ENTRIES = 8;
    private static final int CAPACITY = (int) ((MemorySlots.PAGE_BYTES - ENTRIES) / KvmCoalescedMmio.SIZE);
    private static final VarHandle INDEX = ValueLayout.JAVA_INT.varHandle();

    private final CpuHost host;

    CoalescedRing(CpuHost host) {
        this.host = host;
    }

    /**
     * Hands all queued writes to the host, in order.
     *
     * @param ring the ring's page in the mapping of the calling vCPU
     */
    void drain(MemorySegment ring, int vcpu) {
        if ((int) INDEX.getOpaque(ring, FIRST) != (int) INDEX.getAcquire(ring, LAST)) {
            drainInOrder(ring, vcpu);
        }
    }

    private synchronized void drainInOrder(MemorySegment ring, int vcpu) {
        int first = (int) INDEX.getOpaque(ring, FIRST);
        while (first != (int) INDEX.getAcquire(ring, LAST)) {
            long entry = ENTRIES + first * KvmCoalescedMmio.SIZE;
            long address = KvmCoalescedMmio.physAddr(ring, entry);
            int length = KvmCoalescedMmio.len(ring, entry);
            long data = KvmCoalescedMmio.data(ring, entry);
            boolean port = KvmCoalescedMmio.pio(ring, entry) != 0;
            first = (first + 1) % CAPACITY;
            INDEX.setRelease(ring, FIRST, first);
            if (port) {
                host.pioWrite(vcpu, (int) address, length, Access.truncated(data, length));
            } else {
                Access.mmioWrite(host, vcpu, address, length, data);
            }
        }
    }
}
