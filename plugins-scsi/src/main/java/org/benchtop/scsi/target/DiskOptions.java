package org.benchtop.scsi.target;

import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockCapabilities;

/**
 * What is chosen for a disk.
 *
 * @param serial at most 36 ASCII characters
 * @param vendor at most 8 ASCII characters
 * @param product at most 16 ASCII characters
 * @param version at most 4 ASCII characters
 * @param wwn NAA world wide name; 0 for none
 * @param rotationRate 0 for unknown, 1 for an SSD, else revolutions per minute
 * @param writeCache whether the cache is on after power-on
 * @param discard whether UNMAP is offered
 * @param readOnly whether the medium is write-protected
 * @param removable whether the medium can be taken out
 * @param logicalBlockSizeBytes 512 or 4096
 * @param physicalBlockSizeBytes a power-of-two multiple of that
 */
public record DiskOptions(
        String serial,
        String vendor,
        String product,
        String version,
        long wwn,
        int rotationRate,
        boolean writeCache,
        boolean discard,
        boolean readOnly,
        boolean removable,
        int logicalBlockSizeBytes,
        int physicalBlockSizeBytes) {
    /** Checks that a drive can be shown with these options. */
    public void check(String id, BlockCapabilities capabilities) {
        if (logicalBlockSizeBytes < capabilities.logicalBlockSizeBytes()) {
            throw BenchtopException.config(id + ": logical-block-size " + logicalBlockSizeBytes
                    + " is smaller than the drive's " + capabilities.logicalBlockSizeBytes());
        }
        if (physicalBlockSizeBytes < logicalBlockSizeBytes) {
            throw BenchtopException.config(id + ": physical-block-size " + physicalBlockSizeBytes
                    + " is smaller than the logical block size " + logicalBlockSizeBytes);
        }
        if (capabilities.sizeBytes() < logicalBlockSizeBytes || capabilities.sizeBytes() % logicalBlockSizeBytes != 0) {
            throw BenchtopException.config(id + ": the drive's size " + capabilities.sizeBytes()
                    + " is not a multiple of logical-block-size " + logicalBlockSizeBytes);
        }
    }
}
