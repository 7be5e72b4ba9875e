package org.benchtop.virtio.queue;

/**
 * Where a driver has put a queue.
 *
 * @param size entries
 * @param descriptorGpa descriptor table
 * @param driverGpa available ring
 * @param deviceGpa used ring
 */
public record RingLayout(int size, long descriptorGpa, long driverGpa, long deviceGpa) {}
