package org.benchtop.virtio.scsi;

/**
 * What is chosen for a SCSI host device, whatever its transport.
 *
 * @param queues number of request queues
 * @param queueSize largest queue size, a power of two
 * @param maxSectors most sectors of 512 bytes in one command, for drivers
 * @param cmdPerLun most commands in one logical unit, for drivers
 * @param hotplug whether the driver is told of logical units that come and go
 * @param paramChange whether the driver is told of changes, such as of a capacity
 */
public record VirtioScsiOptions(
        int queues, int queueSize, int maxSectors, int cmdPerLun, boolean hotplug, boolean paramChange) {}
