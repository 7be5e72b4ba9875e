package org.benchtop.virtio.device;

/** The way between a device and its driver: PCI or MMIO. Thread-safe. */
public interface VirtioTransport {
    /** Whether the device may use guest memory. */
    boolean dmaEnabled();

    /** Tells the driver that buffers of a queue were used. */
    void interruptQueue(int queue);

    /** Tells the driver that the configuration or the device status has changed. */
    void interruptConfig();

    /** The device was reset: interrupts are deasserted and unmapped. */
    void reset();

    /** A queue was reset. */
    void resetQueue(int queue);
}
