package org.benchtop.softcpu.fp;

/**
 * Scalar binary32 and binary64 arithmetic under MXCSR: rounding, DAZ, FTZ, NaN rules and exception flags of SSE (Intel SDM
 * vol. 1, 10.2.3, 11.5 and appendix E).
 *
 * <p>Values are bit patterns. A vector instruction calls {@link #begin}, one operation per element and then
 * {@link #finish}, which says whether #XM is due; elements must not be stored before. While everything is masked, rounding
 * is to nearest and the inexact flag is already set, normal operands go through the JVM's own arithmetic; all else is done in
 * software.
 *
 * <p>One object belongs to one vCPU; not thread-safe; nothing allocates.
 */
public final class MxcsrArithmetic {
    /** Invalid operation. */
    public static final int IE = 1;
    /** Denormal operand. */
    public static final int DE = 2;
    /** Division by zero. */
    public static final int ZE = 4;
    /** Overflow. */
    public static final int OE = 8;
    /** Underflow. */
    public static final int UE = 16;
    /** Inexact result. */
    public static final int PE = 32;

    /** Denormals are zeros. */
    public static final int DAZ = 0x40;
    /** Flush to zero. */
    public static final int FTZ = 0x8000;
    /** Power-on value: everything masked, round to nearest. */
    public static final int MXCSR_RESET = 0x1f80;
    /** Bits that may be set. */
    public static final int MXCSR_MASK = 0xffff;

    private static final int PRE_COMPUTATION = IE | DE | ZE;
    private static final int ADD = 0;
    private static final int MUL = 1;
    private static final int DIV = 2;

    /** What distinguishes the formats. */
    private enum Format {
        BINARY16(10, 5),
        BINARY32(23, 8),
        BINARY64(52, 11);

        final int fractionBits;
        final int bias;
        final int maxField;
        final long sign;
        final long fraction;
        final long quiet;
        final long infinity;
        final long defaultNan;

        Format(int fractionBits, int exponentBits) {
            this.fractionBits = fractionBits;
            this.bias = (1 << (exponentBits - 1)) - 1;
            this.maxField = (1 << exponentBits) - 1;
            this.sign = 1L << (fractionBits + exponentBits);
            this.fraction = (1L << fractionBits) - 1;
            this.quiet = 1L << (fractionBits - 1);
            this.infinity = (long) maxField << fractionBits;
            this.defaultNan = sign | infinity | quiet;
        }

        boolean isNan(long v) {
            return (v & (sign - 1)) > infinity;
        }

        boolean isSignaling(long v) {
            return isNan(v) && (v & quiet) == 0;
        }

        boolean isInfinite(long v) {
            return (v & (sign - 1)) == infinity;
        }

        boolean isZero(long v) {
            return (v & (sign - 1)) == 0;
        }

        boolean isDenormal(long v) {
            return (v & infinity) == 0 && (v & fraction) != 0;
        }

        boolean isNegative(long v) {
            return (v & sign) != 0;
        }

        int exponent(long v) {
            int field = (int) (v >>> fractionBits) & maxField;
            return field != 0
                    ? field - bias
                    : 1 - bias - Long.numberOfLeadingZeros((v & fraction) << (63 - fractionBits));
        }

        long significand(long v) {
            int field = (int) (v >>> fractionBits) & maxField;
            long s = (v & fraction) << (63 - fractionBits);
            return field != 0 ? s | Long.MIN_VALUE : s << Long.numberOfLeadingZeros(s);
        }
    }

    private static final Format F16 = Format.BINARY16;
    private static final Format F32 = Format.BINARY32;
    private static final Format F64 = Format.BINARY64;

    private final SoftFloat soft = new SoftFloat();

    private int mxcsr = MXCSR_RESET;
    private int rounding;
    private boolean fast;
    private int pre;
    private int post;
    /** Flags of finished steps; all of them masked. */
    private int earlier;

    /** The register. */
    public int mxcsr() {
        return mxcsr;
    }

    /** Sets the register; the caller has refused reserved bits. */
    public void mxcsr(int value) {
        mxcsr = value & MXCSR_MASK;
        rounding = (value >> 13) & 3;
        updateFast();
    }

    private void updateFast() {
        fast = (mxcsr & 0x7020) == 0x1020;
    }

    /** Whether the JVM's own arithmetic gives right results and flags for normal operands and results. */
    public boolean fast() {
        return fast;
    }

    /** Forgets the flags of the last instruction. */
    public void begin() {
        pre = 0;
        post = 0;
        earlier = 0;
    }

    /**
     * Takes over the flags of the elements.
     *
     * @return false if the instruction must raise #XM instead of storing its result
     */
    public boolean finish() {
        if ((pre | post | earlier) == 0) {
            return true;
        }
        mxcsr |= earlier;
        int unmasked = ~(mxcsr >> 7);
        if ((pre & unmasked) != 0) {
            // Pre-computation exceptions win over those of other elements' results (SDM vol. 1, 11.5.2.2).
            mxcsr |= pre;
            updateFast();
            return false;
        }
        mxcsr |= pre | post;
        updateFast();
        return (post & unmasked) == 0;
    }

    /**
     * Ends a step of an instruction that computes in several, such as DPPD: flags of a finished step stay even if a later one
     * raises #XM.
     *
     * @return false if this step raises #XM, so that later ones do not happen
     */
    public boolean step() {
        if (((pre | post) & ~(mxcsr >> 7)) != 0) {
            return false;
        }
        earlier |= pre | post;
        pre = 0;
        post = 0;
        return true;
    }

    private boolean masked(int exception) {
        return (mxcsr & (exception << 7)) != 0;
    }

    private long daz(Format f, long v) {
        return (mxcsr & DAZ) != 0 && f.isDenormal(v) ? v & f.sign : v;
    }

    // ---------------------------------------------------------------- binary64

    private static boolean ordinary64(long v) {
        return ((v >>> 52) & 0x7ff) - 1 < 0x7fe && (v & 0x7ff0_0000_0000_0000L) != 0 || (v << 1) == 0;
    }

    private static boolean safe64(long v) {
        int field = (int) (v >>> 52) & 0x7ff;
        return field >= 2 && field < 0x7ff;
    }

    /** ADDSD. */
    public long add64(long a, long b) {
        if (fast && ordinary64(a) && ordinary64(b)) {
            long r = Double.doubleToRawLongBits(Double.longBitsToDouble(a) + Double.longBitsToDouble(b));
            if (safe64(r) || r << 1 == 0) {
                return r;
            }
        }
        return arithmetic(ADD, F64, a, b, false);
    }

    /** SUBSD. */
    public long sub64(long a, long b) {
        if (fast && ordinary64(a) && ordinary64(b)) {
            long r = Double.doubleToRawLongBits(Double.longBitsToDouble(a) - Double.longBitsToDouble(b));
            if (safe64(r) || r << 1 == 0) {
                return r;
            }
        }
        return arithmetic(ADD, F64, a, b, true);
    }

    /** MULSD. */
    public long mul64(long a, long b) {
        if (fast && ordinary64(a) && ordinary64(b)) {
            long r = Double.doubleToRawLongBits(Double.longBitsToDouble(a) * Double.longBitsToDouble(b));
            if (safe64(r) || a << 1 == 0 || b << 1 == 0) {
                return r;
            }
        }
        return arithmetic(MUL, F64, a, b, false);
    }

    /** DIVSD. */
    public long div64(long a, long b) {
        if (fast && ordinary64(a) && ordinary64(b)) {
            long r = Double.doubleToRawLongBits(Double.longBitsToDouble(a) / Double.longBitsToDouble(b));
            if (safe64(r)) {
                return r;
            }
        }
        return arithmetic(DIV, F64, a, b, false);
    }

    /** SQRTSD. */
    public long sqrt64(long a) {
        if (fast && a >= 0 && safe64(a)) {
            return Double.doubleToRawLongBits(Math.sqrt(Double.longBitsToDouble(a)));
        }
        return squareRoot(F64, a);
    }

    /** MINSD. */
    public long min64(long a, long b) {
        return minMax(F64, a, b, false);
    }

    /** MAXSD. */
    public long max64(long a, long b) {
        return minMax(F64, a, b, true);
    }

    /** Fused {@code ±(a × b) ± c}; NaNs are taken in the order a, b, c of the instruction's operands. */
    public long fma64(long a, long b, long c, boolean negateProduct, boolean negateAddend) {
        return fma(F64, a, b, c, negateProduct, negateAddend);
    }

    /** CMPSD: whether the 5-bit predicate of VCMPSD holds. */
    public boolean compare64(long a, long b, int predicate) {
        return compare(F64, a, b, predicate);
    }

    /** COMISD and UCOMISD: ZF, PF and CF in their places of RFLAGS. */
    public int comi64(long a, long b, boolean quiet) {
        return comi(F64, a, b, quiet);
    }

    /** ROUNDSD with its immediate. */
    public long round64(long a, int immediate) {
        return roundToIntegral(F64, a, immediate);
    }

    /** CVTSD2SI and CVTTSD2SI to 32 bits. */
    public int toInt64(long a, boolean truncate) {
        if (((a >>> 52) & 0x7ff) < 1023 + 31 && (truncate || rounding == SoftFloat.NEAREST)) {
            double d = Double.longBitsToDouble(a);
            if ((mxcsr & DAZ) == 0 || !F64.isDenormal(a)) {
                int i = truncate ? (int) d : (int) Math.rint(d);
                if (i != Integer.MIN_VALUE && Math.abs(i) != Integer.MAX_VALUE) {
                    post |= i == d ? 0 : PE;
                    return i;
                }
            }
        }
        return toInt(F64, a, truncate);
    }

    /** CVTSD2SI and CVTTSD2SI to 64 bits. */
    public long toLong64(long a, boolean truncate) {
        return toLong(F64, a, truncate);
    }

    /** CVTSI2SD from 32 bits; exact. */
    public static long fromInt64(int v) {
        return Double.doubleToRawLongBits(v);
    }

    /** CVTSI2SD from 64 bits. */
    public long fromLong64(long v) {
        return fromLong(F64, v);
    }

    /** CVTSD2SS. */
    public int narrow(long a) {
        return (int) convert(F64, F32, a);
    }

    /** CVTSS2SD. */
    public long widen(int a) {
        if (((a >>> 23) & 0xff) - 1 < 0xfe && (a & 0x7f80_0000) != 0) {
            return Double.doubleToRawLongBits(Float.intBitsToFloat(a));
        }
        return convert(F32, F64, a & 0xffff_ffffL);
    }

    // ---------------------------------------------------------------- binary32

    private static boolean ordinary32(int v) {
        int field = (v >>> 23) & 0xff;
        return field != 0 ? field != 0xff : (v << 1) == 0;
    }

    private static boolean safe32(int v) {
        int field = (v >>> 23) & 0xff;
        return field >= 2 && field < 0xff;
    }

    /** ADDSS. */
    public int add32(int a, int b) {
        if (fast && ordinary32(a) && ordinary32(b)) {
            int r = Float.floatToRawIntBits(Float.intBitsToFloat(a) + Float.intBitsToFloat(b));
            if (safe32(r) || r << 1 == 0) {
                return r;
            }
        }
        return (int) arithmetic(ADD, F32, a & 0xffff_ffffL, b & 0xffff_ffffL, false);
    }

    /** SUBSS. */
    public int sub32(int a, int b) {
        if (fast && ordinary32(a) && ordinary32(b)) {
            int r = Float.floatToRawIntBits(Float.intBitsToFloat(a) - Float.intBitsToFloat(b));
            if (safe32(r) || r << 1 == 0) {
                return r;
            }
        }
        return (int) arithmetic(ADD, F32, a & 0xffff_ffffL, b & 0xffff_ffffL, true);
    }

    /** MULSS. */
    public int mul32(int a, int b) {
        if (fast && ordinary32(a) && ordinary32(b)) {
            int r = Float.floatToRawIntBits(Float.intBitsToFloat(a) * Float.intBitsToFloat(b));
            if (safe32(r) || a << 1 == 0 || b << 1 == 0) {
                return r;
            }
        }
        return (int) arithmetic(MUL, F32, a & 0xffff_ffffL, b & 0xffff_ffffL, false);
    }

    /** DIVSS. */
    public int div32(int a, int b) {
        if (fast && ordinary32(a) && ordinary32(b)) {
            int r = Float.floatToRawIntBits(Float.intBitsToFloat(a) / Float.intBitsToFloat(b));
            if (safe32(r)) {
                return r;
            }
        }
        return (int) arithmetic(DIV, F32, a & 0xffff_ffffL, b & 0xffff_ffffL, false);
    }

    /** SQRTSS. */
    public int sqrt32(int a) {
        if (fast && a >= 0 && safe32(a)) {
            return Float.floatToRawIntBits((float) Math.sqrt(Float.intBitsToFloat(a)));
        }
        return (int) squareRoot(F32, a & 0xffff_ffffL);
    }

    /** MINSS. */
    public int min32(int a, int b) {
        return (int) minMax(F32, a & 0xffff_ffffL, b & 0xffff_ffffL, false);
    }

    /** MAXSS. */
    public int max32(int a, int b) {
        return (int) minMax(F32, a & 0xffff_ffffL, b & 0xffff_ffffL, true);
    }

    /** Fused {@code ±(a × b) ± c}; NaNs are taken in the order a, b, c of the instruction's operands. */
    public int fma32(int a, int b, int c, boolean negateProduct, boolean negateAddend) {
        return (int) fma(F32, a & 0xffff_ffffL, b & 0xffff_ffffL, c & 0xffff_ffffL, negateProduct, negateAddend);
    }

    /** CMPSS: whether the 5-bit predicate of VCMPSS holds. */
    public boolean compare32(int a, int b, int predicate) {
        return compare(F32, a & 0xffff_ffffL, b & 0xffff_ffffL, predicate);
    }

    /** COMISS and UCOMISS: ZF, PF and CF in their places of RFLAGS. */
    public int comi32(int a, int b, boolean quiet) {
        return comi(F32, a & 0xffff_ffffL, b & 0xffff_ffffL, quiet);
    }

    /** ROUNDSS with its immediate. */
    public int round32(int a, int immediate) {
        return (int) roundToIntegral(F32, a & 0xffff_ffffL, immediate);
    }

    /** CVTSS2SI and CVTTSS2SI to 32 bits. */
    public int toInt32(int a, boolean truncate) {
        return toInt(F32, a & 0xffff_ffffL, truncate);
    }

    /** CVTSS2SI and CVTTSS2SI to 64 bits. */
    public long toLong32(int a, boolean truncate) {
        return toLong(F32, a & 0xffff_ffffL, truncate);
    }

    /** CVTSI2SS from 32 bits. */
    public int fromInt32(int v) {
        return (int) fromLong(F32, v);
    }

    /** CVTSI2SS from 64 bits. */
    public int fromLong32(long v) {
        return (int) fromLong(F32, v);
    }

    /** VCVTPS2PH of one element with its immediate. */
    public int toHalf(int a, int immediate) {
        int saved = rounding;
        if ((immediate & 4) == 0) {
            rounding = immediate & 3;
        }
        int r = (int) convertToHalf(a & 0xffff_ffffL);
        rounding = saved;
        return r;
    }

    /** VCVTPH2PS of one element: exact; DAZ does not apply and a denormal operand is not reported. */
    public int fromHalf(int a) {
        long v = a & 0xffffL;
        long sign = F16.isNegative(v) ? F32.sign : 0;
        if (F16.isNan(v)) {
            if (F16.isSignaling(v)) {
                pre |= IE;
            }
            return (int) (sign | F32.infinity | F32.quiet | (v & F16.fraction) << 13);
        }
        if (F16.isInfinite(v)) {
            return (int) (sign | F32.infinity);
        }
        if (F16.isZero(v)) {
            return (int) sign;
        }
        int e = F16.exponent(v);
        return (int) (sign | (long) (e + F32.bias) << 23 | (F16.significand(v) << 1 >>> 41));
    }

    // ---------------------------------------------------------------- the software path

    private long arithmetic(int operation, Format f, long a, long b, boolean negateB) {
        a = daz(f, a);
        b = daz(f, b);
        if (f.isNan(a) || f.isNan(b)) {
            return propagate(f, a, b);
        }
        if (negateB) {
            b ^= f.sign;
        }
        boolean aInfinite = f.isInfinite(a);
        boolean bInfinite = f.isInfinite(b);
        boolean aZero = f.isZero(a);
        boolean bZero = f.isZero(b);
        boolean sign = f.isNegative(a) != f.isNegative(b);
        switch (operation) {
            case ADD:
                if (aInfinite && bInfinite && sign) {
                    return invalid(f);
                }
                denormals(f, a, b);
                if (aInfinite) {
                    return a;
                }
                if (bInfinite) {
                    return b;
                }
                if (aZero && bZero) {
                    return sign ? (rounding == SoftFloat.DOWN ? f.sign : 0) : a;
                }
                if (unmaskedPre()) {
                    return 0;
                }
                if (aZero || bZero) {
                    long v = aZero ? b : a;
                    soft.set(f.isNegative(v), f.exponent(v), f.significand(v));
                } else {
                    soft.set(f.isNegative(a), f.exponent(a), f.significand(a));
                    soft.add(f.isNegative(b), f.exponent(b), f.significand(b), 0, rounding);
                }
                return pack(f);
            case MUL:
                if ((aInfinite && bZero) || (aZero && bInfinite)) {
                    return invalid(f);
                }
                denormals(f, a, b);
                if (aInfinite || bInfinite) {
                    return (sign ? f.sign : 0) | f.infinity;
                }
                if (aZero || bZero) {
                    return sign ? f.sign : 0;
                }
                if (unmaskedPre()) {
                    return 0;
                }
                soft.multiply(sign, f.exponent(a), f.significand(a), f.exponent(b), f.significand(b));
                return pack(f);
            default:
                if ((aInfinite && bInfinite) || (aZero && bZero)) {
                    return invalid(f);
                }
                if (aInfinite) {
                    denormals(f, b, b);
                    return (sign ? f.sign : 0) | f.infinity;
                }
                if (bZero) {
                    pre |= ZE;
                    return (sign ? f.sign : 0) | f.infinity;
                }
                denormals(f, a, b);
                if (aZero || bInfinite) {
                    return sign ? f.sign : 0;
                }
                if (unmaskedPre()) {
                    return 0;
                }
                soft.divide(sign, f.exponent(a), f.significand(a), f.exponent(b), f.significand(b));
                return pack(f);
        }
    }

    private boolean unmaskedPre() {
        return (pre & ~(mxcsr >> 7) & PRE_COMPUTATION) != 0;
    }

    private void denormals(Format f, long a, long b) {
        if (f.isDenormal(a) || f.isDenormal(b)) {
            pre |= DE;
        }
    }

    private long propagate(Format f, long a, long b) {
        if (f.isSignaling(a) || f.isSignaling(b)) {
            pre |= IE;
        }
        return (f.isNan(a) ? a : b) | f.quiet;
    }

    private long invalid(Format f) {
        pre |= IE;
        return f.defaultNan;
    }

    /** Rounds and packs the number in {@link #soft}, with overflow, underflow and inexact. */
    private long pack(Format f) {
        if (soft.hi == 0) {
            return soft.negative ? f.sign : 0;
        }
        long sign = soft.negative ? f.sign : 0;
        boolean underflowMasked = masked(UE);
        // An unmasked underflow is rounded as if the exponent had no bound; the result is never stored.
        soft.round(f.fractionBits + 1, underflowMasked ? 1 - f.bias : Integer.MIN_VALUE / 2, rounding);
        if (soft.inexact) {
            post |= PE;
        }
        if (soft.exponent > f.bias) {
            post |= masked(OE) ? OE | PE : OE;
            boolean toInfinity = switch (rounding) {
                case SoftFloat.NEAREST -> true;
                case SoftFloat.DOWN -> soft.negative;
                case SoftFloat.UP -> !soft.negative;
                default -> false;
            };
            return sign | (toInfinity ? f.infinity : f.infinity - 1);
        }
        if (!underflowMasked) {
            if (soft.exponent < 1 - f.bias) {
                post |= UE;
                return sign;
            }
        } else if (soft.tiny) {
            if ((mxcsr & FTZ) != 0) {
                post |= UE | PE;
                return sign;
            }
            if (soft.inexact) {
                post |= UE;
            }
        }
        long fraction = soft.hi << 1 >>> (64 - f.fractionBits);
        long field = soft.hi < 0 ? soft.exponent + f.bias : 0;
        return sign | field << f.fractionBits | fraction;
    }

    private long squareRoot(Format f, long a) {
        a = daz(f, a);
        if (f.isNan(a)) {
            return propagate(f, a, a);
        }
        if (f.isZero(a)) {
            return a;
        }
        if (f.isNegative(a)) {
            return invalid(f);
        }
        if (f.isInfinite(a)) {
            return a;
        }
        denormals(f, a, a);
        soft.squareRoot(f.exponent(a), f.significand(a));
        return pack(f);
    }

    private long minMax(Format f, long a, long b, boolean max) {
        a = daz(f, a);
        b = daz(f, b);
        if (f.isNan(a) || f.isNan(b)) {
            pre |= IE;
            return b;
        }
        denormals(f, a, b);
        int c = order(f, a, b);
        return (max ? c > 0 : c < 0) ? a : b;
    }

    /** Compares numbers that are not NaN. */
    private static int order(Format f, long a, long b) {
        long x = f.isNegative(a) ? -(a & (f.sign - 1)) : a;
        long y = f.isNegative(b) ? -(b & (f.sign - 1)) : b;
        return Long.compare(x, y);
    }

    private boolean compare(Format f, long a, long b, int predicate) {
        a = daz(f, a);
        b = daz(f, b);
        boolean unordered = f.isNan(a) || f.isNan(b);
        int low = predicate & 7;
        // LT, LE, NLT, NLE and their kin signal for quiet NaNs too; bit 4 turns that around (SDM, CMPPS, table 3-1).
        boolean signals = (low == 1 || low == 2 || low == 5 || low == 6) != ((predicate & 16) != 0);
        if (unordered) {
            if (signals || f.isSignaling(a) || f.isSignaling(b)) {
                pre |= IE;
            }
        } else {
            denormals(f, a, b);
        }
        int c = unordered ? 0 : order(f, a, b);
        boolean equal = !unordered && c == 0;
        boolean less = c < 0;
        return switch (predicate & 15) {
            case 0 -> equal;
            case 1 -> less;
            case 2 -> less || equal;
            case 3 -> unordered;
            case 4 -> !equal;
            case 5 -> !less;
            case 6 -> !less && !equal;
            case 7 -> !unordered;
            case 8 -> equal || unordered;
            case 9 -> less || unordered;
            case 10 -> less || equal || unordered;
            case 11 -> false;
            case 12 -> !equal && !unordered;
            case 13 -> !less && !unordered;
            case 14 -> c > 0;
            default -> true;
        };
    }

    private int comi(Format f, long a, long b, boolean quiet) {
        a = daz(f, a);
        b = daz(f, b);
        if (f.isNan(a) || f.isNan(b)) {
            if (!quiet || f.isSignaling(a) || f.isSignaling(b)) {
                pre |= IE;
            }
            return 0x45;
        }
        denormals(f, a, b);
        int c = order(f, a, b);
        return c == 0 ? 0x40 : c < 0 ? 1 : 0;
    }

    private long fma(Format f, long a, long b, long c, boolean negateProduct, boolean negateAddend) {
        a = daz(f, a);
        b = daz(f, b);
        c = daz(f, c);
        boolean nan = f.isNan(a) || f.isNan(b) || f.isNan(c);
        boolean invalidProduct = (f.isInfinite(a) && f.isZero(b)) || (f.isZero(a) && f.isInfinite(b));
        if (nan) {
            if (f.isSignaling(a) || f.isSignaling(b) || f.isSignaling(c)) {
                pre |= IE;
            }
            return (f.isNan(a) ? a : f.isNan(b) ? b : c) | f.quiet;
        }
        if (invalidProduct) {
            return invalid(f);
        }
        if (negateAddend) {
            c ^= f.sign;
        }
        boolean sign = (f.isNegative(a) != f.isNegative(b)) != negateProduct;
        boolean productInfinite = f.isInfinite(a) || f.isInfinite(b);
        if (productInfinite && f.isInfinite(c) && sign != f.isNegative(c)) {
            return invalid(f);
        }
        denormals(f, a, b);
        denormals(f, c, c);
        if (productInfinite) {
            return (sign ? f.sign : 0) | f.infinity;
        }
        if (f.isInfinite(c)) {
            return c;
        }
        boolean productZero = f.isZero(a) || f.isZero(b);
        if (productZero && f.isZero(c)) {
            return sign == f.isNegative(c) ? c : rounding == SoftFloat.DOWN ? f.sign : 0;
        }
        if (unmaskedPre()) {
            return 0;
        }
        if (productZero) {
            soft.set(f.isNegative(c), f.exponent(c), f.significand(c));
        } else {
            soft.multiply(sign, f.exponent(a), f.significand(a), f.exponent(b), f.significand(b));
            if (!f.isZero(c)) {
                soft.add(f.isNegative(c), f.exponent(c), f.significand(c), 0, rounding);
            }
        }
        return pack(f);
    }

    private long roundToIntegral(Format f, long a, int immediate) {
        int mode = (immediate & 4) != 0 ? rounding : immediate & 3;
        a = daz(f, a);
        if (f.isNan(a)) {
            return propagate(f, a, a);
        }
        if (f.isInfinite(a) || f.isZero(a)) {
            return a;
        }
        int e = f.exponent(a);
        if (e >= f.fractionBits) {
            return a;
        }
        soft.set(f.isNegative(a), e, f.significand(a));
        long magnitude = soft.roundToInteger(mode);
        if (soft.inexact && (immediate & 8) == 0) {
            post |= PE;
        }
        long sign = a & f.sign;
        if (magnitude == 0) {
            return sign;
        }
        int n = Long.numberOfLeadingZeros(magnitude);
        long fraction = magnitude << n << 1 >>> (64 - f.fractionBits);
        return sign | (long) (63 - n + f.bias) << f.fractionBits | fraction;
    }

    private int toInt(Format f, long a, boolean truncate) {
        long r = toInteger(f, a, truncate, 31);
        return (int) r;
    }

    private long toLong(Format f, long a, boolean truncate) {
        return toInteger(f, a, truncate, 63);
    }

    private long toInteger(Format f, long a, boolean truncate, int bits) {
        long indefinite = 1L << bits;
        a = daz(f, a);
        if (f.isNan(a) || f.isInfinite(a)) {
            pre |= IE;
            return indefinite;
        }
        if (f.isZero(a)) {
            return 0;
        }
        boolean sign = f.isNegative(a);
        soft.set(sign, f.exponent(a), f.significand(a));
        long magnitude = soft.roundToInteger(truncate ? SoftFloat.ZERO : rounding);
        long limit = sign ? indefinite : indefinite - 1;
        if (soft.exponent > 63 || Long.compareUnsigned(magnitude, limit) > 0) {
            pre |= IE;
            return indefinite;
        }
        if (soft.inexact) {
            post |= PE;
        }
        return sign ? -magnitude : magnitude;
    }

    private long fromLong(Format f, long v) {
        if (v == 0) {
            return 0;
        }
        soft.setInteger(v < 0, Math.abs(v));
        return pack(f);
    }

    private long convert(Format from, Format to, long a) {
        a = daz(from, a);
        long sign = from.isNegative(a) ? to.sign : 0;
        if (from.isNan(a)) {
            if (from.isSignaling(a)) {
                pre |= IE;
            }
            int shift = to.fractionBits - from.fractionBits;
            long payload = a & from.fraction;
            return sign | to.infinity | to.quiet | (shift >= 0 ? payload << shift : payload >>> -shift);
        }
        if (from.isInfinite(a)) {
            return sign | to.infinity;
        }
        if (from.isZero(a)) {
            return sign;
        }
        denormals(from, a, a);
        if (unmaskedPre()) {
            return 0;
        }
        soft.set(from.isNegative(a), from.exponent(a), from.significand(a));
        return pack(to);
    }

    private long convertToHalf(long a) {
        // FTZ does not apply to VCVTPS2PH; DAZ does.
        int saved = mxcsr;
        mxcsr &= ~FTZ;
        long r = convert(F32, F16, a);
        mxcsr = saved;
        return r;
    }
}
