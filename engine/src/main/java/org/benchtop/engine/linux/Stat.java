package org.benchtop.engine.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The parts of {@code struct stat} of an open descriptor that are looked at. Source: stat(2), struct stat of x86-64.
 *
 * @param mode type and permissions
 * @param device the device that holds the file
 * @param inode the file's number there
 * @param sizeBytes the length of a regular file
 */
record Stat(int mode, long device, long inode, long sizeBytes) {
    private static final long BYTES = 144;
    private static final long ST_DEV = 0;
    private static final long ST_INO = 8;
    private static final long ST_MODE = 24;
    private static final long ST_SIZE = 48;

    private static final int S_IFMT = 0170000;
    private static final int S_IFIFO = 0010000;
    private static final int S_IFCHR = 0020000;
    private static final int S_IFDIR = 0040000;
    private static final int S_IFBLK = 0060000;
    private static final int S_IFREG = 0100000;
    private static final int S_IFSOCK = 0140000;

    static Stat of(int fd) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(BYTES, 8);
            Errno.checked("fstat", LibC.fstat(fd, buffer.address()));
            return new Stat(
                    buffer.get(ValueLayout.JAVA_INT, ST_MODE),
                    buffer.get(ValueLayout.JAVA_LONG, ST_DEV),
                    buffer.get(ValueLayout.JAVA_LONG, ST_INO),
                    buffer.get(ValueLayout.JAVA_LONG, ST_SIZE));
        }
    }

    boolean regularFile() {
        return (mode & S_IFMT) == S_IFREG;
    }

    boolean blockDevice() {
        return (mode & S_IFMT) == S_IFBLK;
    }

    String typeName() {
        return switch (mode & S_IFMT) {
            case S_IFREG -> "regular file";
            case S_IFBLK -> "block device";
            case S_IFCHR -> "character device";
            case S_IFDIR -> "directory";
            case S_IFIFO -> "pipe";
            case S_IFSOCK -> "socket";
            default -> "file of type 0" + Integer.toOctalString(mode & S_IFMT);
        };
    }
}
