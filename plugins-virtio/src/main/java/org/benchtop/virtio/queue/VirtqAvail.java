package org.benchtop.virtio.queue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** {@code struct virtq_avail} (VIRTIO 1.2, 2.7.6): written by the driver, read by the device. */
final class VirtqAvail {
    static final int ALIGNMENT = 2;
    static final int VIRTQ_AVAIL_F_NO_INTERRUPT = 1;

    private static final VarHandle SHORT = ValueLayout.JAVA_SHORT
            .withOrder(ByteOrder.LITTLE_ENDIAN)
            .varHandle()
            .withInvokeExactBehavior();
    private static final long FLAGS = 0;
    private static final long IDX = 2;
    private static final long RING = 4;

    private VirtqAvail() {}

    /** The length of the ring; {@code used_event} is there only with VIRTIO_F_EVENT_IDX. */
    static long sizeBytes(int queueSize, boolean eventIdx) {
        return RING + 2L * queueSize + (eventIdx ? 2 : 0);
    }

    /** Whether the driver asks for no interrupts; without VIRTIO_F_EVENT_IDX. */
    static boolean noInterrupt(MemorySegment ring) {
        return ((short) SHORT.getOpaque(ring, FLAGS) & VIRTQ_AVAIL_F_NO_INTERRUPT) != 0;
    }

    /** Where the driver puts the next entry; entries and descriptors before it may be read afterwards. */
    static int index(MemorySegment ring) {
        return (short) SHORT.getAcquire(ring, IDX) & 0xffff;
    }

    /** The head in a slot of the ring. */
    static int entry(MemorySegment ring, int slot) {
        return (short) SHORT.get(ring, RING + 2L * slot) & 0xffff;
    }

    /** The used index at whose passing the driver wants an interrupt; with VIRTIO_F_EVENT_IDX. */
    static int usedEvent(MemorySegment ring, int queueSize) {
        return (short) SHORT.getOpaque(ring, RING + 2L * queueSize) & 0xffff;
    }
}
