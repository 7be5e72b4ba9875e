package org.benchtop.spi.memory;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/**
 * A growable, reusable scatter-gather list: the guest buffers of one request, in place.
 *
 * <p>Each element is a range of a base segment, kept as base + offset + length so that filling the list allocates
 * nothing once it has grown. Not thread-safe: it belongs to one request.
 */
public final class IoVector {
    private static final int INITIAL_ELEMENTS = 8;

    private MemorySegment[] bases = new MemorySegment[INITIAL_ELEMENTS];
    private long[] offsets = new long[INITIAL_ELEMENTS];
    private long[] lengths = new long[INITIAL_ELEMENTS];
    private int count;
    private long sizeBytes;

    public IoVector() {
        Arrays.fill(bases, MemorySegment.NULL);
    }

    /** Empties the list, keeping its capacity. */
    public void clear() {
        count = 0;
        sizeBytes = 0;
    }

    /**
     * Appends a range of a segment; a range that continues the last one in memory is merged with it.
     *
     * @throws IndexOutOfBoundsException if the range is outside the segment
     */
    public void add(MemorySegment base, long offset, long lengthBytes) {
        if (offset < 0 || lengthBytes < 0 || offset > base.byteSize() - lengthBytes) {
            throw new IndexOutOfBoundsException("range outside segment: offset=" + offset + " length=" + lengthBytes
                    + " segment=" + base.byteSize());
        }
        if (lengthBytes == 0) {
            return;
        }
        sizeBytes += lengthBytes;
        if (count > 0 && continues(base, offset)) {
            lengths[count - 1] += lengthBytes;
            return;
        }
        if (count == bases.length) {
            grow();
        }
        bases[count] = base;
        offsets[count] = offset;
        lengths[count] = lengthBytes;
        count++;
    }

    private boolean continues(MemorySegment base, long offset) {
        MemorySegment last = bases[count - 1];
        // Equality of segments compares where they start only.
        return offsets[count - 1] + lengths[count - 1] == offset
                && last.byteSize() == base.byteSize()
                && last.equals(base);
    }

    /** Appends {@code lengthBytes} bytes of another list, starting {@code skipBytes} into it. */
    public void addFrom(IoVector other, long skipBytes, long lengthBytes) {
        if (skipBytes < 0 || lengthBytes < 0 || skipBytes > other.sizeBytes - lengthBytes) {
            throw new IndexOutOfBoundsException("range outside vector: skip=" + skipBytes + " length=" + lengthBytes
                    + " vector=" + other.sizeBytes);
        }
        long skip = skipBytes;
        long left = lengthBytes;
        for (int i = 0; left > 0; i++) {
            long length = other.lengths[i];
            if (skip >= length) {
                skip -= length;
                continue;
            }
            long take = Math.min(left, length - skip);
            add(other.bases[i], other.offsets[i] + skip, take);
            left -= take;
            skip = 0;
        }
    }

    private void grow() {
        int capacity = bases.length * 2;
        int old = bases.length;
        bases = Arrays.copyOf(bases, capacity);
        Arrays.fill(bases, old, capacity, MemorySegment.NULL);
        offsets = Arrays.copyOf(offsets, capacity);
        lengths = Arrays.copyOf(lengths, capacity);
    }

    /** The number of elements. */
    public int count() {
        return count;
    }

    /** The sum of all lengths. */
    public long sizeBytes() {
        return sizeBytes;
    }

    /** The segment that element {@code index} is a range of. */
    public MemorySegment base(int index) {
        return bases[checkedIndex(index)];
    }

    /** Where element {@code index} starts in its base. */
    public long offset(int index) {
        return offsets[checkedIndex(index)];
    }

    /** The length of element {@code index}. */
    public long length(int index) {
        return lengths[checkedIndex(index)];
    }

    /** The native address of element {@code index}, for system calls. */
    public long address(int index) {
        return bases[checkedIndex(index)].address() + offsets[index];
    }

    /** Element {@code index} as a segment of its own; allocates. */
    public MemorySegment segment(int index) {
        return bases[checkedIndex(index)].asSlice(offsets[index], lengths[index]);
    }

    private int checkedIndex(int index) {
        if (index < 0 || index >= count) {
            throw new IndexOutOfBoundsException("element " + index + " of " + count);
        }
        return index;
    }

    /** Copies bytes out of the list into a segment, starting {@code skipBytes} into the list. */
    public void copyTo(long skipBytes, MemorySegment destination, long destinationOffset, long lengthBytes) {
        transfer(skipBytes, destination, destinationOffset, lengthBytes, false);
    }

    /** Copies bytes from a segment into the list, starting {@code skipBytes} into the list. */
    public void copyFrom(long skipBytes, MemorySegment source, long sourceOffset, long lengthBytes) {
        transfer(skipBytes, source, sourceOffset, lengthBytes, true);
    }

    private void transfer(long skipBytes, MemorySegment other, long otherOffset, long lengthBytes, boolean intoList) {
        if (skipBytes < 0 || lengthBytes < 0 || skipBytes > sizeBytes - lengthBytes) {
            throw new IndexOutOfBoundsException(
                    "range outside vector: skip=" + skipBytes + " length=" + lengthBytes + " vector=" + sizeBytes);
        }
        long skip = skipBytes;
        long done = 0;
        for (int i = 0; done < lengthBytes; i++) {
            if (skip >= lengths[i]) {
                skip -= lengths[i];
                continue;
            }
            long take = Math.min(lengthBytes - done, lengths[i] - skip);
            if (intoList) {
                MemorySegment.copy(other, otherOffset + done, bases[i], offsets[i] + skip, take);
            } else {
                MemorySegment.copy(bases[i], offsets[i] + skip, other, otherOffset + done, take);
            }
            done += take;
            skip = 0;
        }
    }

    /** Sets bytes of the list to a value. */
    public void fill(long skipBytes, long lengthBytes, byte value) {
        if (skipBytes < 0 || lengthBytes < 0 || skipBytes > sizeBytes - lengthBytes) {
            throw new IndexOutOfBoundsException(
                    "range outside vector: skip=" + skipBytes + " length=" + lengthBytes + " vector=" + sizeBytes);
        }
        long skip = skipBytes;
        long left = lengthBytes;
        for (int i = 0; left > 0; i++) {
            if (skip >= lengths[i]) {
                skip -= lengths[i];
                continue;
            }
            long take = Math.min(left, lengths[i] - skip);
            bases[i].asSlice(offsets[i] + skip, take).fill(value);
            left -= take;
            skip = 0;
        }
    }

    /** Reads one byte {@code position} bytes into the list. */
    public byte getByte(long position) {
        long skip = position;
        for (int i = 0; i < count; i++) {
            if (skip < lengths[i]) {
                return bases[i].get(ValueLayout.JAVA_BYTE, offsets[i] + skip);
            }
            skip -= lengths[i];
        }
        throw new IndexOutOfBoundsException("byte " + position + " of " + sizeBytes);
    }
}
