package org.benchtop.block.qcow2;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** Copies of table parts with the places that they are written to. Grows as needed and is used again. */
final class CommitBuffer {
    private MemorySegment memory = Arena.ofAuto().allocate(64 << 10, 4096);
    private long usedBytes;
    private long[] offsets = new long[16];
    private long[] starts = new long[16];
    private int[] lengths = new int[16];
    private int[] slots = new int[16];
    private int count;

    void clear() {
        count = 0;
        usedBytes = 0;
    }

    /** Copies a range that shall be written at {@code offset}. */
    void add(long offset, MemorySegment from, long fromOffset, int length, int slot) {
        long start = reserve(offset, length, slot);
        MemorySegment.copy(from, fromOffset, memory, start, length);
    }

    /** Makes room for a range that shall be written at {@code offset}; returns where it starts in the memory. */
    long reserve(long offset, int length, int slot) {
        if (usedBytes + length > memory.byteSize()) {
            MemorySegment larger = Arena.ofAuto().allocate(Math.max(memory.byteSize() * 2, usedBytes + length), 4096);
            MemorySegment.copy(memory, 0, larger, 0, usedBytes);
            memory = larger;
        }
        if (count == offsets.length) {
            offsets = Arrays.copyOf(offsets, count * 2);
            starts = Arrays.copyOf(starts, count * 2);
            lengths = Arrays.copyOf(lengths, count * 2);
            slots = Arrays.copyOf(slots, count * 2);
        }
        offsets[count] = offset;
        starts[count] = usedBytes;
        lengths[count] = length;
        slots[count] = slot;
        count++;
        long start = usedBytes;
        usedBytes += length;
        return start;
    }

    long memoryBytes() {
        return memory.byteSize();
    }

    int count() {
        return count;
    }

    MemorySegment memory() {
        return memory;
    }

    long offset(int index) {
        return offsets[index];
    }

    long start(int index) {
        return starts[index];
    }

    int length(int index) {
        return lengths[index];
    }

    int slot(int index) {
        return slots[index];
    }
}
