package org.benchtop.spi.block;

import org.benchtop.spi.event.EventLoop;

/**
 * Stores the bytes of one disk.
 *
 * <p>A backend is opened by its type's {@code create} and closed once, after all its queues. Requests go through a
 * {@link BlockQueue}, one for each event loop that submits, so that nothing on the way is shared between loops.
 * Requests of all queues may overlap in time and place; overlapping ones that are in flight together may take effect
 * in any order, but never tear below a logical block.
 *
 * <p>Durability follows {@link CacheMode}: a completed {@link BlockRequest.Flush} makes everything that was completed
 * before its submission, on any queue, durable.
 */
public interface BlockBackend extends AutoCloseable {
    /** What the backend is and can do; constant unless the backend is resized. Any thread. */
    BlockCapabilities capabilities();

    /** Opens a queue whose requests are submitted and completed on {@code loop}. Any thread. */
    BlockQueue openQueue(EventLoop loop);

    /**
     * How the bytes at a position are stored. A backend that does not know takes everything for data. May wait for the
     * host, so it is for the control plane; any thread, also while queues are open.
     *
     * @param offsetBytes less than the size
     * @param lengthBytes at least 1, and not beyond the size; the answer is as long or shorter
     */
    default BlockExtent blockStatus(long offsetBytes, long lengthBytes) {
        return new BlockExtent(offsetBytes, lengthBytes, true, false);
    }

    /** One line for people: what is stored where, and how ({@code disk.img raw, cache=none, aio=threads:4}). */
    String describe();

    /** Releases everything, after making data durable that the cache mode promises to keep. All queues are closed. */
    @Override
    void close();
}
