package org.benchtop.virtio.queue;

/** A device's end of one queue. Called on the queue's event loop. */
public interface QueueHandler {
    /**
     * Chains may be available: takes them with {@link QueuePump#next} until {@link DescriptorChain#NONE}, or leaves some
     * for later. Each is given back with {@link QueuePump#complete}, here or later.
     */
    void available();

    /** A chain that was parked before the queue was stopped: begins it as if it were new. */
    void restart(DescriptorChain chain);

    /** The queue is about to stop and waits for the chains in flight: ends delays that are there on purpose. */
    default void drain() {}

    /** What a chain in flight asks for, for people. */
    String describe(DescriptorChain chain);
}
