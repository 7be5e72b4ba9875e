package org.benchtop.softcpu.simd;

/** Operations on 128-bit lanes that move data between the two words (Intel SDM vol. 2). Static and allocation-free. */
final class PackedLanes {
    private PackedLanes() {}

    /** The same operation on both words. */
    static Lane both(Word f) {
        return (v, d, a, b, imm) -> {
            long low = f.apply(v[a], v[b]);
            v[d + 1] = f.apply(v[a + 1], v[b + 1]);
            v[d] = low;
        };
    }

    /** Packs the words of the first operand into the lower half, those of the second into the upper half. */
    static Lane pack(Word f) {
        return (v, d, a, b, imm) -> {
            long low = f.apply(v[a], v[a + 1]);
            v[d + 1] = f.apply(v[b], v[b + 1]);
            v[d] = low;
        };
    }

    /** Something that makes 32 bits of 64. */
    @FunctionalInterface
    interface Half {
        long apply(long a);
    }

    /** A horizontal operation. */
    static Word pairs(Half f) {
        return (a, b) -> f.apply(a) | f.apply(b) << 32;
    }

    /** Interleaves the word {@code half} of both operands. */
    static Lane unpack(Word low, Word high, int half) {
        return (v, d, a, b, imm) -> {
            long x = v[a + half];
            long y = v[b + half];
            v[d] = low.apply(x, y);
            v[d + 1] = high.apply(x, y);
        };
    }

    static void punpcklqdq(long[] v, int d, int a, int b, int imm) {
        long y = v[b];
        v[d] = v[a];
        v[d + 1] = y;
    }

    static void punpckhqdq(long[] v, int d, int a, int b, int imm) {
        long y = v[b + 1];
        v[d] = v[a + 1];
        v[d + 1] = y;
    }

    /** A shift of both words by one count from the second operand. */
    static Lane shift(Word f) {
        return (v, d, a, b, imm) -> {
            long count = v[b];
            v[d] = f.apply(v[a], count);
            v[d + 1] = f.apply(v[a + 1], count);
        };
    }

    /** A shift of both words of {@code b} by the immediate. */
    static Lane shiftImmediate(Word f) {
        return (v, d, a, b, imm) -> {
            v[d] = f.apply(v[b], imm & 0xff);
            v[d + 1] = f.apply(v[b + 1], imm & 0xff);
        };
    }

    static void pslldq(long[] v, int d, int a, int b, int imm) {
        int n = imm & 0xff;
        long low = v[b];
        long high = v[b + 1];
        if (n >= 16) {
            v[d] = 0;
            v[d + 1] = 0;
        } else if (n >= 8) {
            v[d] = 0;
            v[d + 1] = low << 8 * (n - 8);
        } else if (n != 0) {
            v[d] = low << 8 * n;
            v[d + 1] = high << 8 * n | low >>> 64 - 8 * n;
        } else {
            v[d] = low;
            v[d + 1] = high;
        }
    }

    static void psrldq(long[] v, int d, int a, int b, int imm) {
        int n = imm & 0xff;
        long low = v[b];
        long high = v[b + 1];
        if (n >= 16) {
            v[d] = 0;
            v[d + 1] = 0;
        } else if (n >= 8) {
            v[d] = high >>> 8 * (n - 8);
            v[d + 1] = 0;
        } else if (n != 0) {
            v[d] = low >>> 8 * n | high << 64 - 8 * n;
            v[d + 1] = high >>> 8 * n;
        } else {
            v[d] = low;
            v[d + 1] = high;
        }
    }

    static void palignr(long[] v, int d, int a, int b, int imm) {
        int n = imm & 0xff;
        long w0 = v[b];
        long w1 = v[b + 1];
        long w2 = v[a];
        long w3 = v[a + 1];
        if (n >= 32) {
            v[d] = 0;
            v[d + 1] = 0;
            return;
        }
        int skip = n >> 3;
        long x0 = skip == 0 ? w0 : skip == 1 ? w1 : skip == 2 ? w2 : w3;
        long x1 = skip == 0 ? w1 : skip == 1 ? w2 : skip == 2 ? w3 : 0;
        long x2 = skip == 0 ? w2 : skip == 1 ? w3 : 0;
        int bits = 8 * (n & 7);
        v[d] = bits == 0 ? x0 : x0 >>> bits | x1 << 64 - bits;
        v[d + 1] = bits == 0 ? x1 : x1 >>> bits | x2 << 64 - bits;
    }

    /** PALIGNR of MMX. */
    static long palignr(long a, long b, int n) {
        int bits = 8 * (n & 0xff);
        if (bits == 0) {
            return b;
        }
        if (bits < 64) {
            return b >>> bits | a << 64 - bits;
        }
        return bits < 128 ? a >>> bits - 64 : 0;
    }

    static void pshufb(long[] v, int d, int a, int b, int imm) {
        long low = v[a];
        long high = v[a + 1];
        long selectLow = v[b];
        long selectHigh = v[b + 1];
        v[d] = PackedInteger.pshufb(low, high, selectLow);
        v[d + 1] = PackedInteger.pshufb(low, high, selectHigh);
    }

    private static long element32(long[] v, int b, int i) {
        return v[b + (i >> 1)] >>> 32 * (i & 1) & 0xffff_ffffL;
    }

    static void pshufd(long[] v, int d, int a, int b, int imm) {
        long low = element32(v, b, imm & 3) | element32(v, b, imm >> 2 & 3) << 32;
        v[d + 1] = element32(v, b, imm >> 4 & 3) | element32(v, b, imm >> 6 & 3) << 32;
        v[d] = low;
    }

    static void pshuflw(long[] v, int d, int a, int b, int imm) {
        v[d] = PackedInteger.pshufw(v[b], imm);
        v[d + 1] = v[b + 1];
    }

    static void pshufhw(long[] v, int d, int a, int b, int imm) {
        v[d + 1] = PackedInteger.pshufw(v[b + 1], imm);
        v[d] = v[b];
    }

    static void shufps(long[] v, int d, int a, int b, int imm) {
        long low = element32(v, a, imm & 3) | element32(v, a, imm >> 2 & 3) << 32;
        v[d + 1] = element32(v, b, imm >> 4 & 3) | element32(v, b, imm >> 6 & 3) << 32;
        v[d] = low;
    }

    static void shufpd(long[] v, int d, int a, int b, int imm) {
        long low = v[a + (imm & 1)];
        v[d + 1] = v[b + (imm >> 1 & 1)];
        v[d] = low;
    }

    static void vpermilpd(long[] v, int d, int a, int b, int imm) {
        long low = v[b + (imm & 1)];
        v[d + 1] = v[b + (imm >> 1 & 1)];
        v[d] = low;
    }

    static void vpermilpsVariable(long[] v, int d, int a, int b, int imm) {
        long s0 = v[b];
        long s1 = v[b + 1];
        long low = element32(v, a, (int) s0 & 3) | element32(v, a, (int) (s0 >>> 32) & 3) << 32;
        long high = element32(v, a, (int) s1 & 3) | element32(v, a, (int) (s1 >>> 32) & 3) << 32;
        v[d] = low;
        v[d + 1] = high;
    }

    static void vpermilpdVariable(long[] v, int d, int a, int b, int imm) {
        long low = v[a + ((int) v[b] >> 1 & 1)];
        long high = v[a + ((int) v[b + 1] >> 1 & 1)];
        v[d] = low;
        v[d + 1] = high;
    }

    static void movshdup(long[] v, int d, int a, int b, int imm) {
        v[d] = v[b] >>> 32 | v[b] & 0xffff_ffff_0000_0000L;
        v[d + 1] = v[b + 1] >>> 32 | v[b + 1] & 0xffff_ffff_0000_0000L;
    }

    static void movsldup(long[] v, int d, int a, int b, int imm) {
        v[d] = v[b] & 0xffff_ffffL | v[b] << 32;
        v[d + 1] = v[b + 1] & 0xffff_ffffL | v[b + 1] << 32;
    }

    static void movddup(long[] v, int d, int a, int b, int imm) {
        v[d] = v[b];
        v[d + 1] = v[b];
    }

    static void unpcklps(long[] v, int d, int a, int b, int imm) {
        long x = v[a];
        long y = v[b];
        v[d] = x & 0xffff_ffffL | y << 32;
        v[d + 1] = x >>> 32 | y & 0xffff_ffff_0000_0000L;
    }

    static void unpckhps(long[] v, int d, int a, int b, int imm) {
        long x = v[a + 1];
        long y = v[b + 1];
        v[d] = x & 0xffff_ffffL | y << 32;
        v[d + 1] = x >>> 32 | y & 0xffff_ffff_0000_0000L;
    }

    private static long mask32(int bits) {
        return ((bits & 1) != 0 ? 0xffff_ffffL : 0) | ((bits & 2) != 0 ? 0xffff_ffff_0000_0000L : 0);
    }

    static void blendps(long[] v, int d, int a, int b, int imm) {
        long m0 = mask32(imm);
        long m1 = mask32(imm >> 2);
        v[d] = v[a] & ~m0 | v[b] & m0;
        v[d + 1] = v[a + 1] & ~m1 | v[b + 1] & m1;
    }

    static void blendpd(long[] v, int d, int a, int b, int imm) {
        v[d] = (imm & 1) != 0 ? v[b] : v[a];
        v[d + 1] = (imm & 2) != 0 ? v[b + 1] : v[a + 1];
    }

    private static long mask16(int bits) {
        long m = 0;
        for (int i = 0; i < 4; i++) {
            m |= (bits >> i & 1) != 0 ? 0xffffL << 16 * i : 0;
        }
        return m;
    }

    static void pblendw(long[] v, int d, int a, int b, int imm) {
        long m0 = mask16(imm);
        long m1 = mask16(imm >> 4);
        v[d] = v[a] & ~m0 | v[b] & m0;
        v[d + 1] = v[a + 1] & ~m1 | v[b + 1] & m1;
    }

    static void mpsadbw(long[] v, int d, int a, int b, int imm) {
        int aOffset = 4 * (imm >> 2 & 1);
        int bOffset = 4 * (imm & 3);
        long a0 = v[a];
        long a1 = v[a + 1];
        int block = (int) (v[b + (bOffset >> 3)] >>> 8 * (bOffset & 7));
        long low = 0;
        long high = 0;
        for (int i = 0; i < 8; i++) {
            int sum = 0;
            for (int k = 0; k < 4; k++) {
                int at = aOffset + i + k;
                int x = (int) ((at < 8 ? a0 : a1) >>> 8 * (at & 7)) & 0xff;
                sum += Math.abs(x - (block >>> 8 * k & 0xff));
            }
            if (i < 4) {
                low |= (long) sum << 16 * i;
            } else {
                high |= (long) sum << 16 * (i - 4);
            }
        }
        v[d] = low;
        v[d + 1] = high;
    }

    static void phminposuw(long[] v, int d, int a, int b, int imm) {
        int best = 0x1_0000;
        int at = 0;
        for (int i = 0; i < 8; i++) {
            int x = (int) (v[b + (i >> 2)] >>> 16 * (i & 3)) & 0xffff;
            if (x < best) {
                best = x;
                at = i;
            }
        }
        v[d] = best | (long) at << 16;
        v[d + 1] = 0;
    }

    // ---------------------------------------------------------------- widening: n elements from 8·from bits to to bits

    /** Widens the low elements of {@code x} so that they fill one word. */
    static long widen(long x, int from, int to, boolean signed) {
        long r = 0;
        for (int i = 0; i < 64 / to; i++) {
            long e = x << 64 - from * (i + 1);
            e = signed ? e >> 64 - from : e >>> 64 - from;
            r |= to == 64 ? e : (e & (1L << to) - 1) << to * i;
        }
        return r;
    }
}
