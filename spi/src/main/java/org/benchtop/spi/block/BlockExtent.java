package org.benchtop.spi.block;

/**
 * A range of a backend that is stored in one way.
 *
 * @param offsetBytes where it starts
 * @param lengthBytes how long it is, at least 1
 * @param allocated whether space is allocated for it
 * @param zero whether it is known to read as zeroes
 */
public record BlockExtent(long offsetBytes, long lengthBytes, boolean allocated, boolean zero) {
    /** Where it ends. */
    public long endBytes() {
        return offsetBytes + lengthBytes;
    }
}
