package org.benchtop.softcpu.simd;

/** AES rounds and carry-less multiplication on lanes of two words (FIPS 197; Intel SDM vol. 2). */
final class Aes {
    private static final int[] SBOX = new int[256];
    private static final int[] INVERSE_SBOX = new int[256];
    /** SubBytes and MixColumns of a byte in row 0; other rows are rotations. */
    private static final int[] ENCRYPT = new int[256];

    private static final int[] DECRYPT = new int[256];
    /** InvMixColumns alone. */
    private static final int[] INVERSE_MIX = new int[256];

    private Aes() {}

    static {
        int p = 1;
        int q = 1;
        do {
            // p runs through all non-zero elements by the generator 3, q through their inverses.
            p = p ^ times2(p);
            q ^= q << 1;
            q ^= q << 2;
            q ^= q << 4;
            q &= 0xff;
            if ((q & 0x80) != 0) {
                q ^= 0x09;
            }
            int s = q ^ rotate8(q, 1) ^ rotate8(q, 2) ^ rotate8(q, 3) ^ rotate8(q, 4) ^ 0x63;
            SBOX[p] = s;
            INVERSE_SBOX[s] = p;
        } while (p != 1);
        SBOX[0] = 0x63;
        INVERSE_SBOX[0x63] = 0;
        for (int i = 0; i < 256; i++) {
            int s = SBOX[i];
            ENCRYPT[i] = column(times2(s), s, s, times2(s) ^ s);
            INVERSE_MIX[i] = column(times(i, 14), times(i, 9), times(i, 13), times(i, 11));
        }
        for (int i = 0; i < 256; i++) {
            DECRYPT[i] = INVERSE_MIX[INVERSE_SBOX[i]];
        }
    }

    private static int rotate8(int v, int n) {
        return (v << n | v >>> (8 - n)) & 0xff;
    }

    private static int times2(int v) {
        return (v << 1 ^ ((v & 0x80) != 0 ? 0x1b : 0)) & 0xff;
    }

    private static int times(int v, int by) {
        int r = 0;
        int x = v;
        for (int b = by; b != 0; b >>= 1) {
            if ((b & 1) != 0) {
                r ^= x;
            }
            x = times2(x);
        }
        return r;
    }

    private static int column(int row0, int row1, int row2, int row3) {
        return row0 | row1 << 8 | row2 << 16 | row3 << 24;
    }

    private static long columns(int low, int high) {
        return low & 0xffff_ffffL | (long) high << 32;
    }

    private static int round(int[] table, int c0, int c1, int c2, int c3) {
        return table[c0 & 0xff]
                ^ Integer.rotateLeft(table[c1 >>> 8 & 0xff], 8)
                ^ Integer.rotateLeft(table[c2 >>> 16 & 0xff], 16)
                ^ Integer.rotateLeft(table[c3 >>> 24], 24);
    }

    private static int lastRound(int[] sbox, int c0, int c1, int c2, int c3) {
        return column(sbox[c0 & 0xff], sbox[c1 >>> 8 & 0xff], sbox[c2 >>> 16 & 0xff], sbox[c3 >>> 24]);
    }

    static void aesenc(long[] v, int d, int a, int b, int imm) {
        int c0 = (int) v[a];
        int c1 = (int) (v[a] >>> 32);
        int c2 = (int) v[a + 1];
        int c3 = (int) (v[a + 1] >>> 32);
        long low = columns(round(ENCRYPT, c0, c1, c2, c3), round(ENCRYPT, c1, c2, c3, c0)) ^ v[b];
        v[d + 1] = columns(round(ENCRYPT, c2, c3, c0, c1), round(ENCRYPT, c3, c0, c1, c2)) ^ v[b + 1];
        v[d] = low;
    }

    static void aesenclast(long[] v, int d, int a, int b, int imm) {
        int c0 = (int) v[a];
        int c1 = (int) (v[a] >>> 32);
        int c2 = (int) v[a + 1];
        int c3 = (int) (v[a + 1] >>> 32);
        long low = columns(lastRound(SBOX, c0, c1, c2, c3), lastRound(SBOX, c1, c2, c3, c0)) ^ v[b];
        v[d + 1] = columns(lastRound(SBOX, c2, c3, c0, c1), lastRound(SBOX, c3, c0, c1, c2)) ^ v[b + 1];
        v[d] = low;
    }

    static void aesdec(long[] v, int d, int a, int b, int imm) {
        int c0 = (int) v[a];
        int c1 = (int) (v[a] >>> 32);
        int c2 = (int) v[a + 1];
        int c3 = (int) (v[a + 1] >>> 32);
        long low = columns(round(DECRYPT, c0, c3, c2, c1), round(DECRYPT, c1, c0, c3, c2)) ^ v[b];
        v[d + 1] = columns(round(DECRYPT, c2, c1, c0, c3), round(DECRYPT, c3, c2, c1, c0)) ^ v[b + 1];
        v[d] = low;
    }

    static void aesdeclast(long[] v, int d, int a, int b, int imm) {
        int c0 = (int) v[a];
        int c1 = (int) (v[a] >>> 32);
        int c2 = (int) v[a + 1];
        int c3 = (int) (v[a + 1] >>> 32);
        long low = columns(lastRound(INVERSE_SBOX, c0, c3, c2, c1), lastRound(INVERSE_SBOX, c1, c0, c3, c2)) ^ v[b];
        v[d + 1] = columns(lastRound(INVERSE_SBOX, c2, c1, c0, c3), lastRound(INVERSE_SBOX, c3, c2, c1, c0)) ^ v[b + 1];
        v[d] = low;
    }

    private static int inverseMix(int c) {
        return round(INVERSE_MIX, c, c, c, c);
    }

    static void aesimc(long[] v, int d, int a, int b, int imm) {
        long low = columns(inverseMix((int) v[b]), inverseMix((int) (v[b] >>> 32)));
        v[d + 1] = columns(inverseMix((int) v[b + 1]), inverseMix((int) (v[b + 1] >>> 32)));
        v[d] = low;
    }

    static void aeskeygenassist(long[] v, int d, int a, int b, int imm) {
        int x1 = (int) (v[b] >>> 32);
        int x3 = (int) (v[b + 1] >>> 32);
        int s1 = lastRound(SBOX, x1, x1, x1, x1);
        int s3 = lastRound(SBOX, x3, x3, x3, x3);
        int constant = imm & 0xff;
        v[d] = columns(s1, Integer.rotateRight(s1, 8) ^ constant);
        v[d + 1] = columns(s3, Integer.rotateRight(s3, 8) ^ constant);
    }

    static void pclmulqdq(long[] v, int d, int a, int b, int imm) {
        long x = v[a + (imm & 1)];
        long y = v[b + (imm >> 4 & 1)];
        long low = 0;
        long high = 0;
        while (x != 0) {
            int i = Long.numberOfTrailingZeros(x);
            low ^= y << i;
            // Two shifts, because a shift by 64 would be one by 0.
            high ^= y >>> 1 >>> (63 - i);
            x &= x - 1;
        }
        v[d] = low;
        v[d + 1] = high;
    }
}
