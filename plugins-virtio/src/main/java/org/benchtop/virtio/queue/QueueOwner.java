package org.benchtop.virtio.queue;

/** What a queue needs from its device and transport. Thread-safe; allocates nothing except on errors. */
public interface QueueOwner {
    /** Whether the device may use guest memory: it has not failed and its transport lets it. */
    boolean operational();

    /** Sends the queue's interrupt. */
    void interruptQueue(int queue);

    /** The driver broke a rule: the device needs a reset. */
    void failed(int queue, QueueError error);
}
