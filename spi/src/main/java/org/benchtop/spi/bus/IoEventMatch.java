package org.benchtop.spi.bus;

import java.util.OptionalLong;

/**
 * Which writes an {@link IoEvent} takes.
 *
 * @param sizeBytes the size of the write: 1, 2, 4 or 8; 0 takes any size (MMIO only, with no {@code value})
 * @param value the written value that matches; empty matches all
 */
public record IoEventMatch(int sizeBytes, OptionalLong value) {
    public IoEventMatch {
        if (sizeBytes != 0 && sizeBytes != 1 && sizeBytes != 2 && sizeBytes != 4 && sizeBytes != 8) {
            throw new IllegalArgumentException("ioEvent size must be 0, 1, 2, 4 or 8: " + sizeBytes);
        }
        if (sizeBytes == 0 && value.isPresent()) {
            throw new IllegalArgumentException("an ioEvent with a value needs a size");
        }
    }

    /** Matches every write of one size. */
    public static IoEventMatch anyValue(int sizeBytes) {
        return new IoEventMatch(sizeBytes, OptionalLong.empty());
    }

    /** Matches writes of one value. */
    public static IoEventMatch value(int sizeBytes, long value) {
        return new IoEventMatch(sizeBytes, OptionalLong.of(value));
    }
}
