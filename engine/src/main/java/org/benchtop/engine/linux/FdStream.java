package org.benchtop.engine.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.event.FdWatch;
import org.benchtop.spi.host.HostStream;

/** A stream on one or two non-blocking descriptors that it owns. */
final class FdStream implements HostStream {
    /** Above the longest frame of a tap interface (64 KiB and a header), which has to go in one call. */
    private static final int BUFFER_BYTES = 128 * 1024;

    private final String name;
    private final boolean terminal;
    private final int readFd;
    private final int writeFd;
    private final Runnable onClose;
    private final MemorySegment readBuffer;
    private final MemorySegment writeBuffer;
    private final Object readLock = new Object();
    private final Object writeLock = new Object();
    private boolean closed;

    /**
     * Takes over descriptors.
     *
     * @param writeFd may be the same as {@code readFd}
     * @param onClose runs before the descriptors are closed
     */
    FdStream(String name, boolean terminal, int readFd, int writeFd, Runnable onClose) {
        this.name = name;
        this.terminal = terminal;
        this.readFd = readFd;
        this.writeFd = writeFd;
        this.onClose = onClose;
        Arena arena = Arena.ofAuto();
        this.readBuffer = arena.allocate(BUFFER_BYTES, 8);
        this.writeBuffer = arena.allocate(BUFFER_BYTES, 8);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public boolean terminal() {
        return terminal;
    }

    @Override
    public int read(byte[] buffer, int offset, int lengthBytes) {
        synchronized (readLock) {
            if (closed) {
                return -1;
            }
            long got;
            do {
                got = LibC.read(readFd, readBuffer.address(), Math.min(lengthBytes, BUFFER_BYTES));
            } while (got == -Errno.EINTR);
            if (got == -Errno.EAGAIN) {
                return 0;
            }
            // A pseudo-terminal whose other side is gone reports EIO.
            if (got == 0 && lengthBytes > 0 || got == -Errno.EIO) {
                return -1;
            }
            Errno.checked(name + ": read", got);
            MemorySegment.copy(readBuffer, ValueLayout.JAVA_BYTE, 0, buffer, offset, (int) got);
            return (int) got;
        }
    }

    @Override
    public int write(byte[] buffer, int offset, int lengthBytes) {
        synchronized (writeLock) {
            if (closed) {
                return -1;
            }
            int length = Math.min(lengthBytes, BUFFER_BYTES);
            MemorySegment.copy(buffer, offset, writeBuffer, ValueLayout.JAVA_BYTE, 0, length);
            long put;
            do {
                put = LibC.write(writeFd, writeBuffer.address(), length);
            } while (put == -Errno.EINTR);
            if (put == -Errno.EAGAIN) {
                return 0;
            }
            if (put == -Errno.EPIPE || put == -Errno.EIO) {
                return -1;
            }
            return Errno.checkedInt(name + ": write", put);
        }
    }

    @Override
    public FdWatch watch(EventLoop loop, FdWatch.Handler handler) {
        FdWatch reads = loop.watch(readFd, handler);
        return readFd == writeFd ? reads : new TwoWayWatch(reads, loop.watch(writeFd, handler));
    }

    @Override
    public void close() {
        synchronized (readLock) {
            synchronized (writeLock) {
                if (closed) {
                    return;
                }
                closed = true;
                onClose.run();
                LibC.close(readFd);
                if (writeFd != readFd) {
                    LibC.close(writeFd);
                }
            }
        }
    }

    /** One watch made of one per direction. */
    private record TwoWayWatch(FdWatch reads, FdWatch writes) implements FdWatch {
        @Override
        public void interest(boolean readable, boolean writable) {
            reads.interest(readable, false);
            writes.interest(false, writable);
        }

        @Override
        public void close() {
            reads.close();
            writes.close();
        }
    }
}
