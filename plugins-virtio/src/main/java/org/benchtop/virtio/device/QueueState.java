package org.benchtop.virtio.device;

import java.util.List;

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
 * @param parked heads of chains that were taken and are to be begun again, after an I/O error has stopped the machine
 */
public record QueueState(
        int size,
        long descriptorGpa,
        long driverGpa,
        long deviceGpa,
        boolean enabled,
        int lastAvail,
        int usedIndex,
        List<Integer> parked) {
    public QueueState {
        parked = List.copyOf(parked);
    }
}
