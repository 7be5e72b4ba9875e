package org.benchtop.engine.linux;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/**
 * A block of memory for a guest: zeroed, page-aligned, and taken from the host page by page as it is touched, so that
 * far more than the host has may be reserved.
 *
 * <p>{@link #segment} may be used by any thread until {@link #close}; later accesses through it throw instead of
 * reaching unmapped memory. System calls and guests use the address, which that does not protect: end them first.
 */
public final class GuestRam implements AutoCloseable {
    private static final int MFD_CLOEXEC = 1;
    private static final int MFD_HUGETLB = 4;
    private static final int MFD_HUGE_2MB = 21 << 26;
    private static final int MADV_HUGEPAGE = 14;
    private static final int MADV_DONTDUMP = 16;
    private static final long PAGE_BYTES = 4096;
    private static final long HUGE_PAGE_BYTES = 2L << 20;
    /** User space of x86-64 with four-level page tables. */
    private static final long ADDRESS_SPACE_BYTES = 1L << 47;

    private static volatile GuestRam[] live = {};

    private final int fd;
    private final Arena arena;
    private final MemorySegment segment;

    /** What the memory is made of. */
    public enum Pages {
        /** Ordinary pages. */
        NORMAL,
        /** Ordinary pages that the kernel joins to 2 MiB ones where it can. */
        TRANSPARENT_HUGE,
        /** 2 MiB pages that the administrator has set aside; all are claimed at once. */
        HUGE,
    }

    private GuestRam(int fd, Arena arena, MemorySegment segment) {
        this.fd = fd;
        this.arena = arena;
        this.segment = segment;
    }

    /**
     * Reserves memory.
     *
     * @param name for {@code /proc/PID/maps} and errors
     * @param sizeBytes a multiple of 4096, or of 2 MiB for {@link Pages#HUGE}
     * @param shared backs it by a memfd that other processes (vhost-user back ends) can map; otherwise it is anonymous
     * @throws BenchtopException of kind CONFIG for an impossible size, HOST if the host cannot give so much
     */
    @SuppressWarnings("MustBeClosedChecker") // close() closes the arena
    public static GuestRam allocate(String name, long sizeBytes, boolean shared, Pages pages) {
        LinuxHost.requireAvailable();
        long unit = pages == Pages.HUGE ? HUGE_PAGE_BYTES : PAGE_BYTES;
        if (sizeBytes <= 0 || sizeBytes % unit != 0) {
            throw BenchtopException.config(
                    "memory " + name + ": size " + sizeBytes + " must be a positive multiple of " + unit + " bytes");
        }
        if (sizeBytes > ADDRESS_SPACE_BYTES - 2 * HUGE_PAGE_BYTES) {
            throw BenchtopException.config("memory " + name + ": size " + mebibytes(sizeBytes)
                    + " is above what an address space holds, " + mebibytes(ADDRESS_SPACE_BYTES));
        }
        int fd = shared ? createMemfd(name, sizeBytes, pages) : -1;
        try {
            long address = map(name, sizeBytes, fd, pages);
            // Not in core dumps: a guest's memory is large and may be secret. A kernel without that option still works.
            LibC.madvise(address, sizeBytes, MADV_DONTDUMP);
            if (pages == Pages.TRANSPARENT_HUGE) {
                int result = LibC.madvise(address, sizeBytes, MADV_HUGEPAGE);
                if (result < 0) {
                    LibC.munmap(address, sizeBytes);
                    throw Errno.exception("memory " + name + ": transparent huge pages", result);
                }
            }
            Arena arena = Arena.ofShared();
            // SAFETY: the range was mapped just now and is unmapped by the arena's clean-up and nothing else.
            MemorySegment segment = MemorySegment.ofAddress(address)
                    .reinterpret(sizeBytes, arena, mapped -> LibC.munmap(address, sizeBytes));
            GuestRam ram = new GuestRam(fd, arena, segment);
            enlist(ram);
            return ram;
        } catch (RuntimeException e) {
            if (fd >= 0) {
                LibC.close(fd);
            }
            throw e;
        }
    }

    /** All memory that is not closed; a new array whenever that changes. */
    static GuestRam[] live() {
        return live;
    }

    private static synchronized void enlist(GuestRam ram) {
        GuestRam[] longer = Arrays.copyOf(live, live.length + 1);
        longer[longer.length - 1] = ram;
        live = longer;
    }

    private static synchronized void strike(GuestRam ram) {
        live = Arrays.stream(live).filter(other -> other != ram).toArray(GuestRam[]::new);
    }

    private static int createMemfd(String name, long sizeBytes, Pages pages) {
        int flags = MFD_CLOEXEC | (pages == Pages.HUGE ? MFD_HUGETLB | MFD_HUGE_2MB : 0);
        int fd = Errno.checkedInt("memory " + name + ": memfd_create", LibC.memfdCreate("benchtop-" + name, flags));
        int result = LibC.ftruncate(fd, sizeBytes);
        if (result < 0) {
            LibC.close(fd);
            throw Errno.exception("memory " + name + ": size " + mebibytes(sizeBytes), result);
        }
        return fd;
    }

    private static long map(String name, long sizeBytes, int fd, Pages pages) {
        boolean huge = pages == Pages.HUGE;
        // Reserved with room to spare and trimmed, so that guest and host can use 2 MiB pages at the same offsets.
        long roomBytes = sizeBytes + HUGE_PAGE_BYTES;
        long room = LibC.mmap(
                0, roomBytes, LibC.PROT_NONE, LibC.MAP_PRIVATE | LibC.MAP_ANONYMOUS | LibC.MAP_NORESERVE, -1, 0);
        if (room < 0) {
            throw mapFailed(name, sizeBytes, pages, room);
        }
        long address = (room + HUGE_PAGE_BYTES - 1) & -HUGE_PAGE_BYTES;
        if (address > room) {
            LibC.munmap(room, address - room);
        }
        long tail = room + roomBytes - (address + sizeBytes);
        if (tail > 0) {
            LibC.munmap(address + sizeBytes, tail);
        }
        int sharing = fd >= 0 ? LibC.MAP_SHARED : LibC.MAP_PRIVATE | LibC.MAP_ANONYMOUS;
        int backing = huge ? (fd >= 0 ? 0 : LibC.MAP_HUGETLB | LibC.MAP_HUGE_2MB) : LibC.MAP_NORESERVE;
        long mapped = LibC.mmap(
                address, sizeBytes, LibC.PROT_READ | LibC.PROT_WRITE, sharing | backing | LibC.MAP_FIXED, fd, 0);
        if (mapped < 0) {
            LibC.munmap(address, sizeBytes);
            throw mapFailed(name, sizeBytes, pages, mapped);
        }
        return mapped;
    }

    private static BenchtopException mapFailed(String name, long sizeBytes, Pages pages, long errno) {
        String what = "memory " + name + ": cannot reserve " + mebibytes(sizeBytes);
        if (pages == Pages.HUGE) {
            return BenchtopException.host(what + " of 2 MiB huge pages, " + freeHugePages()
                    + " are free (see /proc/sys/vm/nr_hugepages): " + Errno.describe(errno));
        }
        return BenchtopException.of(
                ErrorKind.HOST,
                what + " of address space (see ulimit -v): " + Errno.describe(errno),
                java.util.Map.of("errno", Errno.name(errno)),
                null);
    }

    private static String freeHugePages() {
        try {
            return Files.readString(Path.of("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"))
                    .strip();
        } catch (IOException e) {
            return "none";
        }
    }

    private static String mebibytes(long sizeBytes) {
        return (sizeBytes >> 20) + " MiB";
    }

    /** The memory; accesses after {@link #close} throw. */
    public MemorySegment segment() {
        return segment;
    }

    /** Where the memory is, 2 MiB-aligned. */
    public long address() {
        return segment.address();
    }

    /** The size in bytes. */
    long sizeBytes() {
        return segment.byteSize();
    }

    /** The memfd behind shared memory, or -1. */
    public int fd() {
        return fd;
    }

    /** Unmaps the memory. Nothing may use its address any more. */
    @Override
    public void close() {
        if (arena.scope().isAlive()) {
            strike(this);
            arena.close();
            if (fd >= 0) {
                LibC.close(fd);
            }
        }
    }
}
