package org.benchtop.spi.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class IoVectorTest {
    private final MemorySegment memory = Arena.ofAuto().allocate(4096, 4096);
    private final IoVector vector = new IoVector();

    private void number() {
        for (int i = 0; i < 4096; i++) {
            memory.set(ValueLayout.JAVA_BYTE, i, (byte) (i * 7));
        }
    }

    @Test
    void continuedRangeIsMerged() {
        vector.add(memory, 100, 10);
        vector.add(memory, 110, 20);
        vector.add(memory, 131, 5);

        assertEquals(2, vector.count());
        assertEquals(30, vector.length(0));
        assertEquals(35, vector.sizeBytes());
        assertEquals(memory.address() + 131, vector.address(1));
    }

    @Test
    void rangeOfAShorterSegmentAtTheSameAddressIsNotMerged() {
        vector.add(memory.asSlice(0, 100), 90, 10);
        vector.add(memory, 100, 10);

        assertEquals(20, vector.sizeBytes());
        byte[] all = new byte[20];
        vector.copyTo(0, MemorySegment.ofArray(all), 0, 20);
        assertEquals(20, all.length);
    }

    @Test
    void emptyRangeAddsNothing() {
        vector.add(memory, 4096, 0);

        assertEquals(0, vector.count());
    }

    @Test
    void rangeOutsideTheSegmentIsRefusedAndLeavesTheVectorAlone() {
        vector.add(memory, 0, 8);

        assertThrows(IndexOutOfBoundsException.class, () -> vector.add(memory, 4000, 97));
        assertThrows(IndexOutOfBoundsException.class, () -> vector.add(memory, -1, 4));
        assertThrows(IndexOutOfBoundsException.class, () -> vector.add(memory, 0, -1));
        assertThrows(IndexOutOfBoundsException.class, () -> vector.add(memory, 1, Long.MAX_VALUE));
        assertEquals(8, vector.sizeBytes());
    }

    @Test
    void listGrowsBeyondItsFirstCapacity() {
        for (int i = 0; i < 1000; i++) {
            vector.add(memory, i * 4L, 3);
        }

        assertEquals(1000, vector.count());
        assertEquals(3000, vector.sizeBytes());
        assertEquals(999 * 4, vector.offset(999));
    }

    @Test
    void clearedVectorIsEmptyAndReusable() {
        vector.add(memory, 0, 8);
        vector.clear();
        assertEquals(0, vector.sizeBytes());
        assertThrows(IndexOutOfBoundsException.class, () -> vector.length(0));

        vector.add(memory, 8, 4);

        assertEquals(8, vector.offset(0));
    }

    @Test
    void copiesInAndOutAgreeWithAFlatArrayForAllSplits() {
        Random random = new Random(11);
        for (int round = 0; round < 200; round++) {
            number();
            vector.clear();
            int at = 0;
            while (at < 3500) {
                int length = 1 + random.nextInt(300);
                vector.add(memory, at, length);
                at += length + random.nextInt(40);
            }
            int size = (int) vector.sizeBytes();
            byte[] flat = new byte[size];
            vector.copyTo(0, MemorySegment.ofArray(flat), 0, size);
            int skip = random.nextInt(size);
            int length = random.nextInt(size - skip);
            byte[] change = new byte[length];
            random.nextBytes(change);
            System.arraycopy(change, 0, flat, skip, length);

            vector.copyFrom(skip, MemorySegment.ofArray(change), 0, length);

            byte[] now = new byte[size];
            vector.copyTo(0, MemorySegment.ofArray(now), 0, size);
            assertArrayEquals(flat, now);
            if (length > 0) {
                assertEquals(change[length / 2], vector.getByte(skip + length / 2));
            }
        }
    }

    @Test
    void partOfAnotherVectorIsAppended() {
        number();
        IoVector source = new IoVector();
        source.add(memory, 0, 10);
        source.add(memory, 20, 10);
        source.add(memory, 40, 10);

        vector.addFrom(source, 5, 17);

        byte[] bytes = new byte[17];
        vector.copyTo(0, MemorySegment.ofArray(bytes), 0, 17);
        for (int i = 0; i < 17; i++) {
            assertEquals(source.getByte(5 + i), bytes[i]);
        }
        assertThrows(IndexOutOfBoundsException.class, () -> vector.addFrom(source, 20, 11));
    }

    @Test
    void fillStaysInsideItsRange() {
        vector.add(memory, 0, 4);
        vector.add(memory, 8, 4);

        vector.fill(2, 4, (byte) 9);

        assertArrayEquals(
                new byte[] {0, 0, 9, 9, 0, 0, 0, 0, 9, 9, 0, 0},
                memory.asSlice(0, 12).toArray(ValueLayout.JAVA_BYTE));
        assertThrows(IndexOutOfBoundsException.class, () -> vector.fill(4, 5, (byte) 1));
    }

    @Test
    void copyBeyondTheVectorIsRefused() {
        vector.add(memory, 0, 8);

        assertThrows(IndexOutOfBoundsException.class, () -> vector.copyTo(1, memory, 100, 8));
        assertThrows(IndexOutOfBoundsException.class, () -> vector.copyFrom(-1, memory, 100, 2));
        assertThrows(IndexOutOfBoundsException.class, () -> vector.getByte(8));
    }

    @Test
    void elementAsSegmentIsTheSameMemory() {
        vector.add(memory, 16, 16);

        vector.segment(0).set(ValueLayout.JAVA_BYTE, 3, (byte) 5);

        assertEquals(5, memory.get(ValueLayout.JAVA_BYTE, 19));
    }
}
