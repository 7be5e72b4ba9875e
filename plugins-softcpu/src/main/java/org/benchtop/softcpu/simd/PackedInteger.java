package org.benchtop.softcpu.simd;

/**
 * Packed-integer operations on 64 bits: what an MMX instruction does, and each half of an SSE one (Intel SDM vol. 2).
 * Element 0 is the lowest. Static and allocation-free.
 */
final class PackedInteger {
    private static final long HIGH_8 = 0x8080_8080_8080_8080L;
    private static final long HIGH_16 = 0x8000_8000_8000_8000L;
    private static final long HIGH_32 = 0x8000_0000_8000_0000L;

    private PackedInteger() {}

    private static int s8(long v, int shift) {
        return (byte) (v >>> shift);
    }

    private static int u8(long v, int shift) {
        return (int) (v >>> shift) & 0xff;
    }

    private static int s16(long v, int shift) {
        return (short) (v >>> shift);
    }

    private static int u16(long v, int shift) {
        return (int) (v >>> shift) & 0xffff;
    }

    private static long low32(int v) {
        return v & 0xffff_ffffL;
    }

    private static int signed8(int v) {
        return Math.max(-128, Math.min(127, v));
    }

    private static int unsigned8(int v) {
        return Math.max(0, Math.min(255, v));
    }

    private static int signed16(int v) {
        return Math.max(-32768, Math.min(32767, v));
    }

    private static int unsigned16(int v) {
        return Math.max(0, Math.min(65535, v));
    }

    static long paddb(long a, long b) {
        return (a & ~HIGH_8) + (b & ~HIGH_8) ^ (a ^ b) & HIGH_8;
    }

    static long psubb(long a, long b) {
        return (a | HIGH_8) - (b & ~HIGH_8) ^ (a ^ ~b) & HIGH_8;
    }

    static long pcmpeqb(long a, long b) {
        long x = a ^ b;
        long zero = ~((x & ~HIGH_8) + ~HIGH_8 | x) & HIGH_8;
        return (zero << 1) - (zero >>> 7);
    }

    static long paddw(long a, long b) {
        return (a & ~HIGH_16) + (b & ~HIGH_16) ^ (a ^ b) & HIGH_16;
    }

    static long psubw(long a, long b) {
        return (a | HIGH_16) - (b & ~HIGH_16) ^ (a ^ ~b) & HIGH_16;
    }

    static long pcmpeqw(long a, long b) {
        long x = a ^ b;
        long zero = ~((x & ~HIGH_16) + ~HIGH_16 | x) & HIGH_16;
        return (zero << 1) - (zero >>> 15);
    }

    static long paddd(long a, long b) {
        return (a & ~HIGH_32) + (b & ~HIGH_32) ^ (a ^ b) & HIGH_32;
    }

    static long psubd(long a, long b) {
        return (a | HIGH_32) - (b & ~HIGH_32) ^ (a ^ ~b) & HIGH_32;
    }

    static long pcmpeqd(long a, long b) {
        long x = a ^ b;
        long zero = ~((x & ~HIGH_32) + ~HIGH_32 | x) & HIGH_32;
        return (zero << 1) - (zero >>> 31);
    }

    static long paddq(long a, long b) {
        return a + b;
    }

    static long psubq(long a, long b) {
        return a - b;
    }

    static long pcmpeqq(long a, long b) {
        return a == b ? -1 : 0;
    }

    static long pcmpgtq(long a, long b) {
        return a > b ? -1 : 0;
    }

    static long pand(long a, long b) {
        return a & b;
    }

    static long pandn(long a, long b) {
        return ~a & b;
    }

    static long por(long a, long b) {
        return a | b;
    }

    static long pxor(long a, long b) {
        return a ^ b;
    }

    static long pcmpgtb(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 8) {
            int x = s8(a, i);
            int y = s8(b, i);
            r |= ((x > y ? -1 : 0) & 0xffL) << i;
        }
        return r;
    }

    static long pcmpgtw(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 16) {
            int x = s16(a, i);
            int y = s16(b, i);
            r |= ((x > y ? -1 : 0) & 0xffffL) << i;
        }
        return r;
    }

    static long pcmpgtd(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 32) {
            int x = (int) (a >>> i);
            int y = (int) (b >>> i);
            r |= low32(x > y ? -1 : 0) << i;
        }
        return r;
    }

    static long paddsb(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 8) {
            int x = s8(a, i);
            int y = s8(b, i);
            r |= ((signed8(x + y)) & 0xffL) << i;
        }
        return r;
    }

    static long paddsw(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 16) {
            int x = s16(a, i);
            int y = s16(b, i);
            r |= ((signed16(x + y)) & 0xffffL) << i;
        }
        return r;
    }

    static long paddusb(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 8) {
            int x = u8(a, i);
            int y = u8(b, i);
            r |= ((unsigned8(x + y)) & 0xffL) << i;
        }
        return r;
    }

    static long paddusw(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 16) {
            int x = u16(a, i);
            int y = u16(b, i);
            r |= ((unsigned16(x + y)) & 0xffffL) << i;
        }
        return r;
    }

    static long psubsb(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 8) {
            int x = s8(a, i);
            int y = s8(b, i);
            r |= ((signed8(x - y)) & 0xffL) << i;
        }
        return r;
    }

    static long psubsw(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 16) {
            int x = s16(a, i);
            int y = s16(b, i);
            r |= ((signed16(x - y)) & 0xffffL) << i;
        }
        return r;
    }

    static long psubusb(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 8) {
            int x = u8(a, i);
            int y = u8(b, i);
            r |= ((unsigned8(x - y)) & 0xffL) << i;
        }
        return r;
    }

    static long psubusw(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 16) {
            int x = u16(a, i);
            int y = u16(b, i);
            r |= ((unsigned16(x - y)) & 0xffffL) << i;
        }
        return r;
    }

    static long pminub(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 8) {
            int x = u8(a, i);
            int y = u8(b, i);
            r |= ((Math.min(x, y)) & 0xffL) << i;
        }
        return r;
    }

    static long pmaxub(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 8) {
            int x = u8(a, i);
            int y = u8(b, i);
            r |= ((Math.max(x, y)) & 0xffL) << i;
        }
        return r;
    }

    static long pminsb(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 8) {
            int x = s8(a, i);
            int y = s8(b, i);
            r |= ((Math.min(x, y)) & 0xffL) << i;
        }
        return r;
    }

    static long pmaxsb(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 8) {
            int x = s8(a, i);
            int y = s8(b, i);
            r |= ((Math.max(x, y)) & 0xffL) << i;
        }
        return r;
    }

    static long pminsw(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 16) {
            int x = s16(a, i);
            int y = s16(b, i);
            r |= ((Math.min(x, y)) & 0xffffL) << i;
        }
        return r;
    }

    static long pmaxsw(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 16) {
            int x = s16(a, i);
            int y = s16(b, i);
            r |= ((Math.max(x, y)) & 0xffffL) << i;
        }
        return r;
    }

    static long pminuw(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 16) {
            int x = u16(a, i);
            int y = u16(b, i);
            r |= ((Math.min(x, y)) & 0xffffL) << i;
        }
        return r;
    }

    static long pmaxuw(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 16) {
            int x = u16(a, i);
            int y = u16(b, i);
            r |= ((Math.max(x, y)) & 0xffffL) << i;
        }
        return r;
    }

    static long pminsd(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 32) {
            int x = (int) (a >>> i);
            int y = (int) (b >>> i);
            r |= low32(Math.min(x, y)) << i;
        }
        return r;
    }

    static long pmaxsd(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 32) {
            int x = (int) (a >>> i);
            int y = (int) (b >>> i);
            r |= low32(Math.max(x, y)) << i;
        }
        return r;
    }

    static long pminud(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 32) {
            long x = (a >>> i & 0xffff_ffffL);
            long y = (b >>> i & 0xffff_ffffL);
            r |= ((Math.min(x, y)) & 0xffff_ffffL) << i;
        }
        return r;
    }

    static long pmaxud(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 32) {
            long x = (a >>> i & 0xffff_ffffL);
            long y = (b >>> i & 0xffff_ffffL);
            r |= ((Math.max(x, y)) & 0xffff_ffffL) << i;
        }
        return r;
    }

    static long pavgb(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 8) {
            int x = u8(a, i);
            int y = u8(b, i);
            r |= ((x + y + 1 >> 1) & 0xffL) << i;
        }
        return r;
    }

    static long pavgw(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 16) {
            int x = u16(a, i);
            int y = u16(b, i);
            r |= ((x + y + 1 >> 1) & 0xffffL) << i;
        }
        return r;
    }

    static long pmullw(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 16) {
            int x = s16(a, i);
            int y = s16(b, i);
            r |= ((x * y) & 0xffffL) << i;
        }
        return r;
    }

    static long pmulhw(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 16) {
            int x = s16(a, i);
            int y = s16(b, i);
            r |= ((x * y >> 16) & 0xffffL) << i;
        }
        return r;
    }

    static long pmulhuw(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 16) {
            int x = u16(a, i);
            int y = u16(b, i);
            r |= ((x * y >>> 16) & 0xffffL) << i;
        }
        return r;
    }

    static long pmulhrsw(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 16) {
            int x = s16(a, i);
            int y = s16(b, i);
            r |= (((x * y >> 14) + 1 >> 1) & 0xffffL) << i;
        }
        return r;
    }

    static long pmulld(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 32) {
            int x = (int) (a >>> i);
            int y = (int) (b >>> i);
            r |= low32(x * y) << i;
        }
        return r;
    }

    static long psignb(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 8) {
            int x = s8(a, i);
            int y = s8(b, i);
            r |= ((y < 0 ? -x : y == 0 ? 0 : x) & 0xffL) << i;
        }
        return r;
    }

    static long psignw(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 16) {
            int x = s16(a, i);
            int y = s16(b, i);
            r |= ((y < 0 ? -x : y == 0 ? 0 : x) & 0xffffL) << i;
        }
        return r;
    }

    static long psignd(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 32) {
            int x = (int) (a >>> i);
            int y = (int) (b >>> i);
            r |= low32(y < 0 ? -x : y == 0 ? 0 : x) << i;
        }
        return r;
    }

    static long pmuludq(long a, long b) {
        return (a & 0xffff_ffffL) * (b & 0xffff_ffffL);
    }

    static long pmuldq(long a, long b) {
        return (long) (int) a * (int) b;
    }

    static long pmaddwd(long a, long b) {
        int low = s16(a, 0) * s16(b, 0) + s16(a, 16) * s16(b, 16);
        int high = s16(a, 32) * s16(b, 32) + s16(a, 48) * s16(b, 48);
        return low32(low) | (long) high << 32;
    }

    static long pmaddubsw(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 16) {
            int sum = u8(a, i) * s8(b, i) + u8(a, i + 8) * s8(b, i + 8);
            r |= (signed16(sum) & 0xffffL) << i;
        }
        return r;
    }

    static long psadbw(long a, long b) {
        int sum = 0;
        for (int i = 0; i < 64; i += 8) {
            sum += Math.abs(u8(a, i) - u8(b, i));
        }
        return sum;
    }

    /** Unary operations take their operand second, where memory operands are. */
    static long pabsb(long a, long b) {
        return psignb(b, b);
    }

    static long pabsw(long a, long b) {
        return psignw(b, b);
    }

    static long pabsd(long a, long b) {
        return psignd(b, b);
    }

    // ---------------------------------------------------------------- shifts by one count

    static long psllw(long a, long count) {
        return Long.compareUnsigned(count, 15) > 0 ? 0 : a << count & keepHigh16((int) count);
    }

    private static long keepHigh16(int count) {
        return (0xffffL << count & 0xffff) * 0x0001_0001_0001_0001L;
    }

    static long psrlw(long a, long count) {
        return Long.compareUnsigned(count, 15) > 0 ? 0 : a >>> count & (0xffffL >>> count) * 0x0001_0001_0001_0001L;
    }

    static long psraw(long a, long count) {
        int n = Long.compareUnsigned(count, 15) > 0 ? 15 : (int) count;
        long r = 0;
        for (int i = 0; i < 64; i += 16) {
            r |= (s16(a, i) >> n & 0xffffL) << i;
        }
        return r;
    }

    static long pslld(long a, long count) {
        if (Long.compareUnsigned(count, 31) > 0) {
            return 0;
        }
        int n = (int) count;
        return low32((int) a << n) | (long) ((int) (a >>> 32) << n) << 32;
    }

    static long psrld(long a, long count) {
        if (Long.compareUnsigned(count, 31) > 0) {
            return 0;
        }
        int n = (int) count;
        return low32((int) a >>> n) | (long) ((int) (a >>> 32) >>> n) << 32;
    }

    static long psrad(long a, long count) {
        int n = Long.compareUnsigned(count, 31) > 0 ? 31 : (int) count;
        return low32((int) a >> n) | a >> 32 >> n << 32;
    }

    static long psllq(long a, long count) {
        return Long.compareUnsigned(count, 63) > 0 ? 0 : a << count;
    }

    static long psrlq(long a, long count) {
        return Long.compareUnsigned(count, 63) > 0 ? 0 : a >>> count;
    }

    // ---------------------------------------------------------------- shifts by a count per element

    static long psllvd(long a, long b) {
        return pslld(a, b & 0xffff_ffffL) & 0xffff_ffffL | pslld(a, b >>> 32) & 0xffff_ffff_0000_0000L;
    }

    static long psrlvd(long a, long b) {
        return psrld(a, b & 0xffff_ffffL) & 0xffff_ffffL | psrld(a, b >>> 32) & 0xffff_ffff_0000_0000L;
    }

    static long psravd(long a, long b) {
        return psrad(a, b & 0xffff_ffffL) & 0xffff_ffffL | psrad(a, b >>> 32) & 0xffff_ffff_0000_0000L;
    }

    // ---------------------------------------------------------------- packing: four or two elements of one operand

    /** Four words to four bytes with signed saturation. */
    static long saturateWordsSigned(long a) {
        return signed8(s16(a, 0)) & 0xffL
                | (signed8(s16(a, 16)) & 0xffL) << 8
                | (signed8(s16(a, 32)) & 0xffL) << 16
                | (signed8(s16(a, 48)) & 0xffL) << 24;
    }

    /** Four words to four bytes with unsigned saturation. */
    static long saturateWordsUnsigned(long a) {
        return (long) unsigned8(s16(a, 0))
                | (long) unsigned8(s16(a, 16)) << 8
                | (long) unsigned8(s16(a, 32)) << 16
                | (long) unsigned8(s16(a, 48)) << 24;
    }

    /** Two doublewords to two words with signed saturation. */
    static long saturateDoublesSigned(long a) {
        return signed16((int) a) & 0xffffL | (signed16((int) (a >>> 32)) & 0xffffL) << 16;
    }

    /** Two doublewords to two words with unsigned saturation. */
    static long saturateDoublesUnsigned(long a) {
        return (long) unsigned16((int) a) | (long) unsigned16((int) (a >>> 32)) << 16;
    }

    static long packsswb(long a, long b) {
        return saturateWordsSigned(a) | saturateWordsSigned(b) << 32;
    }

    static long packuswb(long a, long b) {
        return saturateWordsUnsigned(a) | saturateWordsUnsigned(b) << 32;
    }

    static long packssdw(long a, long b) {
        return saturateDoublesSigned(a) | saturateDoublesSigned(b) << 32;
    }

    static long packusdw(long a, long b) {
        return saturateDoublesUnsigned(a) | saturateDoublesUnsigned(b) << 32;
    }

    // ---------------------------------------------------------------- interleaving

    private static long spread8(long v) {
        long x = v & 0xffff_ffffL;
        x = (x | x << 16) & 0x0000_ffff_0000_ffffL;
        return (x | x << 8) & 0x00ff_00ff_00ff_00ffL;
    }

    private static long spread16(long v) {
        long x = v & 0xffff_ffffL;
        return (x | x << 16) & 0x0000_ffff_0000_ffffL;
    }

    /** Interleaves the low four bytes of both. */
    static long punpcklbw(long a, long b) {
        return spread8(a) | spread8(b) << 8;
    }

    static long punpckhbw(long a, long b) {
        return spread8(a >>> 32) | spread8(b >>> 32) << 8;
    }

    static long punpcklwd(long a, long b) {
        return spread16(a) | spread16(b) << 16;
    }

    static long punpckhwd(long a, long b) {
        return spread16(a >>> 32) | spread16(b >>> 32) << 16;
    }

    static long punpckldq(long a, long b) {
        return a & 0xffff_ffffL | b << 32;
    }

    static long punpckhdq(long a, long b) {
        return a >>> 32 | b & 0xffff_ffff_0000_0000L;
    }

    // ---------------------------------------------------------------- horizontal: the pairs of one operand

    static long pairsAddWords(long a) {
        return s16(a, 0) + s16(a, 16) & 0xffffL | (s16(a, 32) + s16(a, 48) & 0xffffL) << 16;
    }

    static long pairsAddWordsSaturated(long a) {
        return signed16(s16(a, 0) + s16(a, 16)) & 0xffffL | (signed16(s16(a, 32) + s16(a, 48)) & 0xffffL) << 16;
    }

    static long pairsSubtractWords(long a) {
        return s16(a, 0) - s16(a, 16) & 0xffffL | (s16(a, 32) - s16(a, 48) & 0xffffL) << 16;
    }

    static long pairsSubtractWordsSaturated(long a) {
        return signed16(s16(a, 0) - s16(a, 16)) & 0xffffL | (signed16(s16(a, 32) - s16(a, 48)) & 0xffffL) << 16;
    }

    static long pairAddDoubles(long a) {
        return low32((int) a + (int) (a >>> 32));
    }

    static long pairSubtractDoubles(long a) {
        return low32((int) a - (int) (a >>> 32));
    }

    // ---------------------------------------------------------------- shuffles

    /** Four words selected by an immediate. */
    static long pshufw(long a, int order) {
        return a >>> 16 * (order & 3) & 0xffff
                | (a >>> 16 * (order >> 2 & 3) & 0xffff) << 16
                | (a >>> 16 * (order >> 4 & 3) & 0xffff) << 32
                | (a >>> 16 * (order >> 6 & 3)) << 48;
    }

    /** PSHUFB of MMX. */
    static long pshufb(long a, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 8) {
            int select = u8(b, i);
            if ((select & 0x80) == 0) {
                r |= (a >>> 8 * (select & 7) & 0xff) << i;
            }
        }
        return r;
    }

    /** Eight bytes of a 16-byte table, for PSHUFB of SSE. */
    static long pshufb(long low, long high, long b) {
        long r = 0;
        for (int i = 0; i < 64; i += 8) {
            int select = u8(b, i);
            if ((select & 0x80) == 0) {
                r |= ((select & 8) == 0 ? low >>> 8 * (select & 7) : high >>> 8 * (select & 7)) << i & 0xffL << i;
            }
        }
        return r;
    }

    /** PMOVMSKB: the top bits of the eight bytes. */
    static int signs8(long a) {
        return (int) (((a & HIGH_8) >>> 7) * 0x0102_0408_1020_4080L >>> 56);
    }

    /** Every byte of {@code b} whose mask byte has its top bit set, else of {@code a}. */
    static long blend8(long a, long b, long mask) {
        long m = (mask & HIGH_8) >>> 7;
        m = (m << 8) - m;
        return a & ~m | b & m;
    }

    static long blend32(long a, long b, long mask) {
        long m = (int) mask >> 31 & 0xffff_ffffL | mask >> 63 << 32;
        return a & ~m | b & m;
    }

    static long blend64(long a, long b, long mask) {
        return mask < 0 ? b : a;
    }
}
