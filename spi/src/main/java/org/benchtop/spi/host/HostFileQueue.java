package org.benchtop.spi.host;

/** Asynchronous operations on one file from one loop; all methods are called on that loop, {@link #close} anywhere. */
public interface HostFileQueue extends AutoCloseable {
    /**
     * Starts an operation; its completion is called exactly once on the loop, later or before this returns. Allocates
     * nothing once warm.
     */
    void submit(FileOperation operation);

    /** Starts what {@link #submit} has batched. */
    default void kick() {}

    /** Frees the queue; nothing is in flight. */
    @Override
    void close();
}
