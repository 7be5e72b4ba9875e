package org.benchtop.virtio.queue;

import org.benchtop.spi.memory.IoVector;

/**
 * The buffers of one request, in place. Reused: it belongs to its device from {@link QueuePump#next} to {@link
 * QueuePump#complete}.
 *
 * <p>How the driver has split the buffers over descriptors does not show, as VIRTIO 1.2, 2.7.4 demands.
 */
public final class DescriptorChain {
    /** Stands for no chain. */
    public static final DescriptorChain NONE = new DescriptorChain(-1);

    private final int slot;
    private final IoVector readable = new IoVector();
    private final IoVector writable = new IoVector();
    private int head;
    private int descriptors;
    private boolean busy;
    private long takenNanos;

    DescriptorChain(int slot) {
        this.slot = slot;
    }

    /** A small number that no other chain in flight of this queue has: an index for what a device keeps per request. */
    public int slot() {
        return slot;
    }

    /** The index of the first descriptor. */
    public int head() {
        return head;
    }

    /** The number of descriptors, those of an indirect table included. */
    public int descriptors() {
        return descriptors;
    }

    /** What the device reads. */
    public IoVector readable() {
        return readable;
    }

    /** What the device writes. */
    public IoVector writable() {
        return writable;
    }

    /** Whether a device is working on it. */
    boolean busy() {
        return busy;
    }

    void busy(boolean value) {
        busy = value;
    }

    /** When it was taken from the queue. */
    long takenNanos() {
        return takenNanos;
    }

    void takenNanos(long value) {
        takenNanos = value;
    }

    void begin(int newHead) {
        head = newHead;
        descriptors = 0;
        readable.clear();
        writable.clear();
    }

    int addDescriptor() {
        return ++descriptors;
    }
}
