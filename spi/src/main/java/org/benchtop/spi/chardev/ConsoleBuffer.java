package org.benchtop.spi.chardev;

import java.time.Duration;

/**
 * A character backend that keeps what the guest has written, so that scripts can look at it, wait for more and type.
 *
 * <p>Output is addressed by its position in the whole stream: the first byte that the guest ever wrote is 0. Old bytes
 * are forgotten once the buffer is full. Thread-safe.
 */
public interface ConsoleBuffer {
    /** The position of the oldest byte that is kept. */
    long start();

    /** The position behind the newest byte. */
    long end();

    /**
     * Copies output from a position on.
     *
     * @param position where to start; a position that is forgotten starts at {@link #start}
     * @param maxBytes how much at most
     */
    byte[] read(long position, int maxBytes);

    /** Everything from a position on, one character per byte (ISO 8859-1), so that indices are positions. */
    default String text(long position) {
        return new String(read(position, Integer.MAX_VALUE), java.nio.charset.StandardCharsets.ISO_8859_1);
    }

    /**
     * Waits until there is output behind a position or the backend is closed.
     *
     * @return {@link #end} at that time; not greater than {@code position} if the time was up or the backend was closed
     * @throws InterruptedException if the waiting thread was interrupted
     */
    long awaitOutput(long position, Duration timeout) throws InterruptedException;

    /**
     * Types: queues input for the guest, which takes it as fast as it reads.
     *
     * @throws org.benchtop.spi.BenchtopException if the guest has left too much unread
     */
    void send(byte[] input);

    /** How many bytes of input the guest has not taken yet. */
    int unsent();

    /** Sends a break condition. */
    void sendBreak();

    /** Calls back after each change, on a thread that must not be held up; closing ends it. */
    AutoCloseable onOutput(Runnable listener);
}
