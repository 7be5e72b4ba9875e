package org.benchtop.block.qcow2;

import java.util.Arrays;

/** A set of non-negative numbers without boxing. Not thread-safe. */
final class LongSet {
    private long[] slots = new long[64];
    private int size;

    LongSet() {
        Arrays.fill(slots, -1);
    }

    int size() {
        return size;
    }

    long memoryBytes() {
        return slots.length * 8L;
    }

    private int slot(long value) {
        long mixed = value * 0x9e3779b97f4a7c15L;
        int slot = (int) (mixed >>> 33) & slots.length - 1;
        while (slots[slot] != -1 && slots[slot] != value) {
            slot = slot + 1 & slots.length - 1;
        }
        return slot;
    }

    boolean contains(long value) {
        return slots[slot(value)] == value;
    }

    /** Adds a number; false if it is there already. */
    boolean add(long value) {
        int slot = slot(value);
        if (slots[slot] == value) {
            return false;
        }
        slots[slot] = value;
        if (++size * 2 > slots.length) {
            long[] old = slots;
            slots = new long[old.length * 2];
            Arrays.fill(slots, -1);
            for (long other : old) {
                if (other != -1) {
                    slots[slot(other)] = other;
                }
            }
        }
        return true;
    }
}
