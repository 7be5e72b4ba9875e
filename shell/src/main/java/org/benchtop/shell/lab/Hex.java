package org.benchtop.shell.lab;

import java.util.Locale;

/** Hexadecimal text. */
final class Hex {
    private Hex() {}

    /** {@code 0x1f}. */
    static String of(long value) {
        return "0x" + Long.toHexString(value);
    }

    /** With leading zeroes, without prefix. */
    static String padded(long value, int digits) {
        return String.format(Locale.ROOT, "%0" + digits + "x", value);
    }

    /** Groups of four digits for readable 64-bit addresses: {@code ffffffff'81000000}. */
    static String address(long value) {
        if (value >>> 32 == 0) {
            return padded(value, 8);
        }
        return padded(value >>> 32, 8) + "'" + padded(value & 0xffff_ffffL, 8);
    }
}
