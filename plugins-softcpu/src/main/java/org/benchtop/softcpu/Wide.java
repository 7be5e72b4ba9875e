package org.benchtop.softcpu;

/** 128-bit arithmetic. */
final class Wide {
    private Wide() {}

    /**
     * The unsigned quotient of a 128-bit number, where it fits 64 bits: {@code high < divisor}, unsigned. Schoolbook division
     * in base 2^32 (Knuth, TAOCP vol. 2, 4.3.1, algorithm D).
     */
    static long quotient(long high, long low, long divisor) {
        int shift = Long.numberOfLeadingZeros(divisor);
        long d = divisor << shift;
        long n1 = shift == 0 ? high : high << shift | low >>> 64 - shift;
        long n0 = low << shift;
        long q1 = digit(n1, n0 >>> 32, d);
        long rest = (n1 << 32 | n0 >>> 32) - q1 * d;
        long q0 = digit(rest, n0 & 0xffff_ffffL, d);
        return (q1 << 32) + q0;
    }

    /** One base-2^32 digit of {@code (n:next) / d}; the top bit of d is set. */
    private static long digit(long n, long next, long d) {
        long dHigh = d >>> 32;
        long dLow = d & 0xffff_ffffL;
        long q = Long.divideUnsigned(n, dHigh);
        long rest = n - q * dHigh;
        while (q > 0xffff_ffffL || q < 0 || Long.compareUnsigned(q * dLow, rest << 32 | next) > 0) {
            q--;
            rest += dHigh;
            if (rest >>> 32 != 0) {
                break;
            }
        }
        return q;
    }
}
