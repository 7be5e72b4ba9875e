package org.benchtop.spi.event;

/** A one-shot timer; arming it again replaces the earlier time. Any thread. */
public interface Timer extends AutoCloseable {
    /** Fires when the clock reaches {@code deadlineNanos}; at once if that has passed. */
    void armAt(long deadlineNanos);

    /** Does not fire any more unless armed again; a handler that is already running finishes. */
    void cancel();

    /** Cancels and frees the timer. */
    @Override
    void close();
}
