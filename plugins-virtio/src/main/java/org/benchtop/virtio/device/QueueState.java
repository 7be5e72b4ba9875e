package org.benchtop.virtio.device;

/**
 * What is saved of a queue.
 *
 * @param size entries
 * @param descriptorGpa descriptor table
 * @param driverGpa available ring
 * @param deviceGpa used ring
 * @param enabled whether the driver has enabled it
 * @param lastAvail next available entry to take
 * @param usedIndex next used element to fill
 */
public record QueueState(
        int size, long descriptorGpa, long driverGpa, long deviceGpa, boolean enabled, int lastAvail, int usedIndex) {}
