package org.benchtop.engine.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.host.FileOperation;
import org.benchtop.spi.host.HostFile;
import org.benchtop.spi.host.HostFileOptions;
import org.benchtop.spi.host.HostFileQueue;

/** An open regular file or block device. */
final class LinuxFile implements HostFile {
    private static final int F_GETFL = 3;
    private static final int F_SETFL = 4;
    private static final long BLKGETSIZE64 = 0x80081272L;
    private static final long BLKDISCARD = 0x1277;
    private static final long BLKZEROOUT = 0x127f;
    private static final int SEEK_DATA = 3;
    private static final int SEEK_HOLE = 4;
    private static final int ENXIO = 6;
    private static final int FALLOC_FL_KEEP_SIZE = 1;
    private static final int FALLOC_FL_PUNCH_HOLE = 2;
    private static final int FALLOC_FL_ZERO_RANGE = 0x10;

    private final String name;
    private final int fd;
    private final boolean blockDevice;
    private final DirectAlignment alignment;
    private final FileWorkers workers;
    private final LongAdder registered = new LongAdder();
    private final HostFileOptions.Aio aio;
    private final List<HostFileQueue> queues = new ArrayList<>();
    private volatile boolean readsWithoutWaiting;
    private volatile boolean closed;

    /** Takes over an open descriptor. */
    LinuxFile(
            String name,
            int fd,
            boolean blockDevice,
            boolean direct,
            DirectAlignment alignment,
            HostFileOptions.Aio aio,
            int threads) {
        this.name = name;
        this.fd = fd;
        this.blockDevice = blockDevice;
        this.alignment = alignment;
        this.aio = aio;
        this.readsWithoutWaiting = !direct;
        this.workers = new FileWorkers(name.substring(name.lastIndexOf('/') + 1), threads);
    }

    static LinuxFile open(HostFileOptions options) {
        String name = options.path().toString();
        check(options, name);
        HostFileOptions.Aio aio = choose(options, name);
        int flags = LibC.O_CLOEXEC
                | LibC.O_NONBLOCK
                | LibC.O_NOCTTY
                | (options.writable() ? LibC.O_RDWR : LibC.O_RDONLY)
                | (options.create() ? LibC.O_CREAT : 0)
                | (options.direct() ? LibC.O_DIRECT : 0)
                | (options.dataSync() ? LibC.O_DSYNC : 0);
        int fd = openChecked(name, flags, options);
        try {
            Stat stat = Stat.of(fd);
            if (!stat.regularFile() && !stat.blockDevice()) {
                throw BenchtopException.host(
                        name + ": is a " + stat.typeName() + "; allowed: regular file, block device");
            }
            if (stat.blockDevice() && options.lock() == HostFileOptions.Lock.EXCLUSIVE) {
                // With O_EXCL a device that is mounted or otherwise claimed is refused.
                int claimed = openChecked(name, flags & ~LibC.O_CREAT | LibC.O_EXCL, options);
                LibC.close(fd);
                fd = claimed;
            }
            // It was only there so that opening a pipe by mistake does not wait for the other side.
            LibC.fcntl(fd, F_SETFL, LibC.fcntl(fd, F_GETFL, 0) & ~LibC.O_NONBLOCK);
            FileLock.take(fd, options.lock(), name);
            DirectAlignment alignment =
                    options.direct() ? DirectAlignment.of(fd, stat.blockDevice()) : DirectAlignment.NONE;
            if (alignment.offsetBytes() == 0) {
                throw noDirect(name);
            }
            return new LinuxFile(name, fd, stat.blockDevice(), options.direct(), alignment, aio, options.threads());
        } catch (RuntimeException e) {
            LibC.close(fd);
            throw e;
        }
    }

    private static void check(HostFileOptions options, String name) {
        if (options.create() && !options.writable()) {
            throw BenchtopException.config(name + ": create needs the file opened for writing");
        }
        if (options.threads() < 1 || options.threads() > 256) {
            throw BenchtopException.config(name + ": threads: " + options.threads() + " is outside 1..256");
        }
    }

    /** The method to use: what was asked for if it works here, or the best that does. */
    private static HostFileOptions.Aio choose(HostFileOptions options, String name) {
        return switch (options.aio()) {
            case THREADS -> HostFileOptions.Aio.THREADS;
            case IO_URING -> {
                refuseIf(IoUring.problem(), name, "io_uring");
                yield HostFileOptions.Aio.IO_URING;
            }
            case NATIVE -> {
                if (!options.direct()) {
                    throw BenchtopException.config(
                            name + ": aio: native needs direct I/O (cache: none); allowed: threads, io_uring, auto");
                }
                refuseIf(NativeAio.problem(), name, "native");
                yield HostFileOptions.Aio.NATIVE;
            }
            case AUTO -> {
                if (IoUring.problem().isEmpty()) {
                    yield HostFileOptions.Aio.IO_URING;
                }
                yield options.direct() && NativeAio.problem().isEmpty()
                        ? HostFileOptions.Aio.NATIVE
                        : HostFileOptions.Aio.THREADS;
            }
        };
    }

    private static void refuseIf(Optional<String> problem, String name, String method) {
        if (problem.isPresent()) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    name + ": aio: " + method + " cannot be used here: " + problem.get() + "; allowed: threads, auto");
        }
    }

    private static int openChecked(String name, int flags, HostFileOptions options) {
        int fd = LibC.open(name, flags, 0644);
        if (fd == -Errno.EINVAL && options.direct()) {
            throw noDirect(name);
        }
        if (fd == -Errno.EBUSY) {
            throw BenchtopException.host(name + ": in use by the host (mounted?)");
        }
        return Errno.checkedInt(name + (options.writable() ? ": open for writing" : ": open"), fd);
    }

    private static BenchtopException noDirect(String name) {
        return BenchtopException.host(
                name + ": its file system has no direct I/O (O_DIRECT); use a cache mode without it");
    }

    String name() {
        return name;
    }

    int fd() {
        return fd;
    }

    /** Whether reads are worth trying on the loop's own thread first. */
    boolean readsWithoutWaiting() {
        return readsWithoutWaiting;
    }

    void stopReadingWithoutWaiting() {
        readsWithoutWaiting = false;
    }

    private int openFd() {
        if (closed) {
            throw BenchtopException.of(ErrorKind.INTERNAL, name + ": the file is closed");
        }
        return fd;
    }

    @Override
    public long sizeBytes() {
        int open = openFd();
        if (!blockDevice) {
            return Stat.of(open).sizeBytes();
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment size = arena.allocate(ValueLayout.JAVA_LONG);
            Errno.checked(name + ": size", LibC.ioctl(open, BLKGETSIZE64, size.address()));
            return size.get(ValueLayout.JAVA_LONG, 0);
        }
    }

    @Override
    public void resize(long sizeBytes) {
        if (blockDevice) {
            throw BenchtopException.of(ErrorKind.UNSUPPORTED, name + ": a block device cannot be resized");
        }
        Errno.checked(name + ": resize to " + sizeBytes + " bytes", LibC.ftruncate(openFd(), sizeBytes));
    }

    @Override
    public boolean blockDevice() {
        return blockDevice;
    }

    @Override
    public int offsetAlignmentBytes() {
        return alignment.offsetBytes();
    }

    @Override
    public int memoryAlignmentBytes() {
        return alignment.memoryBytes();
    }

    @Override
    public HostFileOptions.Aio aio() {
        return aio;
    }

    @Override
    public HostFileQueue openQueue(EventLoop loop) {
        openFd();
        HostFileQueue queue = newQueue(loop);
        synchronized (queues) {
            queues.add(queue);
        }
        return queue;
    }

    private HostFileQueue newQueue(EventLoop loop) {
        ThreadQueue threads = new ThreadQueue(this, workers, loop);
        // Only our own loop can wait for a kernel interface; on any other the threads do the work.
        if (aio == HostFileOptions.Aio.THREADS || !(loop instanceof LinuxEventLoop linux)) {
            return threads;
        }
        AtomicReference<HostFileQueue> queue = new AtomicReference<>(threads);
        linux.call(() -> {
            SlotEngine engine = aio == HostFileOptions.Aio.IO_URING ? linux.uring() : linux.nativeAio();
            queue.set(new KernelQueue(this, linux, engine, threads));
        });
        return queue.get();
    }

    void forget(HostFileQueue queue) {
        synchronized (queues) {
            queues.remove(queue);
        }
    }

    @Override
    public long read(long offsetBytes, MemorySegment buffer) {
        int offsetAlign = alignment.offsetBytes();
        long start = offsetBytes - offsetBytes % offsetAlign;
        long end = roundUp(offsetBytes + buffer.byteSize(), offsetAlign);
        if (buffer.isNative() && aligned(buffer) && start == offsetBytes && end == offsetBytes + buffer.byteSize()) {
            return readFully(offsetBytes, buffer);
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment bounce = arena.allocate(end - start, alignment.memoryBytes());
            long got = readFully(start, bounce) - (offsetBytes - start);
            long wanted = Math.clamp(got, 0, buffer.byteSize());
            MemorySegment.copy(bounce, offsetBytes - start, buffer, 0, wanted);
            return wanted;
        }
    }

    private static long roundUp(long value, int align) {
        return (value + align - 1) / align * align;
    }

    private boolean aligned(MemorySegment buffer) {
        return buffer.address() % alignment.memoryBytes() == 0;
    }

    private long readFully(long offsetBytes, MemorySegment buffer) {
        long done = 0;
        while (done < buffer.byteSize()) {
            long got = LibC.pread(openFd(), buffer.address() + done, buffer.byteSize() - done, offsetBytes + done);
            if (got == -Errno.EINTR) {
                continue;
            }
            Errno.checked(name + ": read at " + (offsetBytes + done), got);
            // A short direct read ends inside a block, where the next could not start: it is the end of the file.
            if (got == 0 || (done + got) % alignment.offsetBytes() != 0) {
                return done + got;
            }
            done += got;
        }
        return done;
    }

    @Override
    public void write(long offsetBytes, MemorySegment buffer) {
        int offsetAlign = alignment.offsetBytes();
        if (offsetBytes % offsetAlign != 0 || buffer.byteSize() % offsetAlign != 0) {
            throw BenchtopException.of(
                    ErrorKind.INTERNAL,
                    name + ": direct write not aligned to " + offsetAlign + ": offset=" + offsetBytes + " length="
                            + buffer.byteSize());
        }
        if (buffer.isNative() && aligned(buffer)) {
            writeFully(offsetBytes, buffer);
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment bounce = arena.allocate(buffer.byteSize(), alignment.memoryBytes());
            bounce.copyFrom(buffer);
            writeFully(offsetBytes, bounce);
        }
    }

    private void writeFully(long offsetBytes, MemorySegment buffer) {
        long done = 0;
        while (done < buffer.byteSize()) {
            long put = LibC.pwrite(openFd(), buffer.address() + done, buffer.byteSize() - done, offsetBytes + done);
            if (put == -Errno.EINTR) {
                continue;
            }
            done += Errno.checked(name + ": write at " + (offsetBytes + done), put);
        }
    }

    @Override
    public long registeredTransfers() {
        return registered.sum();
    }

    /** A transfer uses memory that the kernel has registered. */
    void countRegistered() {
        registered.increment();
    }

    @Override
    public long nextData(long offsetBytes) {
        return seek(offsetBytes, SEEK_DATA, offsetBytes);
    }

    @Override
    public long nextHole(long offsetBytes) {
        return seek(offsetBytes, SEEK_HOLE, sizeBytes());
    }

    /** File systems without holes answer with an error: then everything is data. */
    private long seek(long offsetBytes, int whence, long unknown) {
        if (blockDevice) {
            return unknown;
        }
        long found = LibC.lseek(openFd(), offsetBytes, whence);
        if (found == -ENXIO) {
            return sizeBytes();
        }
        return found < 0 ? unknown : found;
    }

    @Override
    public void sync() {
        openFd();
        Errno.checked(name + ": fdatasync", syncWaiting());
    }

    private int syncWaiting() {
        int result;
        do {
            result = LibC.fdatasync(LibC.capture(), fd);
        } while (result == -Errno.EINTR);
        return result;
    }

    /** The mode for fallocate(2) of a range operation on a regular file. */
    static int fallocateMode(FileOperation.Kind kind) {
        return FALLOC_FL_KEEP_SIZE
                | (kind == FileOperation.Kind.PUNCH_HOLE ? FALLOC_FL_PUNCH_HOLE : FALLOC_FL_ZERO_RANGE);
    }

    long punchHole(MemorySegment capture, long offsetBytes, long lengthBytes) {
        return blockDevice
                ? deviceRange(BLKDISCARD, offsetBytes, lengthBytes)
                : LibC.fallocate(capture, fd, fallocateMode(FileOperation.Kind.PUNCH_HOLE), offsetBytes, lengthBytes);
    }

    long zeroRange(MemorySegment capture, long offsetBytes, long lengthBytes) {
        return blockDevice
                ? deviceRange(BLKZEROOUT, offsetBytes, lengthBytes)
                : LibC.fallocate(capture, fd, fallocateMode(FileOperation.Kind.ZERO_RANGE), offsetBytes, lengthBytes);
    }

    private long deviceRange(long request, long offsetBytes, long lengthBytes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment range = arena.allocateFrom(ValueLayout.JAVA_LONG, offsetBytes, lengthBytes);
            return LibC.ioctl(fd, request, range.address());
        }
    }

    /** Waits for what workers still do, then closes; nothing of that is reported any more. */
    @Override
    public void close() {
        List<HostFileQueue> open;
        synchronized (queues) {
            if (closed) {
                return;
            }
            closed = true;
            open = List.copyOf(queues);
        }
        for (HostFileQueue queue : open) {
            queue.close();
        }
        workers.close();
        // The kernel would keep the lock for as long as anything still refers to the file.
        FileLock.drop(fd);
        LibC.close(fd);
    }
}
