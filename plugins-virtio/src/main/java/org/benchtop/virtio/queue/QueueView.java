package org.benchtop.virtio.queue;

import java.util.List;

/**
 * A queue at one moment, for people.
 *
 * @param index which queue
 * @param state stopped, running, stopping or discarding
 * @param layout where the rings are
 * @param lastAvail next available entry that the device takes
 * @param availIndex the driver's available index
 * @param usedIndex next used element that the device fills
 * @param publishedIndex the used index that the driver sees
 * @param pending chains taken and not completed
 */
public record QueueView(
        int index,
        String state,
        RingLayout layout,
        int lastAvail,
        int availIndex,
        int usedIndex,
        int publishedIndex,
        List<Pending> pending) {
    public QueueView {
        pending = List.copyOf(pending);
    }

    /**
     * A chain in flight.
     *
     * @param head first descriptor
     * @param descriptors number of descriptors
     * @param readableBytes what the device reads
     * @param writableBytes what the device writes
     * @param ageNanos how long it has been in flight
     * @param request what it asks for
     */
    public record Pending(
            int head, int descriptors, long readableBytes, long writableBytes, long ageNanos, String request) {}
}
