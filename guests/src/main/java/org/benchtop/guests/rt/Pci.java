package org.benchtop.guests.rt;

import org.benchtop.guests.lang.Guest;

/**
 * PCI configuration by mechanism #1 (PCI 3.0, 3.2.2.3.2), bus 0.
 *
 * <p>A function is named by its configuration address without the enable bit: device × 2048 + function × 256.
 */
public final class Pci {
    /** Configuration-space offsets. */
    public static final int COMMAND = 4;

    private static final int ADDRESS_PORT = 0xcf8;
    private static final int DATA_PORT = 0xcfc;
    private static final int ENABLE = 0x8000_0000;
    private static final int HEADER_TYPE = 0x0e;
    private static final int BAR0 = 0x10;
    private static final int CAPABILITIES = 0x34;
    private static final int LAST = 0x1_0000;
    private static long nextMemory = 0xe000_0000L;
    private static int nextPort = 0xc000;

    private Pci() {}

    /** Reads a 32-bit register; {@code offset} is a multiple of 4. */
    public static int read32(int function, int offset) {
        Guest.out32(ADDRESS_PORT, ENABLE | function | offset);
        return Guest.in32(DATA_PORT);
    }

    /** Writes a 32-bit register; {@code offset} is a multiple of 4. */
    public static void write32(int function, int offset, int value) {
        Guest.out32(ADDRESS_PORT, ENABLE | function | offset);
        Guest.out32(DATA_PORT, value);
    }

    /** Reads a 16-bit register. */
    public static int read16(int function, int offset) {
        return read32(function, offset & ~3) >>> 8 * (offset & 2) & 0xffff;
    }

    /** Reads an 8-bit register. */
    public static int read8(int function, int offset) {
        return read32(function, offset & ~3) >>> 8 * (offset & 3) & 0xff;
    }

    /** Writes a 16-bit register. */
    public static void write16(int function, int offset, int value) {
        Guest.out32(ADDRESS_PORT, ENABLE | function | offset & ~3);
        Guest.out16(DATA_PORT + (offset & 2), value);
    }

    /** The function after {@code function} that exists, from −1 on; −1 after the last. */
    public static int next(int function) {
        int candidate = function < 0 ? 0 : function + 0x100;
        while (candidate < LAST) {
            int device = candidate & ~0x7ff;
            if (candidate != device && (read8(device, HEADER_TYPE) & 0x80) == 0) {
                candidate = device + 0x800;
            } else if ((read32(candidate, 0) & 0xffff) != 0xffff) {
                return candidate;
            } else {
                candidate = candidate == device ? device + 0x800 : candidate + 0x100;
            }
        }
        return -1;
    }

    /** Vendor in the low half, device in the high half. */
    public static int id(int function) {
        return read32(function, 0);
    }

    /** Switches on port and memory decoding and bus mastering. */
    public static void enable(int function) {
        write16(function, COMMAND, read16(function, COMMAND) | 7);
    }

    /** The offset of the next capability with this id after {@code after} (0 = from the start), or 0. */
    public static int capability(int function, int id, int after) {
        int at = read8(function, after == 0 ? CAPABILITIES : after + 1) & ~3;
        for (int steps = 0; at != 0 && steps < 64; steps++) {
            if (read8(function, at) == id) {
                return at;
            }
            at = read8(function, at + 1) & ~3;
        }
        return 0;
    }

    /** The address or port that a BAR decodes; an unassigned one is placed first. */
    public static long bar(int function, int index) {
        int offset = BAR0 + 4 * index;
        int low = read32(function, offset);
        if ((low & 1) != 0) {
            return (low & ~3) != 0 ? low & ~3 : placePort(function, offset);
        }
        boolean wide = (low & 6) == 4;
        long address = Integer.toUnsignedLong(low & ~15);
        if (wide) {
            address |= Integer.toUnsignedLong(read32(function, offset + 4)) << 32;
        }
        return address != 0 ? address : placeMemory(function, offset, wide);
    }

    private static long placePort(int function, int offset) {
        write32(function, offset, -1);
        int size = -(read32(function, offset) & 0xfffc) & 0xffff;
        nextPort = (nextPort + size - 1) & -size;
        int port = nextPort;
        write32(function, offset, port);
        nextPort += size;
        return port;
    }

    private static long placeMemory(int function, int offset, boolean wide) {
        write32(function, offset, -1);
        long size = Integer.toUnsignedLong(-(read32(function, offset) & ~15));
        if (size == 0) {
            Exit.fail(Exit.NO_DEVICE, "a PCI BAR is not implemented or larger than 2 GiB");
        }
        nextMemory = (nextMemory + size - 1) & -size;
        long address = nextMemory;
        write32(function, offset, (int) address);
        if (wide) {
            write32(function, offset + 4, 0);
        }
        nextMemory += size;
        return address;
    }
}
