package org.benchtop.spi.event;

/** A watched descriptor. Level-triggered. Any thread. */
public interface FdWatch extends AutoCloseable {
    /** Chooses what to wait for. Hang-up and error are always reported as both. */
    void interest(boolean readable, boolean writable);

    /** Stops watching; does not close the descriptor. */
    @Override
    void close();

    /** Told on the loop's thread. */
    @FunctionalInterface
    interface Handler {
        /** The descriptor is ready. */
        void ready(boolean readable, boolean writable);
    }
}
