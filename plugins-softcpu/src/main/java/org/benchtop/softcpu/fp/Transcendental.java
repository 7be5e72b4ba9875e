package org.benchtop.softcpu.fp;

/**
 * The x87 functions, computed with about 120 right bits before they are rounded to 64, so that results are within 0.51 ulp.
 *
 * <p>Arguments are finite, not zero and normalised; results are left unrounded in the {@link SoftFloat} given. Angles are
 * reduced with the 66-bit π that processors use (SDM vol. 1, 8.3.8). Not thread-safe; nothing allocates.
 */
final class Transcendental {
    private static final long PI_HI = 0xc90f_daa2_2168_c234L;
    private static final long PI_LO = 0xc4c6_628b_80dc_1cd1L;
    private static final long LN2_HI = 0xb172_17f7_d1cf_79abL;
    private static final long LN2_LO = 0xc9e3_b398_03f2_f6afL;
    private static final long LOG2E_HI = 0xb8aa_3b29_5c17_f0bbL;
    private static final long LOG2E_LO = 0xbe87_fed0_691d_3e88L;
    /** The lower two bits of the 66-bit π. */
    private static final long PI66_LOW = 3;

    private static final int EXP_TERMS = 30;
    private static final int SINE_TERMS = 14;
    private static final int ATANH_TERMS = 32;
    private static final int ATAN_TERMS = 17;

    /** 1/n. */
    private static final long[] INVERSE_HI = new long[80];

    private static final long[] INVERSE_LO = new long[80];
    private static final int[] INVERSE_EXPONENT = new int[80];

    /** atan(k/16). */
    private static final SoftFloat[] ATAN = new SoftFloat[17];

    static {
        SoftFloat f = new SoftFloat();
        for (int n = 1; n < INVERSE_HI.length; n++) {
            int zeros = Long.numberOfLeadingZeros(n);
            long d = (long) n << zeros;
            f.divide(false, 0, Long.MIN_VALUE, 63 - zeros, d);
            INVERSE_HI[n] = f.hi;
            INVERSE_EXPONENT[n] = f.exponent;
            // The dividend was a multiple of 2^64, so this is the remainder.
            long rest = -(f.hi * d);
            INVERSE_LO[n] = d == Long.MIN_VALUE ? 0 : SoftFloat.divide128(rest, 0, d);
        }
        Transcendental t = new Transcendental();
        ATAN[0] = new SoftFloat();
        for (int k = 1; k <= 16; k++) {
            // atan(k/16) - atan((k-1)/16) = atan(16 / (256 + k(k-1)))
            t.a.setInteger(false, 16);
            t.b.setInteger(false, 256 + k * (k - 1));
            t.divide(t.a, t.b);
            t.atanSeries(t.a);
            add(t.a, ATAN[k - 1]);
            ATAN[k] = new SoftFloat();
            copy(ATAN[k], t.a);
        }
    }

    private final SoftFloat a = new SoftFloat();
    private final SoftFloat b = new SoftFloat();
    private final SoftFloat c = new SoftFloat();
    private final SoftFloat d = new SoftFloat();
    private final SoftFloat e = new SoftFloat();
    private final SoftFloat quotient = new SoftFloat();
    private final SoftFloat residual = new SoftFloat();
    private final SoftFloat angle = new SoftFloat();
    private int quadrant;

    // ---------------------------------------------------------------- 128-bit arithmetic

    private static void copy(SoftFloat to, SoftFloat from) {
        to.negative = from.negative;
        to.exponent = from.exponent;
        to.hi = from.hi;
        to.lo = from.lo;
    }

    private static void set(SoftFloat f, int exponent, long hi, long lo) {
        f.negative = false;
        f.exponent = exponent;
        f.hi = hi;
        f.lo = lo;
    }

    private static void one(SoftFloat f) {
        set(f, 0, Long.MIN_VALUE, 0);
    }

    private static void add(SoftFloat x, SoftFloat y) {
        if (y.hi == 0) {
            return;
        }
        if (x.hi == 0) {
            copy(x, y);
        } else {
            x.add(y.negative, y.exponent, y.hi, y.lo, SoftFloat.NEAREST);
        }
    }

    private static void multiply(SoftFloat x, SoftFloat y) {
        multiply(x, y.negative, y.exponent, y.hi, y.lo);
    }

    private static void multiply(SoftFloat x, boolean sign, int exponent, long hi, long lo) {
        if (x.hi == 0 || hi == 0) {
            x.hi = 0;
            x.lo = 0;
            return;
        }
        long high = Math.unsignedMultiplyHigh(x.hi, hi);
        long low = x.hi * hi;
        long p = Math.unsignedMultiplyHigh(x.hi, lo);
        low += p;
        if (Long.compareUnsigned(low, p) < 0) {
            high++;
        }
        p = Math.unsignedMultiplyHigh(x.lo, hi);
        low += p;
        if (Long.compareUnsigned(low, p) < 0) {
            high++;
        }
        x.negative ^= sign;
        x.exponent += exponent + 1;
        if (high >= 0) {
            high = high << 1 | low >>> 63;
            low <<= 1;
            x.exponent--;
        }
        x.hi = high;
        x.lo = low;
    }

    /** {@code x = x / y}. */
    private void divide(SoftFloat x, SoftFloat y) {
        if (x.hi == 0) {
            return;
        }
        quotient.divide(x.negative != y.negative, x.exponent, x.hi, y.exponent, y.hi);
        quotient.lo = 0;
        copy(residual, quotient);
        multiply(residual, y);
        residual.negative = !residual.negative;
        residual.add(x.negative, x.exponent, x.hi, x.lo, SoftFloat.NEAREST);
        copy(x, quotient);
        if (residual.hi != 0) {
            quotient.divide(residual.negative != y.negative, residual.exponent, residual.hi, y.exponent, y.hi);
            add(x, quotient);
        }
    }

    private static void timesInverse(SoftFloat x, int n) {
        multiply(x, false, INVERSE_EXPONENT[n], INVERSE_HI[n], INVERSE_LO[n]);
    }

    private static void addOne(SoftFloat x) {
        if (x.hi == 0) {
            one(x);
        } else {
            x.add(false, 0, Long.MIN_VALUE, 0, SoftFloat.NEAREST);
        }
    }

    // ---------------------------------------------------------------- functions

    /** 2^x - 1, for |x| ≤ 1; x itself beyond, as processors do. */
    void exp2m1(SoftFloat result, boolean sign, int exponent, long x) {
        if (exponent >= 0) {
            result.set(sign, exponent, x);
            if (sign && exponent == 0 && x == Long.MIN_VALUE) {
                result.exponent = -1;
            }
            return;
        }
        a.set(sign, exponent, x);
        multiply(a, false, -1, LN2_HI, LN2_LO);
        one(result);
        for (int n = EXP_TERMS; n >= 2; n--) {
            multiply(result, a);
            timesInverse(result, n);
            addOne(result);
        }
        multiply(result, a);
    }

    /** y × log2(x). */
    void log2(SoftFloat result, int xExponent, long x, boolean ySign, int yExponent, long y) {
        set(a, 0, x, 0);
        log2Wide(result, xExponent);
        multiply(result, ySign, yExponent, y, 0);
    }

    /** log2 of {@link #a}, in [1, 2), times 2^exponent. */
    private void log2Wide(SoftFloat result, int exponent) {
        int whole = exponent;
        if (Long.compareUnsigned(a.hi, 0xb504_f333_f9de_6484L) > 0) {
            a.exponent = -1;
            whole++;
        }
        copy(b, a);
        a.add(true, 0, Long.MIN_VALUE, 0, SoftFloat.NEAREST);
        addOne(b);
        divide(a, b);
        atanhSeries(result, a);
        if (whole != 0) {
            c.setInteger(whole < 0, Math.abs(whole));
            add(result, c);
        }
    }

    /** 2 atanh(s) / ln 2. */
    private void atanhSeries(SoftFloat result, SoftFloat s) {
        copy(c, s);
        multiply(c, s);
        result.hi = 0;
        result.lo = 0;
        for (int n = ATANH_TERMS; n >= 0; n--) {
            multiply(result, c);
            set(d, INVERSE_EXPONENT[2 * n + 1], INVERSE_HI[2 * n + 1], INVERSE_LO[2 * n + 1]);
            add(result, d);
        }
        multiply(result, s);
        multiply(result, false, 1, LOG2E_HI, LOG2E_LO);
    }

    /** y × log2(x + 1), for x &gt; -1. */
    void log2p1(SoftFloat result, boolean xSign, int xExponent, long x, boolean ySign, int yExponent, long y) {
        a.set(xSign, xExponent, x);
        if (xExponent <= -2) {
            // log2(1 + x) = 2 atanh(x / (2 + x)) / ln 2
            copy(b, a);
            b.add(false, 1, Long.MIN_VALUE, 0, SoftFloat.NEAREST);
            divide(a, b);
            atanhSeries(result, a);
        } else {
            addOne(a);
            int exponent = a.exponent;
            a.exponent = 0;
            log2Wide(result, exponent);
        }
        multiply(result, ySign, yExponent, y, 0);
    }

    /** n × π/4. */
    void pi(SoftFloat result, boolean sign, int n) {
        result.setInteger(sign, n);
        multiply(result, false, -1, PI_HI, PI_LO);
    }

    /** The angle of (x, y), by its signs in all four quadrants. */
    void atan2(SoftFloat result, boolean ySign, int yExponent, long y, boolean xSign, int xExponent, long x) {
        boolean steep = yExponent > xExponent || (yExponent == xExponent && Long.compareUnsigned(y, x) > 0);
        a.set(false, steep ? xExponent : yExponent, steep ? x : y);
        b.set(false, steep ? yExponent : xExponent, steep ? y : x);
        divide(a, b);
        atan(a);
        if (steep) {
            a.negative = !xSign;
            set(b, 0, PI_HI, PI_LO);
            add(a, b);
        } else if (xSign) {
            a.negative = true;
            set(b, 1, PI_HI, PI_LO);
            add(a, b);
        }
        copy(result, a);
        result.negative = ySign;
    }

    /** atan of a number in (0, 1], in place. */
    private void atan(SoftFloat t) {
        if (t.exponent < -5) {
            atanSeries(t);
            return;
        }
        // k = round(16 t); atan(t) = atan(k/16) + atan((t - k/16) / (1 + t k/16))
        int k = (int) ((t.hi >>> 1 >>> (57 - t.exponent)) + 1 >> 1);
        if (k == 0) {
            atanSeries(t);
            return;
        }
        d.setInteger(false, k);
        d.exponent -= 4;
        copy(b, t);
        multiply(b, d);
        addOne(b);
        d.negative = true;
        add(t, d);
        divide(t, b);
        atanSeries(t);
        add(t, ATAN[k]);
    }

    /** atan of a small number, in place. */
    private void atanSeries(SoftFloat u) {
        if (u.hi == 0) {
            return;
        }
        copy(c, u);
        multiply(c, u);
        c.negative = true;
        copy(e, c);
        e.hi = 0;
        e.lo = 0;
        for (int n = ATAN_TERMS; n >= 0; n--) {
            multiply(e, c);
            set(d, INVERSE_EXPONENT[2 * n + 1], INVERSE_HI[2 * n + 1], INVERSE_LO[2 * n + 1]);
            add(e, d);
        }
        multiply(u, e);
    }

    /** Splits an angle, |x| &lt; 2^63, into a multiple of π/2 and a rest of at most π/4. */
    void reduce(boolean sign, int exponent, long x) {
        quadrant = 0;
        if (exponent < -1 || (exponent == -1 && Long.compareUnsigned(x, PI_HI) <= 0)) {
            angle.set(sign, exponent, x);
            return;
        }
        // In units of 2^-65: x × 2^(exponent + 2) modulo the 66 bits of π/2.
        long pHi = PI_HI >>> 62;
        long pLo = PI_HI << 2 | PI66_LOW;
        long rHi = 0;
        long rLo = x;
        int q = 0;
        for (int i = exponent + 2; ; i--) {
            q <<= 1;
            if (rHi > pHi || (rHi == pHi && Long.compareUnsigned(rLo, pLo) >= 0)) {
                rHi -= pHi + (Long.compareUnsigned(rLo, pLo) < 0 ? 1 : 0);
                rLo -= pLo;
                q++;
            }
            if (i == 0) {
                break;
            }
            rHi = rHi << 1 | rLo >>> 63;
            rLo <<= 1;
        }
        boolean flip = false;
        long twiceHi = rHi << 1 | rLo >>> 63;
        long twiceLo = rLo << 1;
        if (twiceHi > pHi || (twiceHi == pHi && Long.compareUnsigned(twiceLo, pLo) > 0)) {
            rHi = pHi - rHi - (Long.compareUnsigned(pLo, rLo) < 0 ? 1 : 0);
            rLo = pLo - rLo;
            flip = true;
            q++;
        }
        quadrant = (sign ? -q : q) & 3;
        angle.negative = sign != flip;
        if (rHi != 0) {
            int n = Long.numberOfLeadingZeros(rHi);
            angle.hi = rHi << n | rLo >>> (64 - n);
            angle.lo = rLo << n;
            angle.exponent = 127 - n - 65;
        } else if (rLo != 0) {
            int n = Long.numberOfLeadingZeros(rLo);
            angle.hi = rLo << n;
            angle.lo = 0;
            angle.exponent = 63 - n - 65;
        } else {
            angle.hi = 0;
            angle.lo = 0;
            angle.exponent = 0;
        }
    }

    /** The sine of the angle reduced last. */
    void sine(SoftFloat result) {
        inQuadrant(result, quadrant);
    }

    /** The cosine of the angle reduced last. */
    void cosine(SoftFloat result) {
        inQuadrant(result, quadrant + 1);
    }

    /** The tangent of the angle reduced last. */
    void tangent(SoftFloat result) {
        inQuadrant(a, quadrant);
        inQuadrant(b, quadrant + 1);
        divide(a, b);
        copy(result, a);
    }

    private void inQuadrant(SoftFloat result, int q) {
        if ((q & 1) == 0) {
            sineSeries(result);
        } else {
            cosineSeries(result);
        }
        result.negative ^= (q & 2) != 0;
    }

    private void sineSeries(SoftFloat result) {
        copy(c, angle);
        multiply(c, angle);
        c.negative = true;
        one(result);
        for (int k = SINE_TERMS; k >= 1; k--) {
            multiply(result, c);
            timesInverse(result, 2 * k);
            timesInverse(result, 2 * k + 1);
            addOne(result);
        }
        multiply(result, angle);
    }

    private void cosineSeries(SoftFloat result) {
        copy(c, angle);
        multiply(c, angle);
        c.negative = true;
        one(result);
        for (int k = SINE_TERMS; k >= 1; k--) {
            multiply(result, c);
            timesInverse(result, 2 * k - 1);
            timesInverse(result, 2 * k);
            addOne(result);
        }
    }
}
