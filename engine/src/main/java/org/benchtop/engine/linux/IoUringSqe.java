package org.benchtop.engine.linux;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.benchtop.spi.host.FileOperation;

/** {@code struct io_uring_sqe}: fills whole entries. Source: io_uring_enter(2), include/uapi/linux/io_uring.h. */
final class IoUringSqe {
    static final int BYTES = 64;

    private static final int IORING_OP_READV = 1;
    private static final int IORING_OP_WRITEV = 2;
    private static final int IORING_OP_FSYNC = 3;
    private static final int IORING_OP_POLL_ADD = 6;
    private static final int IORING_OP_FALLOCATE = 17;
    private static final int IORING_OP_READ = 22;
    private static final int IORING_OP_WRITE = 23;
    private static final int IORING_FSYNC_DATASYNC = 1;
    private static final int POLLIN = 1;

    static final int[] USED_OPERATIONS = {
        IORING_OP_READV,
        IORING_OP_WRITEV,
        IORING_OP_FSYNC,
        IORING_OP_POLL_ADD,
        IORING_OP_FALLOCATE,
        IORING_OP_READ,
        IORING_OP_WRITE,
    };

    private static final long FD_SHIFT = 32;
    private static final long OFF = 8;
    private static final long ADDR = 16;
    private static final long LEN = 24;
    private static final long OP_FLAGS = 28;
    private static final long USER_DATA = 32;
    /** buf_index and personality, splice_fd_in, addr3 and padding: unused, so 0. */
    private static final long REST = 40;

    private IoUringSqe() {}

    private static void fill(
            MemorySegment sqes, long at, int opcode, int fd, long off, long addr, int len, int opFlags, long tag) {
        // opcode, flags and ioprio, which are 0, and the descriptor are one little-endian word.
        sqes.set(ValueLayout.JAVA_LONG, at, opcode | (long) fd << FD_SHIFT);
        sqes.set(ValueLayout.JAVA_LONG, at + OFF, off);
        sqes.set(ValueLayout.JAVA_LONG, at + ADDR, addr);
        sqes.set(ValueLayout.JAVA_INT, at + LEN, len);
        sqes.set(ValueLayout.JAVA_INT, at + OP_FLAGS, opFlags);
        sqes.set(ValueLayout.JAVA_LONG, at + USER_DATA, tag);
        sqes.set(ValueLayout.JAVA_LONG, at + REST, 0);
        sqes.set(ValueLayout.JAVA_LONG, at + REST + 8, 0);
        sqes.set(ValueLayout.JAVA_LONG, at + REST + 16, 0);
    }

    static void transfer(MemorySegment sqes, long at, int fd, FileSlot slot) {
        boolean single = slot.chunkCount() == 1 && slot.chunkBytes() <= Integer.MAX_VALUE;
        int opcode = slot.writes()
                ? (single ? IORING_OP_WRITE : IORING_OP_WRITEV)
                : (single ? IORING_OP_READ : IORING_OP_READV);
        long addr = single ? slot.firstAddress() : slot.chunkAddress();
        int len = single ? (int) slot.chunkBytes() : slot.chunkCount();
        fill(sqes, at, opcode, fd, slot.chunkOffsetBytes(), addr, len, 0, slot.index);
    }

    static void dataSync(MemorySegment sqes, long at, int fd, long tag) {
        fill(sqes, at, IORING_OP_FSYNC, fd, 0, 0, 0, IORING_FSYNC_DATASYNC, tag);
    }

    static void fallocate(MemorySegment sqes, long at, int fd, FileOperation operation, long tag) {
        int mode = LinuxFile.fallocateMode(operation.kind());
        // The length is in the address field and the mode in the length field.
        fill(sqes, at, IORING_OP_FALLOCATE, fd, operation.offsetBytes(), operation.lengthBytes(), mode, 0, tag);
    }

    static void pollReadable(MemorySegment sqes, long at, int fd, long tag) {
        fill(sqes, at, IORING_OP_POLL_ADD, fd, 0, 0, 0, POLLIN, tag);
    }
}
