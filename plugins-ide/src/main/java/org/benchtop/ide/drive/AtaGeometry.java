package org.benchtop.ide.drive;

import org.benchtop.spi.BenchtopException;

/**
 * Cylinders, heads and sectors per track of a drive (ATA-5, 6.2).
 *
 * @param cylinders 1 to 65535
 * @param heads 1 to 16
 * @param sectors per track, 1 to 255
 */
public record AtaGeometry(int cylinders, int heads, int sectors) {
    /** What drives of more than 8 GB say. */
    private static final int MOST_CYLINDERS = 16383;

    public AtaGeometry {
        if (cylinders < 1 || cylinders > 65535 || heads < 1 || heads > 16 || sectors < 1 || sectors > 255) {
            throw BenchtopException.config("geometry cyls=" + cylinders + " heads=" + heads + " secs=" + sectors
                    + ": allowed are cyls 1..65535, heads 1..16, secs 1..255");
        }
    }

    /** The usual geometry of a drive: 16 heads, 63 sectors. */
    public static AtaGeometry of(long sectors) {
        return new AtaGeometry(Math.clamp(sectors / (16 * 63), 1, MOST_CYLINDERS), 16, 63);
    }

    /** Sectors that can be addressed. */
    public long total() {
        return (long) cylinders * heads * sectors;
    }
}
