package org.benchtop.spi.block;

/** Submits requests from one event loop. Every method is called on that loop, except where it says otherwise. */
public interface BlockQueue extends AutoCloseable {
    /**
     * Starts a request. The completion is called exactly once, on this queue's loop: later, or before this method
     * returns. Until then the request and its buffers belong to the backend. Never throws for what the request asks:
     * a request out of range, on a read-only backend or not supported completes with that status.
     *
     * <p>Allocates nothing once warm.
     */
    void submit(BlockRequest request, BlockCompletion completion);

    /** Ends a burst: a backend that batches must have started everything that was submitted when this returns. */
    default void kick() {}

    /**
     * The owner waits for everything that is in flight now, to pause, reset or close: whoever delays requests on purpose
     * lets these go. Later requests are not affected.
     */
    default void drain() {}

    /** Frees the queue. No request is in flight. Any thread. */
    @Override
    void close();
}
