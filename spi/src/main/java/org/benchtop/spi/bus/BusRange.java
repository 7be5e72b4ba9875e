package org.benchtop.spi.bus;

/**
 * A registered range; it stays until closed or its device is removed.
 *
 * <p>Control plane: any thread. Look-ups that are under way may still reach the device for a moment after a change.
 */
public interface BusRange extends AutoCloseable {
    /** The first port or address. */
    long base();

    /** The length. */
    long sizeBytes();

    /** Moves the range. */
    void move(long base);

    /** Shows or hides the range. */
    void enable(boolean enabled);

    /** Removes the range. */
    @Override
    void close();
}
