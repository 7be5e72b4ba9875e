package org.benchtop.softcpu.fp;

/**
 * Arithmetic on unpacked binary floating-point numbers, correctly rounded (IEEE 754-2019, 4.3).
 *
 * <p>A finite number that is not zero is sign, exponent and a 128-bit significand {@code hi:lo} whose top bit is set; its
 * value is ±{@code hi:lo} / 2^127 × 2^{@code exponent}. The lowest bit of {@code lo} also stands for everything below it. An
 * operation leaves its exact or sticky result in {@link #negative}, {@link #exponent}, {@link #hi}, {@link #lo};
 * {@link #round} brings it to a format. Packed formats, special values and flags are the callers' business.
 *
 * <p>One object belongs to one vCPU; not thread-safe; nothing allocates.
 */
final class SoftFloat {
    static final int NEAREST = 0;
    static final int DOWN = 1;
    static final int UP = 2;
    static final int ZERO = 3;

    /** The sign of the last result. */
    boolean negative;
    /** The exponent of the last result. */
    int exponent;
    /** The upper half of the significand of the last result; 0 if the result is zero. */
    long hi;
    /** The lower half of the significand of the last result. */
    long lo;

    /** Whether the last {@link #round} lost bits. */
    boolean inexact;
    /** Whether the last {@link #round} gave a larger magnitude. */
    boolean roundedUp;
    /** Whether the last {@link #round} found its operand tiny (detected after rounding, SDM vol. 1, 4.9.1.5). */
    boolean tiny;

    /** Sets the result to a number whose significand has 64 bits. */
    void set(boolean sign, int exp, long significand) {
        negative = sign;
        exponent = exp;
        hi = significand;
        lo = 0;
    }

    /** Sets the result to an integer's magnitude, normalised; zero gives {@code hi == 0}. */
    void setInteger(boolean sign, long magnitude) {
        int n = Long.numberOfLeadingZeros(magnitude);
        negative = sign;
        exponent = 63 - n;
        hi = magnitude == 0 ? 0 : magnitude << n;
        lo = 0;
    }

    /**
     * The sum of the current result and another number. An exact zero is negative only if {@code rounding} is {@link #DOWN}.
     */
    void add(boolean bNegative, int bExponent, long bHi, long bLo, int rounding) {
        boolean aNegative = negative;
        int aExponent = exponent;
        long aHi = hi;
        long aLo = lo;
        if (aExponent < bExponent
                || (aExponent == bExponent
                        && (Long.compareUnsigned(aHi, bHi) < 0
                                || (aHi == bHi && Long.compareUnsigned(aLo, bLo) < 0)))) {
            boolean n = aNegative;
            aNegative = bNegative;
            bNegative = n;
            int e = aExponent;
            aExponent = bExponent;
            bExponent = e;
            long s = aHi;
            aHi = bHi;
            bHi = s;
            s = aLo;
            aLo = bLo;
            bLo = s;
        }
        int d = aExponent - bExponent;
        if (d != 0) {
            if (d < 64) {
                long lost = bLo << (64 - d);
                bLo = (bLo >>> d) | (bHi << (64 - d)) | (lost != 0 ? 1 : 0);
                bHi >>>= d;
            } else if (d < 128) {
                long lost = bLo | (d == 64 ? 0 : bHi << (128 - d));
                bLo = (d == 64 ? bHi : bHi >>> (d - 64)) | (lost != 0 ? 1 : 0);
                bHi = 0;
            } else {
                bLo = 1;
                bHi = 0;
            }
        }
        negative = aNegative;
        exponent = aExponent;
        if (aNegative == bNegative) {
            long sumLo = aLo + bLo;
            long carry = Long.compareUnsigned(sumLo, aLo) < 0 ? 1 : 0;
            long sumHi = aHi + bHi + carry;
            // The top bit of aHi is set, so a carry out shows as a smaller sum or, with carry in, an equal one.
            boolean overflow = Long.compareUnsigned(sumHi, aHi) < 0 || (carry != 0 && sumHi == aHi && bHi == -1);
            if (overflow) {
                sumLo = (sumLo >>> 1) | (sumHi << 63) | (sumLo & 1);
                sumHi = (sumHi >>> 1) | Long.MIN_VALUE;
                exponent++;
            }
            hi = sumHi;
            lo = sumLo;
            return;
        }
        long differenceLo = aLo - bLo;
        long borrow = Long.compareUnsigned(aLo, bLo) < 0 ? 1 : 0;
        hi = aHi - bHi - borrow;
        lo = differenceLo;
        if (hi == 0 && lo == 0) {
            negative = rounding == DOWN;
            exponent = 0;
            return;
        }
        normalise();
    }

    private void normalise() {
        if (hi == 0) {
            int n = Long.numberOfLeadingZeros(lo);
            hi = lo << n;
            lo = 0;
            exponent -= 64 + n;
            return;
        }
        int n = Long.numberOfLeadingZeros(hi);
        if (n != 0) {
            hi = (hi << n) | (lo >>> (64 - n));
            lo <<= n;
            exponent -= n;
        }
    }

    /** The exact product of two 64-bit significands. */
    void multiply(boolean sign, int aExponent, long a, int bExponent, long b) {
        negative = sign;
        exponent = aExponent + bExponent + 1;
        hi = Math.unsignedMultiplyHigh(a, b);
        lo = a * b;
        if (hi >= 0) {
            hi = (hi << 1) | (lo >>> 63);
            lo <<= 1;
            exponent--;
        }
    }

    /** The quotient of two 64-bit significands. */
    void divide(boolean sign, int aExponent, long a, int bExponent, long b) {
        negative = sign;
        long high;
        long low;
        if (Long.compareUnsigned(a, b) >= 0) {
            exponent = aExponent - bExponent;
            high = a >>> 1;
            low = a << 63;
        } else {
            exponent = aExponent - bExponent - 1;
            high = a;
            low = 0;
        }
        long q = divide128(high, low, b);
        long r = low - q * b;
        hi = q;
        if (r == 0) {
            lo = 0;
        } else {
            // Only the comparison with a half matters below the 64 bits.
            int half = r < 0 ? 1 : Long.compareUnsigned(r << 1, b);
            lo = half < 0 ? 1 : half == 0 ? Long.MIN_VALUE : Long.MIN_VALUE | 1;
        }
    }

    /** {@code high:low / d}, for {@code high < d} and the top bit of {@code d} set (Knuth, TAOCP 4.3.1 D, two digits). */
    static long divide128(long high, long low, long d) {
        long d1 = d >>> 32;
        long d0 = d & 0xffff_ffffL;
        long q1 = digit(high, low >>> 32, d, d1, d0);
        long rest = (high << 32 | low >>> 32) - q1 * d;
        long q0 = digit(rest, low & 0xffff_ffffL, d, d1, d0);
        return (q1 << 32) + q0;
    }

    private static long digit(long high, long next, long d, long d1, long d0) {
        long q = Long.divideUnsigned(high, d1);
        long r = high - q * d1;
        while (q >>> 32 != 0 || Long.compareUnsigned(q * d0, r << 32 | next) > 0) {
            q--;
            r += d1;
            if (r >>> 32 != 0) {
                break;
            }
        }
        return q;
    }

    /** The square root of a positive number. */
    void squareRoot(int aExponent, long a) {
        negative = false;
        exponent = aExponent >> 1;
        // n = a × 2^63 or a × 2^64, so that the root has 64 bits.
        long nHi = (aExponent & 1) == 0 ? a >>> 1 : a;
        long nLo = (aExponent & 1) == 0 ? a << 63 : 0;
        double estimate = Math.sqrt(unsignedToDouble(nHi)) * 0x1p32;
        long q = estimate >= 0x1p64 ? -1L : doubleToUnsigned(estimate);
        // One Newton step from 50 right bits gives all 64, up to one unit.
        long sHi = Math.unsignedMultiplyHigh(q, q);
        long sLo = q * q;
        long eLo = nLo - sLo;
        long eHi = nHi - sHi - (Long.compareUnsigned(nLo, sLo) < 0 ? 1 : 0);
        double error = eHi * 0x1p64 + unsignedToDouble(eLo);
        q += (long) Math.floor(error / (2 * unsignedToDouble(q)));
        if (q >= 0) {
            q = estimate > 0x1.8p63 ? -1L : Long.MIN_VALUE;
        }
        while (true) {
            sHi = Math.unsignedMultiplyHigh(q, q);
            sLo = q * q;
            eLo = nLo - sLo;
            eHi = nHi - sHi - (Long.compareUnsigned(nLo, sLo) < 0 ? 1 : 0);
            if (eHi < 0) {
                q--;
            } else if (eHi > 1 || (eHi == 1 && Long.compareUnsigned(eLo, q << 1) > 0)) {
                q++;
            } else {
                break;
            }
        }
        hi = q;
        if (eHi == 0 && eLo == 0) {
            lo = 0;
        } else {
            // (q + 1/2)^2 = q^2 + q + 1/4
            lo = eHi != 0 || Long.compareUnsigned(eLo, q) > 0 ? Long.MIN_VALUE | 1 : 1;
        }
    }

    static double unsignedToDouble(long v) {
        return v >= 0 ? (double) v : (double) ((v >>> 1) | (v & 1)) * 2.0;
    }

    private static long doubleToUnsigned(double d) {
        return d < 0x1p63 ? (long) d : (long) (d - 0x1p63) + Long.MIN_VALUE;
    }

    /**
     * Rounds the result to {@code precision} bits, the lowest exponent of normal numbers being {@code minExponent}.
     *
     * <p>Leaves the significand in {@link #hi} (top bit clear for a denormal, 0 for zero) and 0 in {@link #lo}; a denormal
     * has {@code exponent == minExponent}. Overflow is not looked at.
     */
    void round(int precision, int minExponent, int rounding) {
        tiny = false;
        int below = minExponent - exponent;
        if (below > 0) {
            tiny = below > 1 || !roundsToPowerOfTwo(precision, rounding);
            exponent = minExponent;
            if (below < 64) {
                long lost = lo << (64 - below);
                lo = (lo >>> below) | (hi << (64 - below)) | (lost != 0 ? 1 : 0);
                hi >>>= below;
            } else if (below < 128) {
                long lost = lo | (below == 64 ? 0 : hi << (128 - below));
                lo = (below == 64 ? hi : hi >>> (below - 64)) | (lost != 0 ? 1 : 0);
                hi = 0;
            } else {
                lo = 1;
                hi = 0;
            }
        }
        int drop = 64 - precision;
        long mask = (1L << drop) - 1;
        long tail = hi & mask;
        boolean up;
        inexact = (tail | lo) != 0;
        if (!inexact) {
            roundedUp = false;
            return;
        }
        up = switch (rounding) {
            case NEAREST -> {
                if (drop == 0) {
                    yield lo < 0 && (lo != Long.MIN_VALUE || (hi & 1) != 0);
                }
                long half = 1L << (drop - 1);
                int c = Long.compareUnsigned(tail, half);
                yield c > 0 || (c == 0 && (lo != 0 || (hi & (mask + 1)) != 0));
            }
            case DOWN -> negative;
            case UP -> !negative;
            default -> false;
        };
        roundedUp = up;
        hi &= ~mask;
        lo = 0;
        if (up) {
            hi += mask + 1;
            if (hi == 0) {
                hi = Long.MIN_VALUE;
                exponent++;
            }
        }
    }

    /** Whether rounding with an unbounded exponent carries to the next power of two. */
    private boolean roundsToPowerOfTwo(int precision, int rounding) {
        int drop = 64 - precision;
        long mask = (1L << drop) - 1;
        if ((hi | mask) != -1L) {
            return false;
        }
        return switch (rounding) {
            case NEAREST -> drop == 0 ? lo < 0 : (hi & (1L << (drop - 1))) != 0;
            case DOWN -> negative && ((hi & mask) | lo) != 0;
            case UP -> !negative && ((hi & mask) | lo) != 0;
            default -> false;
        };
    }

    /**
     * Rounds the result to an integer and returns its magnitude, saturated at 2^64 - 1 with {@link #exponent} &gt; 63 telling
     * that it did not fit.
     */
    long roundToInteger(int rounding) {
        if (exponent > 63) {
            inexact = false;
            roundedUp = false;
            return -1L;
        }
        long whole;
        long fraction;
        int shift = 63 - exponent;
        if (shift == 0) {
            whole = hi;
            fraction = lo;
        } else if (shift < 64) {
            whole = hi >>> shift;
            fraction = (hi << (64 - shift)) | (lo != 0 ? 1 : 0);
        } else {
            whole = 0;
            fraction = shift == 64 ? hi | (lo != 0 ? 1 : 0) : 1;
        }
        inexact = fraction != 0;
        boolean up = inexact
                && switch (rounding) {
                    case NEAREST -> fraction < 0 && (fraction != Long.MIN_VALUE || (whole & 1) != 0);
                    case DOWN -> negative;
                    case UP -> !negative;
                    default -> false;
                };
        roundedUp = up;
        if (up) {
            whole++;
            if (whole == 0) {
                exponent = 64;
                return -1L;
            }
        }
        return whole;
    }
}
