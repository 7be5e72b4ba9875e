package org.benchtop.engine.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * What O_DIRECT needs of an open file.
 *
 * @param offsetBytes the alignment of file offsets and lengths; 0 where the file has no direct I/O
 * @param memoryBytes the alignment of buffer addresses
 */
record DirectAlignment(int offsetBytes, int memoryBytes) {
    /** For files opened without O_DIRECT. */
    static final DirectAlignment NONE = new DirectAlignment(1, 1);

    private static final int STATX_DIOALIGN = 0x2000;
    private static final int AT_EMPTY_PATH = 0x1000;
    private static final long STATX_BYTES = 256;
    private static final long STX_DIO_MEM_ALIGN = 0x98;
    private static final long STX_DIO_OFFSET_ALIGN = 0x9c;
    private static final long BLKSSZGET = 0x1268;
    private static final int SMALLEST = 512;
    private static final int LARGEST = 4096;

    /** Asks statx (Linux 6.1), else the block device, else tries reads. */
    static DirectAlignment of(int fd, boolean blockDevice) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment statx = arena.allocate(STATX_BYTES, 8);
            MemorySegment emptyPath = arena.allocateFrom("");
            int result = LibC.statx(fd, emptyPath.address(), AT_EMPTY_PATH, STATX_DIOALIGN, statx.address());
            if (result == 0 && (statx.get(ValueLayout.JAVA_INT, 0) & STATX_DIOALIGN) != 0) {
                return new DirectAlignment(
                        statx.get(ValueLayout.JAVA_INT, STX_DIO_OFFSET_ALIGN),
                        statx.get(ValueLayout.JAVA_INT, STX_DIO_MEM_ALIGN));
            }
            return blockDevice ? ofBlockDevice(fd, arena) : byReading(fd, arena);
        }
    }

    private static DirectAlignment ofBlockDevice(int fd, Arena arena) {
        MemorySegment size = arena.allocate(ValueLayout.JAVA_INT);
        Errno.checked("BLKSSZGET", LibC.ioctl(fd, BLKSSZGET, size.address()));
        int logicalBlock = size.get(ValueLayout.JAVA_INT, 0);
        return new DirectAlignment(logicalBlock, logicalBlock);
    }

    /** The smallest block that can be read; an empty file tells nothing, so the largest is assumed. */
    static DirectAlignment byReading(int fd, Arena arena) {
        MemorySegment buffer = arena.allocate(LARGEST, LARGEST);
        for (int align = SMALLEST; align < LARGEST; align *= 2) {
            if (LibC.pread(fd, buffer.address(), align, 0) > 0) {
                return new DirectAlignment(align, align);
            }
        }
        return new DirectAlignment(LARGEST, LARGEST);
    }
}
