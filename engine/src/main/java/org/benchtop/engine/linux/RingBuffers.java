package org.benchtop.engine.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/**
 * The guest memory that one io_uring knows as registered buffers: its pages are looked up and pinned once instead of for
 * every request.
 *
 * <p>Memory is registered in pieces, and only those that are used again and again, because a registered piece stays in
 * the host's memory and counts against {@code RLIMIT_MEMLOCK}. Where the kernel refuses, what is registered stays so and
 * everything else goes the ordinary way. Loop thread only. Source: io_uring_register(2).
 */
final class RingBuffers {
    /** Transfers through a piece before it is registered. */
    static final int WORTH = 16;

    static final int PIECE_BITS = 21;

    private static final int ENTRIES = 8192;
    private static final int NEVER = Integer.MAX_VALUE;
    private static final int NONE = -1;

    private static final int IORING_REGISTER_BUFFERS2 = 15;
    private static final int IORING_REGISTER_BUFFERS_UPDATE = 16;
    private static final int IORING_RSRC_REGISTER_SPARSE = 1;
    private static final int ARGUMENT_BYTES = 32;
    private static final long REGISTER_COUNT = 0;
    private static final long REGISTER_FLAGS = 4;
    private static final long UPDATE_FIRST = 0;
    private static final long UPDATE_DATA = 8;
    private static final long UPDATE_COUNT = 24;

    private final int ringFd;
    private final MemorySegment capture;
    private final MemorySegment argument;
    private final MemorySegment iovec;
    private final int[] free = new int[ENTRIES];
    private int freeCount;
    private GuestRam[] seen = {};
    private Region[] regions = {};
    private boolean tableMade;
    private boolean refused;

    /** One guest's memory: for each piece how often it was used, ~index of its buffer, or {@link #NEVER}. */
    private record Region(GuestRam ram, long address, long bytes, int[] pieces) {}

    RingBuffers(int ringFd, MemorySegment capture, Arena arena) {
        this.ringFd = ringFd;
        this.capture = capture;
        this.argument = arena.allocate(ARGUMENT_BYTES, 8);
        this.iovec = arena.allocate(Iovec.BYTES, 8);
    }

    /** The registered buffer that holds a stretch of memory; -1 if none does. */
    int find(long address, long bytes) {
        GuestRam[] live = GuestRam.live();
        if (live != seen) {
            look(live);
        }
        for (Region region : regions) {
            long offset = address - region.address;
            if (offset >= 0 && offset < region.bytes) {
                return piece(region, offset, bytes);
            }
        }
        return NONE;
    }

    private int piece(Region region, long offset, long bytes) {
        int piece = (int) (offset >>> PIECE_BITS);
        if (offset + bytes - 1 >>> PIECE_BITS != piece) {
            return NONE;
        }
        int state = region.pieces[piece];
        if (state < 0) {
            return ~state;
        }
        if (state == NEVER || refused) {
            return NONE;
        }
        region.pieces[piece] = state + 1;
        return state + 1 < WORTH ? NONE : register(region, piece);
    }

    private int register(Region region, int piece) {
        region.pieces[piece] = NEVER;
        if (!tableMade && !makeTable() || freeCount == 0) {
            return NONE;
        }
        int index = free[freeCount - 1];
        long start = (long) piece << PIECE_BITS;
        if (update(index, region.address + start, Math.min(1L << PIECE_BITS, region.bytes - start)) < 0) {
            refused = true;
            return NONE;
        }
        freeCount--;
        region.pieces[piece] = ~index;
        return index;
    }

    private boolean makeTable() {
        argument.fill((byte) 0);
        argument.set(ValueLayout.JAVA_INT, REGISTER_COUNT, ENTRIES);
        argument.set(ValueLayout.JAVA_INT, REGISTER_FLAGS, IORING_RSRC_REGISTER_SPARSE);
        tableMade = register(IORING_REGISTER_BUFFERS2) >= 0;
        refused = !tableMade;
        for (int i = 0; i < ENTRIES; i++) {
            free[i] = ENTRIES - 1 - i;
        }
        freeCount = ENTRIES;
        return tableMade;
    }

    private long update(int index, long address, long bytes) {
        Iovec.set(iovec, 0, address, bytes);
        argument.fill((byte) 0);
        argument.set(ValueLayout.JAVA_INT, UPDATE_FIRST, index);
        argument.set(ValueLayout.JAVA_LONG, UPDATE_DATA, iovec.address());
        argument.set(ValueLayout.JAVA_INT, UPDATE_COUNT, 1);
        return register(IORING_REGISTER_BUFFERS_UPDATE);
    }

    private long register(int operation) {
        return LibC.syscall(
                capture, SystemCall.IO_URING_REGISTER, ringFd, operation, argument.address(), ARGUMENT_BYTES, 0, 0);
    }

    /** Guests have come or gone: what is gone is given back, as its address may become other memory. */
    private void look(GuestRam[] live) {
        seen = live;
        for (Region region : regions) {
            if (!Arrays.asList(live).contains(region.ram)) {
                for (int state : region.pieces) {
                    if (state < 0 && update(~state, 0, 0) >= 0) {
                        free[freeCount++] = ~state;
                    }
                }
            }
        }
        Region[] now = new Region[live.length];
        for (int i = 0; i < live.length; i++) {
            now[i] = region(live[i]);
        }
        regions = now;
    }

    private Region region(GuestRam ram) {
        for (Region region : regions) {
            if (region.ram == ram) {
                return region;
            }
        }
        long bytes = ram.sizeBytes();
        return new Region(ram, ram.address(), bytes, new int[(int) (bytes + (1L << PIECE_BITS) - 1 >>> PIECE_BITS)]);
    }
}
