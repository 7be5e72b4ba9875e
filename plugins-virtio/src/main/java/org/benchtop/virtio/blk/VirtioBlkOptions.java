package org.benchtop.virtio.blk;

import java.util.OptionalInt;
import org.benchtop.spi.block.ErrorPolicy;

/**
 * What is chosen for a block device, whatever its transport.
 *
 * @param queues number of queues
 * @param queueSize largest queue size, a power of two
 * @param segMax most buffers in one request; empty for as many as the queue holds
 * @param serial what GET_ID answers, at most 20 ASCII characters
 * @param readOnly whether writes are refused even if the drive could take them
 * @param configWce whether the driver may switch the write cache
 * @param discard whether discards are offered, where the drive does something with them
 * @param writeZeroes whether write-zeroes is offered
 * @param logicalBlockSizeBytes overrides the drive's
 * @param physicalBlockSizeBytes overrides the drive's
 * @param rerror what to do when a read fails
 * @param werror what to do when anything else fails
 */
public record VirtioBlkOptions(
        int queues,
        int queueSize,
        OptionalInt segMax,
        String serial,
        boolean readOnly,
        boolean configWce,
        boolean discard,
        boolean writeZeroes,
        OptionalInt logicalBlockSizeBytes,
        OptionalInt physicalBlockSizeBytes,
        ErrorPolicy rerror,
        ErrorPolicy werror) {}
