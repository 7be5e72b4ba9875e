package org.benchtop.softcpu.simd;

/** The aggregation of PCMPESTRI, PCMPESTRM, PCMPISTRI and PCMPISTRM (Intel SDM vol. 1, 5.10.1; vol. 2, 4.1). */
final class StringCompare {
    private StringCompare() {}

    /** The number of elements of the immediate's size in 16 bytes. */
    static int elements(int imm) {
        return (imm & 1) == 0 ? 16 : 8;
    }

    private static int element(long low, long high, int i, int imm) {
        return switch (imm & 3) {
            case 0 -> (int) ((i < 8 ? low : high) >>> 8 * (i & 7)) & 0xff;
            case 1 -> (int) ((i < 4 ? low : high) >>> 16 * (i & 3)) & 0xffff;
            case 2 -> (byte) ((i < 8 ? low : high) >>> 8 * (i & 7));
            default -> (short) ((i < 4 ? low : high) >>> 16 * (i & 3));
        };
    }

    /** The length of a string that ends with a zero element, at most {@link #elements}. */
    static int implicitLength(long low, long high, int imm) {
        int n = elements(imm);
        for (int i = 0; i < n; i++) {
            if (element(low, high, i, imm) == 0) {
                return i;
            }
        }
        return n;
    }

    /** A length from a register: its magnitude, at most {@link #elements}. */
    static int explicitLength(long value, int imm) {
        int n = elements(imm);
        return value > n || value < -n ? n : (int) Math.abs(value);
    }

    /**
     * IntRes2: a bit for each element of the second operand.
     *
     * @param aLength valid elements of the first operand
     */
    static int compare(long aLow, long aHigh, int aLength, long bLow, long bHigh, int bLength, int imm) {
        int n = elements(imm);
        int result = 0;
        switch (imm >> 2 & 3) {
            case 0 -> {
                for (int j = 0; j < bLength; j++) {
                    int y = element(bLow, bHigh, j, imm);
                    for (int i = 0; i < aLength; i++) {
                        if (element(aLow, aHigh, i, imm) == y) {
                            result |= 1 << j;
                            break;
                        }
                    }
                }
            }
            case 1 -> {
                for (int j = 0; j < bLength; j++) {
                    int y = element(bLow, bHigh, j, imm);
                    for (int i = 0; i + 1 < aLength; i += 2) {
                        if (element(aLow, aHigh, i, imm) <= y && y <= element(aLow, aHigh, i + 1, imm)) {
                            result |= 1 << j;
                            break;
                        }
                    }
                }
            }
            case 2 -> {
                for (int i = 0; i < n; i++) {
                    boolean aValid = i < aLength;
                    boolean bValid = i < bLength;
                    if (aValid && bValid
                            ? element(aLow, aHigh, i, imm) == element(bLow, bHigh, i, imm)
                            : !aValid && !bValid) {
                        result |= 1 << i;
                    }
                }
            }
            default -> {
                for (int j = 0; j < n; j++) {
                    boolean match = true;
                    for (int i = 0; match && i < aLength && j + i < n; i++) {
                        match = j + i < bLength && element(aLow, aHigh, i, imm) == element(bLow, bHigh, j + i, imm);
                    }
                    if (match) {
                        result |= 1 << j;
                    }
                }
            }
        }
        return switch (imm >> 4 & 3) {
            case 1 -> ~result & (1 << n) - 1;
            case 3 -> result ^ (1 << bLength) - 1;
            default -> result;
        };
    }

    /** CF, ZF, SF and OF in their places of RFLAGS. */
    static int flags(int result, int aLength, int bLength, int imm) {
        int n = elements(imm);
        return (result != 0 ? 1 : 0)
                | (bLength < n ? 0x40 : 0)
                | (aLength < n ? 0x80 : 0)
                | ((result & 1) != 0 ? 0x800 : 0);
    }

    /** What the index forms leave in ECX. */
    static int index(int result, int imm) {
        if (result == 0) {
            return elements(imm);
        }
        return (imm & 0x40) != 0 ? 31 - Integer.numberOfLeadingZeros(result) : Integer.numberOfTrailingZeros(result);
    }

    /** Eight bytes of the mask that the mask forms leave in XMM0. */
    static long mask(int result, int imm, boolean high) {
        if ((imm & 0x40) == 0) {
            return high ? 0 : result;
        }
        int width = (imm & 1) == 0 ? 8 : 16;
        int count = 64 / width;
        int bits = high ? result >> count : result;
        long element = width == 8 ? 0xff : 0xffff;
        long r = 0;
        for (int i = 0; i < count; i++) {
            if ((bits >> i & 1) != 0) {
                r |= element << width * i;
            }
        }
        return r;
    }
}
