package org.benchtop.ide.drive;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** Fills the 256 words that a device says about itself (ATA8-ACS, 7.12 and 7.13). */
final class IdentifyData {
    static final int BYTES = 512;

    private static final ValueLayout.OfShort WORD = ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int CHECKSUM_SIGNATURE = 0xa5;

    private final MemorySegment data;

    IdentifyData(MemorySegment data) {
        this.data = data.asSlice(0, BYTES);
        this.data.fill((byte) 0);
    }

    IdentifyData word(int index, int value) {
        data.set(WORD, 2L * index, (short) value);
        return this;
    }

    /** A number in several words, lowest first. */
    IdentifyData words(int index, int count, long value) {
        for (int i = 0; i < count; i++) {
            word(index + i, (int) (value >>> 16 * i));
        }
        return this;
    }

    /** Characters, two in each word with the first one in its high byte, padded with spaces. */
    IdentifyData text(int index, int characters, String text) {
        for (int i = 0; i < characters; i++) {
            char c = i < text.length() ? text.charAt(i) : ' ';
            data.set(ValueLayout.JAVA_BYTE, 2L * index + (i ^ 1), (byte) c);
        }
        return this;
    }

    /** Makes the sum of all bytes zero (word 255). */
    void checksum() {
        data.set(ValueLayout.JAVA_BYTE, BYTES - 2, (byte) CHECKSUM_SIGNATURE);
        checksum(data, 0);
    }

    /** Sets the last byte of a sector so that all its bytes add up to zero. */
    static void checksum(MemorySegment sector, long offset) {
        int sum = 0;
        for (int i = 0; i < BYTES - 1; i++) {
            sum += sector.get(ValueLayout.JAVA_BYTE, offset + i);
        }
        sector.set(ValueLayout.JAVA_BYTE, offset + BYTES - 1, (byte) -sum);
    }
}
