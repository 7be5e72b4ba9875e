package org.benchtop.spi.chardev;

import java.util.Optional;
import org.benchtop.spi.event.EventLoop;

/**
 * The host side of a character device. One front end at a time.
 *
 * <p>{@link #write} may be called from any thread and does not block: what does not fit is refused, and the front end
 * hears of it with {@link ChardevFrontend#writable}.
 */
public interface Chardev extends AutoCloseable {
    /**
     * Connects the guest's side; its methods are then called on {@code loop}. Where the other side is there already,
     * {@link ChardevEvent#OPENED} comes first.
     */
    void connect(ChardevFrontend frontend, EventLoop loop);

    /** Disconnects the guest's side. */
    void disconnect();

    /** Sends guest output; returns how many bytes were taken. A backend without reader drops and takes all. */
    int write(byte[] buffer, int offset, int lengthBytes);

    /** Sends one byte of guest output; false if it was not taken. Allocates nothing. */
    boolean write(byte value);

    /** The front end can take input again: deliver what was held back. Any thread. */
    void resumeInput();

    /** One line for people, such as {@code pty /dev/pts/3}. */
    String describe();

    /** What scripts need to read and type, where this backend keeps its output. */
    default Optional<ConsoleBuffer> console() {
        return Optional.empty();
    }

    /** Flushes and releases. */
    @Override
    void close();
}
