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

    private static final int IORING_OP_READ_FIXED = 4;
    private static final int IORING_OP_WRITE_FIXED = 5;
    private static final int IOSQE_FIXED_FILE = 1 << 8;
    private static final long FD_SHIFT = 32;
    private static final long OFF = 8;
    private static final long ADDR = 16;
    private static final long LEN = 24;
    private static final long OP_FLAGS = 28;
    private static final long USER_DATA = 32;
    /** buf_index, then personality, splice_fd_in, addr3 and padding, which are unused and 0. */
    private static final long BUFFER_INDEX = 40;

    private IoUringSqe() {}

    /** @param first opcode, flags and ioprio */
    private static void fill(
            MemorySegment sqes,
            long at,
            int first,
            int fd,
            long off,
            long addr,
            int len,
            int opFlags,
            long tag,
            int buffer) {
        // They and the descriptor are one little-endian word.
        sqes.set(ValueLayout.JAVA_LONG, at, first | (long) fd << FD_SHIFT);
        sqes.set(ValueLayout.JAVA_LONG, at + OFF, off);
        sqes.set(ValueLayout.JAVA_LONG, at + ADDR, addr);
        sqes.set(ValueLayout.JAVA_INT, at + LEN, len);
        sqes.set(ValueLayout.JAVA_INT, at + OP_FLAGS, opFlags);
        sqes.set(ValueLayout.JAVA_LONG, at + USER_DATA, tag);
        sqes.set(ValueLayout.JAVA_LONG, at + BUFFER_INDEX, buffer);
        sqes.set(ValueLayout.JAVA_LONG, at + BUFFER_INDEX + 8, 0);
        sqes.set(ValueLayout.JAVA_LONG, at + BUFFER_INDEX + 16, 0);
    }

    private static void fill(
            MemorySegment sqes,
            long at,
            int opcode,
            FileSlot slot,
            long off,
            long addr,
            int len,
            int opFlags,
            int buffer) {
        boolean registered = slot.fileNumber >= 0;
        fill(
                sqes,
                at,
                registered ? opcode | IOSQE_FIXED_FILE : opcode,
                registered ? slot.fileNumber : slot.file.fd(),
                off,
                addr,
                len,
                opFlags,
                slot.index,
                buffer);
    }

    /** @param buffer the registered buffer that holds the memory of a single transfer, or -1 */
    static void transfer(MemorySegment sqes, long at, FileSlot slot, int buffer) {
        boolean writes = slot.writes();
        if (!slot.single()) {
            int opcode = writes ? IORING_OP_WRITEV : IORING_OP_READV;
            fill(sqes, at, opcode, slot, slot.chunkOffsetBytes(), slot.chunkAddress(), slot.chunkCount(), 0, 0);
            return;
        }
        int opcode = buffer >= 0
                ? (writes ? IORING_OP_WRITE_FIXED : IORING_OP_READ_FIXED)
                : (writes ? IORING_OP_WRITE : IORING_OP_READ);
        int bytes = (int) slot.chunkBytes();
        fill(sqes, at, opcode, slot, slot.chunkOffsetBytes(), slot.firstAddress(), bytes, 0, Math.max(buffer, 0));
    }

    static void dataSync(MemorySegment sqes, long at, FileSlot slot) {
        fill(sqes, at, IORING_OP_FSYNC, slot, 0, 0, 0, IORING_FSYNC_DATASYNC, 0);
    }

    static void fallocate(MemorySegment sqes, long at, FileOperation operation, FileSlot slot) {
        int mode = LinuxFile.fallocateMode(operation.kind());
        // The length is in the address field and the mode in the length field.
        fill(sqes, at, IORING_OP_FALLOCATE, slot, operation.offsetBytes(), operation.lengthBytes(), mode, 0, 0);
    }

    static void pollReadable(MemorySegment sqes, long at, int fd, long tag) {
        fill(sqes, at, IORING_OP_POLL_ADD, fd, 0, 0, 0, POLLIN, tag, 0);
    }
}
