package org.benchtop.softcpu;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * The host's memory by native address: where a translated guest access ends.
 *
 * <p>Accesses through the segments of {@code GuestMemory} would check bounds and liveness again, which the translation has
 * done: an address comes from the TLB, and a TLB is filled from the VM's memory slots only. The engine closes vCPUs before
 * it unmaps RAM.
 */
final class HostMemory {
    // SAFETY: covers the address space; every address that is used lies inside a live memory slot (see above).
    static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle ATOMIC_INT =
            ValueLayout.JAVA_INT.withOrder(ByteOrder.LITTLE_ENDIAN).varHandle();
    private static final VarHandle ATOMIC_LONG =
            ValueLayout.JAVA_LONG.withOrder(ByteOrder.LITTLE_ENDIAN).varHandle();

    private HostMemory() {}

    static int get8(long address) {
        return ALL.get(ValueLayout.JAVA_BYTE, address) & 0xff;
    }

    static int get16(long address) {
        return ALL.get(SHORT, address) & 0xffff;
    }

    static int get32(long address) {
        return ALL.get(INT, address);
    }

    static long get64(long address) {
        return ALL.get(LONG, address);
    }

    static void set8(long address, int value) {
        ALL.set(ValueLayout.JAVA_BYTE, address, (byte) value);
    }

    static void set16(long address, int value) {
        ALL.set(SHORT, address, (short) value);
    }

    static void set32(long address, int value) {
        ALL.set(INT, address, value);
    }

    static void set64(long address, long value) {
        ALL.set(LONG, address, value);
    }

    /** Zero-extended. */
    static long get(long address, int size) {
        return switch (size) {
            case 1 -> get8(address);
            case 2 -> get16(address);
            case 4 -> get32(address) & 0xffff_ffffL;
            default -> get64(address);
        };
    }

    static void set(long address, int size, long value) {
        switch (size) {
            case 1 -> set8(address, (int) value);
            case 2 -> set16(address, (int) value);
            case 4 -> set32(address, (int) value);
            default -> set64(address, value);
        }
    }

    /** Address 4-byte aligned. */
    static boolean compareAndSet32(long address, int expected, int value) {
        return ATOMIC_INT.compareAndSet(ALL, address, expected, value);
    }

    /** Address 8-byte aligned. */
    static boolean compareAndSet64(long address, long expected, long value) {
        return ATOMIC_LONG.compareAndSet(ALL, address, expected, value);
    }

    /** Address 8-byte aligned. */
    static long getVolatile64(long address) {
        return (long) ATOMIC_LONG.getVolatile(ALL, address);
    }

    static void copy(long from, long to, long length) {
        MemorySegment.copy(ALL, from, ALL, to, length);
    }

    /**
     * Replaces a value inside one aligned 8-byte word atomically.
     *
     * @param size 1, 2, 4 or 8, such that the value does not cross a multiple of 8
     */
    static boolean compareAndSet(long address, int size, long expected, long value) {
        if (size == 8) {
            return compareAndSet64(address, expected, value);
        }
        long word = address & -8;
        int shift = (int) (address & 7) << 3;
        long mask = (size == 4 ? 0xffff_ffffL : size == 2 ? 0xffffL : 0xffL) << shift;
        while (true) {
            long old = getVolatile64(word);
            if ((old & mask) != (expected << shift & mask)) {
                return false;
            }
            if (compareAndSet64(word, old, old & ~mask | value << shift & mask)) {
                return true;
            }
        }
    }
}
