package org.benchtop.spi.image;

/**
 * A state of the disk that is kept inside the image.
 *
 * @param id unique in the image
 * @param name given by the user
 * @param diskBytes the disk's size then
 * @param vmStateBytes the size of the machine state that belongs to it; 0 if there is none
 * @param unixSeconds when it was made
 * @param nanoseconds the rest of the time
 * @param vmClockNanos how long the machine had run
 */
public record ImageSnapshot(
        String id,
        String name,
        long diskBytes,
        long vmStateBytes,
        long unixSeconds,
        int nanoseconds,
        long vmClockNanos) {}
