package org.benchtop.spi.stats;

/** A counter that only grows. {@link #add} may be called from any thread and allocates nothing. */
public interface Counter {
    /** Adds to the counter. */
    void add(long delta);

    /** Adds one. */
    default void increment() {
        add(1);
    }

    /** The count now. */
    long value();
}
