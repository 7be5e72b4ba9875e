package org.benchtop.spi.irq;

/** A level-triggered interrupt line. Any thread; setting the level it already has is cheap. */
public interface IrqLine {
    /** Asserts or deasserts the line. */
    void set(boolean asserted);

    /** Asserts the line. */
    default void raise() {
        set(true);
    }

    /** Deasserts the line. */
    default void lower() {
        set(false);
    }

    /** Raises and lowers the line: one edge for an edge-triggered input. */
    default void pulse() {
        set(true);
        set(false);
    }
}
