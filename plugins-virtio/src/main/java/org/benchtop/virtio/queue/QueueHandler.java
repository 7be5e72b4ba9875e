package org.benchtop.virtio.queue;

/** A device's end of one queue. Called on the queue's event loop. */
public interface QueueHandler {
    /**
     * Chains may be available: takes them with {@link QueuePump#next} until {@link DescriptorChain#NONE}, or leaves some
     * for later. Each is given back with {@link QueuePump#complete}, here or later.
     */
    void available();

    /** What a chain in flight asks for, for people. */
    String describe(DescriptorChain chain);
}
