package org.benchtop.spi.event;

/**
 * Wakes an event loop (Linux: an eventfd); rings coalesce until the handler runs.
 *
 * <p>{@link #ring} may be called from any thread and allocates nothing. What was written before a ring is visible to
 * the handler.
 */
public interface Doorbell extends AutoCloseable {
    /** Makes the handler run once, soon. */
    void ring();

    /** Stops the doorbell; later rings do nothing. */
    @Override
    void close();
}
