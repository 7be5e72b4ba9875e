package org.benchtop.engine.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.host.FileOperation;

/**
 * The io_uring of one loop, shared by its files. Its owner is also how the loop waits: while requests are in flight, one
 * {@code io_uring_enter} submits what is new and waits for the first completion or for the epoll set, which a poll
 * request watches. Loop thread only. Source: io_uring_setup(2), io_uring_enter(2).
 */
final class IoUring implements CompletionSource, LoopWaiter, SlotEngine {
    private static final int ENTRIES = 256;
    private static final int COMPLETION_ENTRIES = 4096;
    /** Handing over few requests at a time keeps the device busy while we still prepare others. */
    private static final int BATCH = 4;

    private static final int IORING_SETUP_CQSIZE = 1 << 3;
    private static final int IORING_SETUP_TASKRUN_FLAG = 1 << 9;
    private static final int IORING_SETUP_SINGLE_ISSUER = 1 << 12;
    private static final int IORING_SETUP_DEFER_TASKRUN = 1 << 13;
    private static final int IORING_FEAT_SINGLE_MMAP = 1;
    private static final int IORING_FEAT_NODROP = 1 << 1;
    private static final int IORING_ENTER_GETEVENTS = 1;
    private static final int IORING_SQ_CQ_OVERFLOW = 1 << 1;
    private static final int IORING_SQ_TASKRUN = 1 << 2;
    private static final int IORING_REGISTER_PROBE = 8;
    private static final int IO_URING_OP_SUPPORTED = 1;
    private static final long IORING_OFF_SQES = 0x10000000L;

    private static final int PARAMS_BYTES = 120;
    private static final long PARAMS_SQ_ENTRIES = 0;
    private static final long PARAMS_CQ_ENTRIES = 4;
    private static final long PARAMS_FLAGS = 8;
    private static final long PARAMS_FEATURES = 20;
    private static final long PARAMS_SQ_OFF = 40;
    private static final long PARAMS_CQ_OFF = 80;
    private static final int CQE_BYTES = 16;
    private static final long CQE_RESULT = 8;

    private static final long POLL_TAG = -1;
    private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();

    private final LinuxEventLoop loop;
    private final Arena arena = Arena.ofAuto();
    private final MemorySegment capture = LibC.newCapture(arena);
    private final int fd;
    private final long ringBytes;
    private final MemorySegment ring;
    private final MemorySegment sqes;
    private final int sqEntries;
    private final int sqMask;
    private final int cqMask;
    private final long sqTailAt;
    private final long sqFlagsAt;
    private final long cqHeadAt;
    private final long cqTailAt;
    private final long cqesAt;
    private final int maxInFlight;

    private final RingFiles files;
    private final RingBuffers buffers;
    private final SlotTable slots = new SlotTable();
    private final SlotList waiting = new SlotList();
    private int sqTail;
    private int unsubmitted;
    private int inFlight;
    private boolean pollArmed;

    IoUring(LinuxEventLoop loop) {
        this.loop = loop;
        MemorySegment params = arena.allocate(PARAMS_BYTES, 8);
        this.fd = setUp(params);
        sqEntries = params.get(ValueLayout.JAVA_INT, PARAMS_SQ_ENTRIES);
        int cqEntries = params.get(ValueLayout.JAVA_INT, PARAMS_CQ_ENTRIES);
        maxInFlight = cqEntries - 1;
        sqTailAt = params.get(ValueLayout.JAVA_INT, PARAMS_SQ_OFF + 4);
        sqFlagsAt = params.get(ValueLayout.JAVA_INT, PARAMS_SQ_OFF + 16);
        long sqArrayAt = params.get(ValueLayout.JAVA_INT, PARAMS_SQ_OFF + 24);
        cqHeadAt = params.get(ValueLayout.JAVA_INT, PARAMS_CQ_OFF);
        cqTailAt = params.get(ValueLayout.JAVA_INT, PARAMS_CQ_OFF + 4);
        cqesAt = params.get(ValueLayout.JAVA_INT, PARAMS_CQ_OFF + 20);
        ringBytes = Math.max(sqArrayAt + 4L * sqEntries, cqesAt + (long) CQE_BYTES * cqEntries);
        ring = map(ringBytes, 0);
        sqes = map((long) IoUringSqe.BYTES * sqEntries, IORING_OFF_SQES);
        sqMask = ring.get(ValueLayout.JAVA_INT, params.get(ValueLayout.JAVA_INT, PARAMS_SQ_OFF + 8));
        cqMask = ring.get(ValueLayout.JAVA_INT, params.get(ValueLayout.JAVA_INT, PARAMS_CQ_OFF + 8));
        for (int i = 0; i < sqEntries; i++) {
            ring.set(ValueLayout.JAVA_INT, sqArrayAt + 4L * i, i);
        }
        sqTail = ring.get(ValueLayout.JAVA_INT, sqTailAt);
        files = new RingFiles(fd, capture, arena);
        buffers = new RingBuffers(fd, capture, arena);
    }

    /** Why io_uring cannot be used by this process; empty if it can. */
    static Optional<String> problem() {
        return Probe.PROBLEM;
    }

    private static final class Probe {
        static final Optional<String> PROBLEM = probe();

        private static Optional<String> probe() {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment params = arena.allocate(PARAMS_BYTES, 8);
                int fd = setUp(params);
                try {
                    return missingOperation(fd, arena);
                } finally {
                    LibC.close(fd);
                }
            } catch (BenchtopException e) {
                return Optional.of(e.getMessage());
            }
        }

        private static Optional<String> missingOperation(int fd, Arena arena) {
            int operations = 64;
            MemorySegment probe = arena.allocate(16 + 8L * operations, 8);
            long result = LibC.syscall(
                    SystemCall.IO_URING_REGISTER, fd, IORING_REGISTER_PROBE, probe.address(), operations, 0, 0);
            if (result < 0) {
                return Optional.of("IORING_REGISTER_PROBE: " + Errno.describe(result));
            }
            for (int operation : IoUringSqe.USED_OPERATIONS) {
                if ((probe.get(ValueLayout.JAVA_SHORT, 16 + 8L * operation + 2) & IO_URING_OP_SUPPORTED) == 0) {
                    return Optional.of("the kernel has no io_uring operation " + operation);
                }
            }
            return Optional.empty();
        }
    }

    private static int setUp(MemorySegment params) {
        int best = IORING_SETUP_CQSIZE
                | IORING_SETUP_SINGLE_ISSUER
                | IORING_SETUP_DEFER_TASKRUN
                | IORING_SETUP_TASKRUN_FLAG;
        long fd = setUp(params, best);
        if (fd == -Errno.EINVAL) {
            // Before Linux 6.1.
            fd = setUp(params, IORING_SETUP_CQSIZE);
        }
        int opened = Errno.checkedInt("io_uring_setup (see /proc/sys/kernel/io_uring_disabled)", fd);
        int needed = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP;
        if ((params.get(ValueLayout.JAVA_INT, PARAMS_FEATURES) & needed) != needed) {
            LibC.close(opened);
            throw BenchtopException.host("io_uring: this kernel's is too old");
        }
        return opened;
    }

    private static long setUp(MemorySegment params, int flags) {
        params.fill((byte) 0);
        params.set(ValueLayout.JAVA_INT, PARAMS_CQ_ENTRIES, COMPLETION_ENTRIES);
        params.set(ValueLayout.JAVA_INT, PARAMS_FLAGS, flags);
        return LibC.syscall(SystemCall.IO_URING_SETUP, ENTRIES, params.address(), 0, 0, 0, 0);
    }

    private MemorySegment map(long lengthBytes, long offset) {
        long address = LibC.mmap(
                0, lengthBytes, LibC.PROT_READ | LibC.PROT_WRITE, LibC.MAP_SHARED | LibC.MAP_POPULATE, fd, offset);
        return LibC.memory(Errno.checked("io_uring: mmap", address), lengthBytes);
    }

    @Override
    public boolean takes(LinuxFile file, FileOperation.Kind kind) {
        return switch (kind) {
            case READ, WRITE, SYNC -> true;
            case PUNCH_HOLE, ZERO_RANGE -> !file.blockDevice();
        };
    }

    @Override
    public int open(LinuxFile file) {
        return files.add(file.fd());
    }

    @Override
    public void close(int fileNumber) {
        files.remove(fileNumber);
    }

    @Override
    public void add(FileSlot slot) {
        slots.add(slot);
    }

    @Override
    public void remove(FileSlot slot) {
        slots.remove(slot);
    }

    @Override
    public void push(FileSlot slot) {
        if (inFlight >= maxInFlight || unsubmitted == sqEntries) {
            waiting.add(slot);
            return;
        }
        inFlight++;
        long sqe = nextSqe();
        FileOperation operation = slot.operation();
        switch (operation.kind()) {
            case READ, WRITE -> {
                int buffer = slot.single() ? buffers.find(slot.firstAddress(), slot.chunkBytes()) : -1;
                IoUringSqe.transfer(sqes, sqe, slot, buffer);
                if (buffer >= 0) {
                    slot.file.countRegistered();
                }
            }
            case SYNC -> IoUringSqe.dataSync(sqes, sqe, slot);
            case PUNCH_HOLE, ZERO_RANGE -> IoUringSqe.fallocate(sqes, sqe, operation, slot);
        }
        if (unsubmitted >= BATCH) {
            enter(0, 0);
        }
    }

    /** Takes the next entry; the caller fills it before anything is submitted. */
    private long nextSqe() {
        long at = (long) (sqTail & sqMask) * IoUringSqe.BYTES;
        sqTail++;
        unsubmitted++;
        return at;
    }

    private long enter(int waitFor, int flags) {
        INT.setRelease(ring, sqTailAt, sqTail);
        long taken = LibC.syscall(capture, SystemCall.IO_URING_ENTER, fd, unsubmitted, waitFor, flags, 0, 0);
        if (taken > 0) {
            unsubmitted -= (int) taken;
        }
        return taken;
    }

    @Override
    public int await(MemorySegment events, int maxEvents, boolean block) {
        // While a poll is armed the ring must be waited for: left behind, it would end the next wait for nothing.
        if (inFlight == 0 && !pollArmed && waiting.isEmpty()) {
            return loop.epollWait(events, maxEvents, block);
        }
        if (block && !pollArmed && unsubmitted < sqEntries) {
            IoUringSqe.pollReadable(sqes, nextSqe(), loop.epollFd(), POLL_TAG);
            pollArmed = true;
        }
        // Without an armed poll nothing but a completion would end the wait.
        long result = enter(block && pollArmed ? 1 : 0, IORING_ENTER_GETEVENTS);
        return result < 0 && !temporary(result) ? (int) result : 0;
    }

    /** Interrupted, out of kernel memory, or completions to be fetched first: the next round tries again. */
    private static boolean temporary(long errno) {
        return errno == -Errno.EINTR || errno == -Errno.EAGAIN || errno == -Errno.EBUSY;
    }

    @Override
    public boolean flush(boolean waitFollows) {
        if (waitFollows || unsubmitted == 0 && !kernelHasWork()) {
            return false;
        }
        enter(0, IORING_ENTER_GETEVENTS);
        return (int) INT.getAcquire(ring, cqTailAt) != ring.get(ValueLayout.JAVA_INT, cqHeadAt);
    }

    @Override
    public boolean reap() {
        int head = ring.get(ValueLayout.JAVA_INT, cqHeadAt);
        int tail = (int) INT.getAcquire(ring, cqTailAt);
        boolean epollReady = false;
        while (head != tail) {
            long cqe = cqesAt + (long) (head & cqMask) * CQE_BYTES;
            long tag = ring.get(ValueLayout.JAVA_LONG, cqe);
            int outcome = ring.get(ValueLayout.JAVA_INT, cqe + CQE_RESULT);
            head++;
            INT.setRelease(ring, cqHeadAt, head);
            if (tag == POLL_TAG) {
                pollArmed = false;
                epollReady = true;
            } else {
                completed((int) tag, outcome);
            }
        }
        pushWaiting();
        return epollReady || head != (int) INT.getAcquire(ring, cqTailAt);
    }

    /** Completions that the kernel only delivers when it is entered. */
    private boolean kernelHasWork() {
        int flags = (int) INT.getAcquire(ring, sqFlagsAt);
        return (flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
    }

    private void completed(int index, int outcome) {
        inFlight--;
        FileSlot slot = slots.at(index);
        if (slot.advance(outcome)) {
            push(slot);
        } else {
            slot.owner.done(slot);
        }
    }

    private void pushWaiting() {
        while (inFlight < maxInFlight && unsubmitted < sqEntries) {
            FileSlot slot = waiting.poll();
            if (slot == null) {
                return;
            }
            push(slot);
        }
    }

    @Override
    public void close() {
        files.close();
        LibC.munmap(sqes.address(), sqes.byteSize());
        LibC.munmap(ring.address(), ringBytes);
        LibC.close(fd);
    }
}
