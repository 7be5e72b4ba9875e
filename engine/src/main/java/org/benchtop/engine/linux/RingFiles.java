package org.benchtop.engine.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The files that one io_uring knows by number, so that the kernel need not look each request's descriptor up and count
 * its use. A file beyond what the table holds, or that the kernel refuses, is used by its descriptor. Loop thread only.
 * Source: io_uring_register(2).
 */
final class RingFiles {
    static final int NONE = -1;

    private static final int ENTRIES = 64;
    private static final int IORING_REGISTER_FILES = 2;
    private static final int IORING_UNREGISTER_FILES = 3;
    private static final int IORING_REGISTER_FILES_UPDATE = 6;
    private static final int UPDATE_BYTES = 16;
    private static final long UPDATE_FIRST = 0;
    private static final long UPDATE_FDS = 8;
    private static final int NO_FILE = -1;

    private final int ringFd;
    private final MemorySegment capture;
    private final MemorySegment update;
    private final MemorySegment descriptor;
    private final boolean[] used = new boolean[ENTRIES];
    private final boolean works;

    RingFiles(int ringFd, MemorySegment capture, Arena arena) {
        this.ringFd = ringFd;
        this.capture = capture;
        this.update = arena.allocate(UPDATE_BYTES, 8);
        this.descriptor = arena.allocate(ValueLayout.JAVA_INT);
        MemorySegment none = arena.allocate(4L * ENTRIES, 4);
        none.fill((byte) NO_FILE);
        this.works = register(IORING_REGISTER_FILES, none.address(), ENTRIES) >= 0;
    }

    /** Registers an open file; returns its number, or {@link #NONE}. */
    int add(int fd) {
        for (int i = 0; works && i < ENTRIES; i++) {
            if (!used[i]) {
                used[i] = set(i, fd);
                return used[i] ? i : NONE;
            }
        }
        return NONE;
    }

    /** Lets go of a file, which stays open in the kernel until then. */
    void remove(int number) {
        if (number != NONE && set(number, NO_FILE)) {
            used[number] = false;
        }
    }

    private boolean set(int number, int fd) {
        descriptor.set(ValueLayout.JAVA_INT, 0, fd);
        update.set(ValueLayout.JAVA_LONG, UPDATE_FIRST, number);
        update.set(ValueLayout.JAVA_LONG, UPDATE_FDS, descriptor.address());
        return register(IORING_REGISTER_FILES_UPDATE, update.address(), 1) == 1;
    }

    private long register(int operation, long address, int count) {
        return LibC.syscall(capture, SystemCall.IO_URING_REGISTER, ringFd, operation, address, count, 0, 0);
    }

    /** Lets go of all; the kernel would otherwise do it some time after the ring is closed. */
    void close() {
        if (works) {
            register(IORING_UNREGISTER_FILES, 0, 0);
        }
    }
}
