package org.benchtop.virtio.device;

/** Feature bits that belong to no device type (VIRTIO 1.2, 6). */
public final class VirtioFeatures {
    /** The driver may use indirect descriptors. */
    public static final long VIRTIO_F_INDIRECT_DESC = 1L << 28;
    /** Notifications and interrupts are suppressed by index. */
    public static final long VIRTIO_F_EVENT_IDX = 1L << 29;
    /** The device follows version 1 of the specification. */
    public static final long VIRTIO_F_VERSION_1 = 1L << 32;
    /** Queues can be reset one by one. */
    public static final long VIRTIO_F_RING_RESET = 1L << 40;

    private VirtioFeatures() {}
}
