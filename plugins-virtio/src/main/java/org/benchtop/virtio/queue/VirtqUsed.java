package org.benchtop.virtio.queue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** {@code struct virtq_used} (VIRTIO 1.2, 2.7.8): written by the device, read by the driver. */
final class VirtqUsed {
    static final int ALIGNMENT = 4;
    static final int VIRTQ_USED_F_NO_NOTIFY = 1;

    private static final VarHandle SHORT = ValueLayout.JAVA_SHORT
            .withOrder(ByteOrder.LITTLE_ENDIAN)
            .varHandle()
            .withInvokeExactBehavior();
    private static final VarHandle INT =
            ValueLayout.JAVA_INT.withOrder(ByteOrder.LITTLE_ENDIAN).varHandle().withInvokeExactBehavior();
    private static final long FLAGS = 0;
    private static final long IDX = 2;
    private static final long RING = 4;
    private static final long ELEMENT_SIZE = 8;

    private VirtqUsed() {}

    /** The length of the ring; {@code avail_event} is there only with VIRTIO_F_EVENT_IDX. */
    static long sizeBytes(int queueSize, boolean eventIdx) {
        return RING + ELEMENT_SIZE * queueSize + (eventIdx ? 2 : 0);
    }

    /** Asks the driver for notifications or none; without VIRTIO_F_EVENT_IDX. */
    static void noNotify(MemorySegment ring, boolean suppressed) {
        SHORT.setOpaque(ring, FLAGS, (short) (suppressed ? VIRTQ_USED_F_NO_NOTIFY : 0));
    }

    /** The published index; what a driver may have put there is not trusted. */
    static int index(MemorySegment ring) {
        return (short) SHORT.getOpaque(ring, IDX) & 0xffff;
    }

    /** Publishes every element before {@code index}. */
    static void publish(MemorySegment ring, int index) {
        SHORT.setRelease(ring, IDX, (short) index);
    }

    /** Fills an element that is not published yet. */
    static void element(MemorySegment ring, int slot, int head, int lengthBytes) {
        long at = RING + ELEMENT_SIZE * slot;
        INT.set(ring, at, head);
        INT.set(ring, at + 4, lengthBytes);
    }

    /** Asks for a notification when the driver's index passes {@code index}; with VIRTIO_F_EVENT_IDX. */
    static void availEvent(MemorySegment ring, int queueSize, int index) {
        SHORT.setOpaque(ring, RING + ELEMENT_SIZE * queueSize, (short) index);
    }
}
