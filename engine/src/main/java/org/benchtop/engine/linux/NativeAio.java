package org.benchtop.engine.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.host.FileOperation;
import org.jspecify.annotations.Nullable;

/**
 * The Linux AIO context of one loop, shared by its files, which must be open for direct I/O: without that submission
 * waits for the device. Completions wake the loop through an eventfd. Loop thread only. Source: io_submit(2),
 * include/uapi/linux/aio_abi.h.
 */
final class NativeAio implements CompletionSource, SlotEngine {
    private static final int MAX_IN_FLIGHT = 512;
    private static final int BATCH = 16;
    private static final int MAX_EVENTS = 64;

    private static final int IOCB_BYTES = 64;
    private static final long AIO_DATA = 0;
    private static final long AIO_LIO_OPCODE = 16;
    private static final long AIO_FILDES = 20;
    private static final long AIO_BUF = 24;
    private static final long AIO_NBYTES = 32;
    private static final long AIO_OFFSET = 40;
    private static final long AIO_FLAGS = 56;
    private static final long AIO_RESFD = 60;
    private static final int IOCB_FLAG_RESFD = 1;
    private static final short IOCB_CMD_PREADV = 7;
    private static final short IOCB_CMD_PWRITEV = 8;
    private static final int IO_EVENT_BYTES = 32;
    private static final long EVENT_RESULT = 16;

    private final Arena arena = Arena.ofAuto();
    private final MemorySegment capture = LibC.newCapture(arena);
    private final MemorySegment events = arena.allocate((long) IO_EVENT_BYTES * MAX_EVENTS, 8);
    private final MemorySegment pointers = arena.allocate(8L * MAX_IN_FLIGHT, 8);
    /** One control block per slot number. */
    private final MemorySegment iocbs = arena.allocate((long) IOCB_BYTES * MAX_IN_FLIGHT, 64);

    private final int[] freeIocbs = new int[MAX_IN_FLIGHT];
    private final @Nullable FileSlot[] bySlot = new FileSlot[MAX_IN_FLIGHT];
    private int freeCount;
    private final long context;
    private final int eventFd;
    private final LoopSource.Registration registration;
    private final SlotList waiting = new SlotList();
    private final SlotList refused = new SlotList();
    private int batched;
    private boolean signalled;

    NativeAio(LinuxEventLoop loop) {
        context = setUp();
        eventFd = Errno.checkedInt("eventfd", LibC.eventfd(0, LibC.EFD_CLOEXEC | LibC.EFD_NONBLOCK));
        registration = loop.register(eventFd, EpollEvent.EPOLLIN | EpollEvent.EPOLLET, ready -> signalled = true);
        for (int i = 0; i < MAX_IN_FLIGHT; i++) {
            freeIocbs[freeCount++] = MAX_IN_FLIGHT - 1 - i;
        }
    }

    private static long setUp() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment id = arena.allocate(ValueLayout.JAVA_LONG);
            Errno.checked(
                    "io_setup (see /proc/sys/fs/aio-max-nr)",
                    LibC.syscall(SystemCall.IO_SETUP, MAX_IN_FLIGHT, id.address(), 0, 0, 0, 0));
            return id.get(ValueLayout.JAVA_LONG, 0);
        }
    }

    /** Why Linux AIO cannot be used by this process; empty if it can. */
    static Optional<String> problem() {
        return Probe.PROBLEM;
    }

    private static final class Probe {
        static final Optional<String> PROBLEM = probe();

        private static Optional<String> probe() {
            try {
                LibC.syscall(SystemCall.IO_DESTROY, setUp(), 0, 0, 0, 0, 0);
                return Optional.empty();
            } catch (BenchtopException e) {
                return Optional.of(String.valueOf(e.getMessage()));
            }
        }
    }

    @Override
    public boolean takes(LinuxFile file, FileOperation.Kind kind) {
        return kind == FileOperation.Kind.READ || kind == FileOperation.Kind.WRITE;
    }

    @Override
    public void add(FileSlot slot) {}

    @Override
    public void remove(FileSlot slot) {}

    @Override
    public void push(FileSlot slot) {
        if (freeCount == 0) {
            waiting.add(slot);
            return;
        }
        int index = freeIocbs[--freeCount];
        bySlot[index] = slot;
        long at = (long) index * IOCB_BYTES;
        iocbs.set(ValueLayout.JAVA_LONG, at + AIO_DATA, index);
        iocbs.set(ValueLayout.JAVA_SHORT, at + AIO_LIO_OPCODE, slot.writes() ? IOCB_CMD_PWRITEV : IOCB_CMD_PREADV);
        iocbs.set(ValueLayout.JAVA_INT, at + AIO_FILDES, slot.file.fd());
        iocbs.set(ValueLayout.JAVA_LONG, at + AIO_BUF, slot.chunkAddress());
        iocbs.set(ValueLayout.JAVA_LONG, at + AIO_NBYTES, slot.chunkCount());
        iocbs.set(ValueLayout.JAVA_LONG, at + AIO_OFFSET, slot.chunkOffsetBytes());
        iocbs.set(ValueLayout.JAVA_INT, at + AIO_FLAGS, IOCB_FLAG_RESFD);
        iocbs.set(ValueLayout.JAVA_INT, at + AIO_RESFD, eventFd);
        pointers.set(ValueLayout.JAVA_LONG, 8L * batched, iocbs.address() + at);
        if (++batched >= BATCH) {
            submitBatch();
        }
    }

    @Override
    public boolean flush(boolean waitFollows) {
        if (batched > 0) {
            submitBatch();
        }
        return signalled;
    }

    private void submitBatch() {
        int first = 0;
        while (first < batched) {
            long taken = LibC.syscall(
                    capture, SystemCall.IO_SUBMIT, context, batched - first, pointers.address() + 8L * first, 0, 0, 0);
            if (taken > 0) {
                first += (int) taken;
            } else if (taken == -Errno.EAGAIN) {
                break;
            } else if (taken != -Errno.EINTR) {
                // The kernel refuses the first of what is left, for instance because of its descriptor.
                long refused = pointers.get(ValueLayout.JAVA_LONG, 8L * first) - iocbs.address();
                first++;
                refuse((int) (refused / IOCB_BYTES), taken);
            }
        }
        // What the kernel has no room for now stays for the next turn.
        MemorySegment.copy(pointers, 8L * first, pointers, 0, 8L * (batched - first));
        batched -= first;
        signalled |= batched > 0;
    }

    /** Completes a request that the kernel would not take, but not from inside a submission. */
    private void refuse(int index, long errno) {
        FileSlot slot = release(index);
        slot.advance(errno);
        refused.add(slot);
        signalled = true;
    }

    private FileSlot release(int index) {
        FileSlot slot = bySlot[index];
        if (slot == null) {
            throw new IllegalStateException("the kernel completed a request that is not in flight: index=" + index);
        }
        bySlot[index] = null;
        freeIocbs[freeCount++] = index;
        return slot;
    }

    @Override
    public boolean reap() {
        if (!signalled) {
            return false;
        }
        signalled = false;
        for (FileSlot slot = refused.poll(); slot != null; slot = refused.poll()) {
            slot.owner.done(slot);
        }
        long count = LibC.syscall(capture, SystemCall.IO_GETEVENTS, context, 0, MAX_EVENTS, events.address(), 0, 0);
        for (int i = 0; i < count; i++) {
            long at = (long) i * IO_EVENT_BYTES;
            completed(
                    (int) events.get(ValueLayout.JAVA_LONG, at), events.get(ValueLayout.JAVA_LONG, at + EVENT_RESULT));
        }
        while (freeCount > 0) {
            FileSlot slot = waiting.poll();
            if (slot == null) {
                break;
            }
            push(slot);
        }
        signalled |= count == MAX_EVENTS || count == -Errno.EINTR;
        return signalled;
    }

    private void completed(int index, long outcome) {
        FileSlot slot = release(index);
        if (slot.advance(outcome)) {
            push(slot);
        } else {
            slot.owner.done(slot);
        }
    }

    @Override
    public void close() {
        registration.close();
        LibC.syscall(SystemCall.IO_DESTROY, context, 0, 0, 0, 0, 0);
        LibC.close(eventFd);
    }
}
