package org.benchtop.ide.drive;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** A whole CD sector in mode 1 around 2048 bytes of data: sync, header, EDC and ECC (ECMA-130, clause 14 and annex A). */
final class RawSector {
    static final int BYTES = 2352;
    static final int DATA = 16;
    static final int DATA_BYTES = 2048;

    private static final int EDC = DATA + DATA_BYTES;
    private static final int P_PARITY = 2076;
    private static final int Q_PARITY = 2248;
    /** Reflected form of (x^16 + x^15 + x^2 + 1)(x^16 + x^2 + x + 1). */
    private static final int EDC_POLYNOMIAL = 0xd801_8001;
    /** x^8 + x^4 + x^3 + x^2 + 1. */
    private static final int FIELD_POLYNOMIAL = 0x11d;

    private static final int[] EDC_TABLE = new int[256];
    private static final int[] TIMES_ALPHA = new int[256];
    private static final int[] OVER_ALPHA_PLUS_ONE = new int[256];

    static {
        for (int i = 0; i < 256; i++) {
            int crc = i;
            for (int bit = 0; bit < 8; bit++) {
                crc = crc >>> 1 ^ ((crc & 1) != 0 ? EDC_POLYNOMIAL : 0);
            }
            EDC_TABLE[i] = crc;
            TIMES_ALPHA[i] = i << 1 ^ ((i & 0x80) != 0 ? FIELD_POLYNOMIAL : 0);
        }
        for (int i = 0; i < 256; i++) {
            OVER_ALPHA_PLUS_ONE[i ^ TIMES_ALPHA[i]] = i;
        }
    }

    private RawSector() {}

    /** Completes the sector at {@code at}, whose data is there already. */
    static void complete(MemorySegment memory, long at, long lba) {
        byte[] sector = new byte[BYTES];
        MemorySegment.copy(memory, ValueLayout.JAVA_BYTE, at + DATA, sector, DATA, DATA_BYTES);
        for (int i = 1; i <= 10; i++) {
            sector[i] = (byte) 0xff;
        }
        long frame = lba + 150;
        sector[12] = bcd(frame / 75 / 60);
        sector[13] = bcd(frame / 75 % 60);
        sector[14] = bcd(frame % 75);
        sector[15] = 1;
        int edc = 0;
        for (int i = 0; i < EDC; i++) {
            edc = edc >>> 8 ^ EDC_TABLE[(edc ^ sector[i]) & 0xff];
        }
        for (int i = 0; i < 4; i++) {
            sector[EDC + i] = (byte) (edc >>> 8 * i);
        }
        parity(sector, 86, 24, 2, 86, P_PARITY);
        parity(sector, 52, 43, 86, 88, Q_PARITY);
        MemorySegment.copy(sector, 0, memory, ValueLayout.JAVA_BYTE, at, BYTES);
    }

    private static byte bcd(long value) {
        return (byte) (value / 10 % 10 << 4 | value % 10);
    }

    /** Reed-Solomon parity over the bytes from the header on, in interleaved vectors. */
    private static void parity(byte[] sector, int vectors, int length, int majorStep, int minorStep, int to) {
        int size = vectors * length;
        for (int vector = 0; vector < vectors; vector++) {
            int index = (vector >> 1) * majorStep + (vector & 1);
            int a = 0;
            int b = 0;
            for (int i = 0; i < length; i++) {
                int value = sector[12 + index] & 0xff;
                index += minorStep;
                if (index >= size) {
                    index -= size;
                }
                a = TIMES_ALPHA[a ^ value];
                b ^= value;
            }
            a = OVER_ALPHA_PLUS_ONE[TIMES_ALPHA[a] ^ b];
            sector[to + vector] = (byte) a;
            sector[to + vectors + vector] = (byte) (a ^ b);
        }
    }
}
