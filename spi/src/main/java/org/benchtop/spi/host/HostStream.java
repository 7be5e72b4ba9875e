package org.benchtop.spi.host;

import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.event.FdWatch;

/** A non-blocking byte stream or packet descriptor of the host. */
public interface HostStream extends AutoCloseable {
    /** The path or a description. */
    String name();

    /** Whether this is a terminal. */
    boolean terminal();

    /** Reads what is there; 0 when nothing is, -1 at the end. Any thread. */
    int read(byte[] buffer, int offset, int lengthBytes);

    /** Writes what fits and returns how much; -1 when the other side is gone. Any thread. */
    int write(byte[] buffer, int offset, int lengthBytes);

    /** Watches for readiness. */
    FdWatch watch(EventLoop loop, FdWatch.Handler handler);

    /** Closes the stream and restores the terminal. */
    @Override
    void close();
}
