package org.benchtop.spi.host;

import java.lang.foreign.MemorySegment;
import org.benchtop.spi.event.EventLoop;

/** An open file or block device. Thread-safe. */
public interface HostFile extends AutoCloseable {
    /** The size now: of the file, or of the block device. */
    long sizeBytes();

    /** Grows (sparsely) or cuts a regular file. */
    void resize(long sizeBytes);

    /** Whether this is a block device. */
    boolean blockDevice();

    /** The alignment of offsets and lengths: 1, or for O_DIRECT the device's logical block size. */
    int offsetAlignmentBytes();

    /** The alignment of buffer addresses: 1, or what O_DIRECT needs. */
    int memoryAlignmentBytes();

    /** The method that requests are executed with, never {@link HostFileOptions.Aio#AUTO}. */
    HostFileOptions.Aio aio();

    /** Opens a queue of asynchronous operations that complete on {@code loop}. */
    HostFileQueue openQueue(EventLoop loop);

    /** Reads until the buffer is full or the file ends, waiting; returns the number of bytes. */
    long read(long offsetBytes, MemorySegment buffer);

    /** Writes the whole buffer, waiting. */
    void write(long offsetBytes, MemorySegment buffer);

    /**
     * Where the next allocated data starts at or after a position (SEEK_DATA); the end of the file if there is none. A
     * host that does not know takes everything for data.
     */
    default long nextData(long offsetBytes) {
        return Math.min(offsetBytes, sizeBytes());
    }

    /** Where the next hole starts at or after a position (SEEK_HOLE), which may be the end of the file. */
    default long nextHole(long offsetBytes) {
        return sizeBytes();
    }

    /** How many transfers so far have used guest memory that is registered with the host's kernel. */
    default long registeredTransfers() {
        return 0;
    }

    /** fdatasync, waiting. */
    void sync();

    /** Closes the file and drops its lock. All queues are closed. */
    @Override
    void close();
}
