package org.benchtop.softcpu.simd;

import org.benchtop.softcpu.fp.MxcsrArithmetic;

/** Floating-point operations on lanes, made of scalar operations (Intel SDM vol. 2). */
final class FloatKernels {
    private FloatKernels() {}

    /** A scalar binary32 operation; unary ones use {@code b}. */
    @FunctionalInterface
    interface Single {
        int apply(MxcsrArithmetic m, int a, int b);
    }

    /** A scalar binary64 operation; unary ones use {@code b}. */
    @FunctionalInterface
    interface Double {
        long apply(MxcsrArithmetic m, long a, long b);
    }

    private static long pair(int low, int high) {
        return low & 0xffff_ffffL | (long) high << 32;
    }

    private static long two(Single f, MxcsrArithmetic m, long x, long y) {
        return pair(f.apply(m, (int) x, (int) y), f.apply(m, (int) (x >>> 32), (int) (y >>> 32)));
    }

    /** Four elements. */
    static FloatLane ps(Single f) {
        return (m, v, d, a, b, imm) -> {
            long low = two(f, m, v[a], v[b]);
            v[d + 1] = two(f, m, v[a + 1], v[b + 1]);
            v[d] = low;
        };
    }

    /** The lowest element; the rest comes from {@code a}. */
    static FloatLane ss(Single f) {
        return (m, v, d, a, b, imm) -> {
            v[d] = v[a] & 0xffff_ffff_0000_0000L | f.apply(m, (int) v[a], (int) v[b]) & 0xffff_ffffL;
            v[d + 1] = v[a + 1];
        };
    }

    /** Two elements. */
    static FloatLane pd(Double f) {
        return (m, v, d, a, b, imm) -> {
            long low = f.apply(m, v[a], v[b]);
            v[d + 1] = f.apply(m, v[a + 1], v[b + 1]);
            v[d] = low;
        };
    }

    /** The lower element; the upper one comes from {@code a}. */
    static FloatLane sd(Double f) {
        return (m, v, d, a, b, imm) -> {
            v[d] = f.apply(m, v[a], v[b]);
            v[d + 1] = v[a + 1];
        };
    }

    // ---------------------------------------------------------------- with an immediate

    static void cmpps(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        long low = compareTwo(m, v[a], v[b], imm);
        v[d + 1] = compareTwo(m, v[a + 1], v[b + 1], imm);
        v[d] = low;
    }

    private static long compareTwo(MxcsrArithmetic m, long x, long y, int imm) {
        long low = m.compare32((int) x, (int) y, imm) ? 0xffff_ffffL : 0;
        return low | (m.compare32((int) (x >>> 32), (int) (y >>> 32), imm) ? 0xffff_ffff_0000_0000L : 0);
    }

    static void cmppd(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        long low = m.compare64(v[a], v[b], imm) ? -1 : 0;
        v[d + 1] = m.compare64(v[a + 1], v[b + 1], imm) ? -1 : 0;
        v[d] = low;
    }

    static void cmpss(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        v[d] = v[a] & 0xffff_ffff_0000_0000L | (m.compare32((int) v[a], (int) v[b], imm) ? 0xffff_ffffL : 0);
        v[d + 1] = v[a + 1];
    }

    static void cmpsd(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        v[d] = m.compare64(v[a], v[b], imm) ? -1 : 0;
        v[d + 1] = v[a + 1];
    }

    static void roundps(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        v[d] = pair(m.round32((int) v[b], imm), m.round32((int) (v[b] >>> 32), imm));
        v[d + 1] = pair(m.round32((int) v[b + 1], imm), m.round32((int) (v[b + 1] >>> 32), imm));
    }

    static void roundpd(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        v[d] = m.round64(v[b], imm);
        v[d + 1] = m.round64(v[b + 1], imm);
    }

    static void roundss(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        v[d] = v[a] & 0xffff_ffff_0000_0000L | m.round32((int) v[b], imm) & 0xffff_ffffL;
        v[d + 1] = v[a + 1];
    }

    static void roundsd(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        v[d] = m.round64(v[b], imm);
        v[d + 1] = v[a + 1];
    }

    /** DPPS: products, then sums of pairs, then their sum; each step rounds and signals. */
    static void dpps(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        dotProducts(m, v, d, a, b, imm, 1);
    }

    /** DPPS of two lanes: a step of both comes before the next step. */
    static void dppsWide(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        dotProducts(m, v, d, a, b, imm, 2);
    }

    private static void dotProducts(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm, int lanes) {
        // The words of the result hold the intermediate values.
        for (int i = 0; i < 2 * lanes; i++) {
            int select = imm >> ((i & 1) == 0 ? 4 : 6);
            int low = (select & 1) != 0 ? m.mul32((int) v[a + i], (int) v[b + i]) : 0;
            int high = (select & 2) != 0 ? m.mul32((int) (v[a + i] >>> 32), (int) (v[b + i] >>> 32)) : 0;
            v[d + i] = pair(low, high);
        }
        if (!m.step()) {
            return;
        }
        for (int i = 0; i < 2 * lanes; i++) {
            v[d + i] = m.add32((int) v[d + i], (int) (v[d + i] >>> 32));
        }
        if (!m.step()) {
            return;
        }
        for (int i = 0; i < 2 * lanes; i += 2) {
            int sum = m.add32((int) v[d + i], (int) v[d + i + 1]);
            v[d + i] = pair((imm & 1) != 0 ? sum : 0, (imm & 2) != 0 ? sum : 0);
            v[d + i + 1] = pair((imm & 4) != 0 ? sum : 0, (imm & 8) != 0 ? sum : 0);
        }
    }

    static void dppd(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        long p0 = (imm & 0x10) != 0 ? m.mul64(v[a], v[b]) : 0;
        long p1 = (imm & 0x20) != 0 ? m.mul64(v[a + 1], v[b + 1]) : 0;
        if (!m.step()) {
            return;
        }
        long sum = m.add64(p0, p1);
        v[d] = (imm & 1) != 0 ? sum : 0;
        v[d + 1] = (imm & 2) != 0 ? sum : 0;
    }

    // ---------------------------------------------------------------- horizontal

    static FloatLane horizontalPs(Single f) {
        return (m, v, d, a, b, imm) -> {
            long low = pair(
                    f.apply(m, (int) v[a], (int) (v[a] >>> 32)), f.apply(m, (int) v[a + 1], (int) (v[a + 1] >>> 32)));
            v[d + 1] = pair(
                    f.apply(m, (int) v[b], (int) (v[b] >>> 32)), f.apply(m, (int) v[b + 1], (int) (v[b + 1] >>> 32)));
            v[d] = low;
        };
    }

    static FloatLane horizontalPd(Double f) {
        return (m, v, d, a, b, imm) -> {
            long low = f.apply(m, v[a], v[a + 1]);
            v[d + 1] = f.apply(m, v[b], v[b + 1]);
            v[d] = low;
        };
    }

    static void addsubps(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        long low = pair(m.sub32((int) v[a], (int) v[b]), m.add32((int) (v[a] >>> 32), (int) (v[b] >>> 32)));
        v[d + 1] = pair(
                m.sub32((int) v[a + 1], (int) v[b + 1]), m.add32((int) (v[a + 1] >>> 32), (int) (v[b + 1] >>> 32)));
        v[d] = low;
    }

    static void addsubpd(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        long low = m.sub64(v[a], v[b]);
        v[d + 1] = m.add64(v[a + 1], v[b + 1]);
        v[d] = low;
    }

    // ---------------------------------------------------------------- conversions; the wide ones fill four words

    static void cvtps2pd(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        long x = v[b];
        v[d] = m.widen((int) x);
        v[d + 1] = m.widen((int) (x >>> 32));
    }

    static void cvtps2pdWide(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        long x = v[b];
        long y = v[b + 1];
        v[d] = m.widen((int) x);
        v[d + 1] = m.widen((int) (x >>> 32));
        v[d + 2] = m.widen((int) y);
        v[d + 3] = m.widen((int) (y >>> 32));
    }

    static void cvtpd2ps(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        v[d] = pair(m.narrow(v[b]), m.narrow(v[b + 1]));
        v[d + 1] = 0;
    }

    static void cvtpd2psWide(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        v[d] = pair(m.narrow(v[b]), m.narrow(v[b + 1]));
        v[d + 1] = pair(m.narrow(v[b + 2]), m.narrow(v[b + 3]));
        v[d + 2] = 0;
        v[d + 3] = 0;
    }

    static void cvtss2sd(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        v[d] = m.widen((int) v[b]);
        v[d + 1] = v[a + 1];
    }

    static void cvtsd2ss(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        v[d] = v[a] & 0xffff_ffff_0000_0000L | m.narrow(v[b]) & 0xffff_ffffL;
        v[d + 1] = v[a + 1];
    }

    static void cvtdq2ps(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        v[d] = pair(m.fromInt32((int) v[b]), m.fromInt32((int) (v[b] >>> 32)));
        v[d + 1] = pair(m.fromInt32((int) v[b + 1]), m.fromInt32((int) (v[b + 1] >>> 32)));
    }

    static FloatLane cvtps2dq(boolean truncate) {
        return (m, v, d, a, b, imm) -> {
            v[d] = pair(m.toInt32((int) v[b], truncate), m.toInt32((int) (v[b] >>> 32), truncate));
            v[d + 1] = pair(m.toInt32((int) v[b + 1], truncate), m.toInt32((int) (v[b + 1] >>> 32), truncate));
        };
    }

    static FloatLane cvtpd2dq(boolean truncate) {
        return (m, v, d, a, b, imm) -> {
            v[d] = pair(m.toInt64(v[b], truncate), m.toInt64(v[b + 1], truncate));
            v[d + 1] = 0;
        };
    }

    static FloatLane cvtpd2dqWide(boolean truncate) {
        return (m, v, d, a, b, imm) -> {
            v[d] = pair(m.toInt64(v[b], truncate), m.toInt64(v[b + 1], truncate));
            v[d + 1] = pair(m.toInt64(v[b + 2], truncate), m.toInt64(v[b + 3], truncate));
            v[d + 2] = 0;
            v[d + 3] = 0;
        };
    }

    static void cvtdq2pd(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        long x = v[b];
        v[d] = MxcsrArithmetic.fromInt64((int) x);
        v[d + 1] = MxcsrArithmetic.fromInt64((int) (x >>> 32));
    }

    static void cvtdq2pdWide(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        long x = v[b];
        long y = v[b + 1];
        v[d] = MxcsrArithmetic.fromInt64((int) x);
        v[d + 1] = MxcsrArithmetic.fromInt64((int) (x >>> 32));
        v[d + 2] = MxcsrArithmetic.fromInt64((int) y);
        v[d + 3] = MxcsrArithmetic.fromInt64((int) (y >>> 32));
    }

    private static long fromHalves(MxcsrArithmetic m, long x) {
        return pair(m.fromHalf((int) x & 0xffff), m.fromHalf((int) (x >>> 16) & 0xffff));
    }

    static void vcvtph2ps(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        long x = v[b];
        v[d] = fromHalves(m, x);
        v[d + 1] = fromHalves(m, x >>> 32);
    }

    static void vcvtph2psWide(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm) {
        long x = v[b];
        long y = v[b + 1];
        v[d] = fromHalves(m, x);
        v[d + 1] = fromHalves(m, x >>> 32);
        v[d + 2] = fromHalves(m, y);
        v[d + 3] = fromHalves(m, y >>> 32);
    }

    /** Two binary32 to two binary16. */
    static long toHalves(MxcsrArithmetic m, long x, int imm) {
        return m.toHalf((int) x, imm) & 0xffffL | (m.toHalf((int) (x >>> 32), imm) & 0xffffL) << 16;
    }

    // ---------------------------------------------------------------- approximations

    /**
     * RCPPS: the reciprocal rounded to 12 bits, within the documented 1.5 × 2^-12; signals nothing, denormals are zeros.
     */
    static int reciprocal(int v) {
        float x = Float.intBitsToFloat(v);
        if (Float.isNaN(x)) {
            return v | 0x40_0000;
        }
        if ((v & 0x7f80_0000) == 0) {
            return v & 0x8000_0000 | 0x7f80_0000;
        }
        return approximate(1.0 / x);
    }

    /** RSQRTPS, likewise. */
    static int reciprocalRoot(int v) {
        float x = Float.intBitsToFloat(v);
        if (Float.isNaN(x)) {
            return v | 0x40_0000;
        }
        if ((v & 0x7f80_0000) == 0) {
            return v & 0x8000_0000 | 0x7f80_0000;
        }
        if (x < 0) {
            return 0xffc0_0000;
        }
        return approximate(1.0 / Math.sqrt(x));
    }

    private static int approximate(double exact) {
        int bits = Float.floatToRawIntBits((float) exact);
        if ((bits & 0x7f80_0000) == 0) {
            return bits & 0x8000_0000;
        }
        if ((bits & 0x7f80_0000) == 0x7f80_0000) {
            return bits;
        }
        return bits + 0x400 & ~0x7ff;
    }

    // ---------------------------------------------------------------- fused multiply-add

    /** Whether the sign of the addend is changed in even and odd elements; whether the product's sign is. */
    record Signs(boolean product, boolean evenAddend, boolean oddAddend) {}

    private static int fma32(MxcsrArithmetic m, int order, int x, int y, int z, boolean product, boolean addend) {
        return switch (order) {
            case 132 -> m.fma32(x, z, y, product, addend);
            case 213 -> m.fma32(y, x, z, product, addend);
            default -> m.fma32(y, z, x, product, addend);
        };
    }

    private static long fma64(MxcsrArithmetic m, int order, long x, long y, long z, boolean product, boolean addend) {
        return switch (order) {
            case 132 -> m.fma64(x, z, y, product, addend);
            case 213 -> m.fma64(y, x, z, product, addend);
            default -> m.fma64(y, z, x, product, addend);
        };
    }

    /** The accumulator is operand 1: {@code v[a]} is the second operand, {@code imm} the word index of the first. */
    static FloatLane fmaPs(int order, Signs s) {
        return (m, v, d, a, b, first) -> {
            for (int i = 0; i < 2; i++) {
                long x = v[first + i];
                long y = v[a + i];
                long z = v[b + i];
                int low = fma32(m, order, (int) x, (int) y, (int) z, s.product(), s.evenAddend());
                int high = fma32(
                        m, order, (int) (x >>> 32), (int) (y >>> 32), (int) (z >>> 32), s.product(), s.oddAddend());
                v[d + i] = pair(low, high);
            }
        };
    }

    static FloatLane fmaPd(int order, Signs s) {
        return (m, v, d, a, b, first) -> {
            v[d] = fma64(m, order, v[first], v[a], v[b], s.product(), s.evenAddend());
            v[d + 1] = fma64(m, order, v[first + 1], v[a + 1], v[b + 1], s.product(), s.oddAddend());
        };
    }

    static FloatLane fmaSs(int order, Signs s) {
        return (m, v, d, a, b, first) -> {
            int r = fma32(m, order, (int) v[first], (int) v[a], (int) v[b], s.product(), s.evenAddend());
            v[d] = v[first] & 0xffff_ffff_0000_0000L | r & 0xffff_ffffL;
            v[d + 1] = v[first + 1];
        };
    }

    static FloatLane fmaSd(int order, Signs s) {
        return (m, v, d, a, b, first) -> {
            v[d] = fma64(m, order, v[first], v[a], v[b], s.product(), s.evenAddend());
            v[d + 1] = v[first + 1];
        };
    }
}
