package org.benchtop.ide.drive;

import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockCapabilities;

/**
 * What is chosen for a disk.
 *
 * @param serial at most 20 ASCII characters
 * @param model at most 40 ASCII characters
 * @param version at most 8 ASCII characters
 * @param wwn world wide name; 0 for none
 * @param rotationRate 0 for unknown, 1 for an SSD, else revolutions per minute
 * @param writeCache whether the cache is on after power-on
 * @param discard whether TRIM is offered
 * @param logicalBlockSizeBytes 512 or 4096
 * @param physicalBlockSizeBytes a multiple of that
 * @param geometry empty for the usual one
 */
public record AtaDriveOptions(
        String serial,
        String model,
        String version,
        long wwn,
        int rotationRate,
        boolean writeCache,
        boolean discard,
        int logicalBlockSizeBytes,
        int physicalBlockSizeBytes,
        Optional<AtaGeometry> geometry) {
    /** Checks that a drive can be shown with these options. */
    public void check(String id, BlockCapabilities capabilities) {
        if (capabilities.readOnly()) {
            throw BenchtopException.config(
                    id + ": the drive is read-only, which ATA disks cannot be; allowed is a writable drive or ide-cd");
        }
        if (logicalBlockSizeBytes < capabilities.logicalBlockSizeBytes()) {
            throw BenchtopException.config(id + ": logical-block-size " + logicalBlockSizeBytes
                    + " is smaller than the drive's " + capabilities.logicalBlockSizeBytes());
        }
        if (physicalBlockSizeBytes % logicalBlockSizeBytes != 0) {
            throw BenchtopException.config(id + ": physical-block-size " + physicalBlockSizeBytes
                    + " is not a multiple of the logical block size " + logicalBlockSizeBytes);
        }
        if (capabilities.sizeBytes() < logicalBlockSizeBytes
                || capabilities.sizeBytes() % logicalBlockSizeBytes != 0
                || capabilities.sizeBytes() / logicalBlockSizeBytes > 1L << 48) {
            throw BenchtopException.config(id + ": the drive's size " + capabilities.sizeBytes()
                    + " must be 1 to 2^48 logical blocks of " + logicalBlockSizeBytes + " bytes");
        }
    }
}
