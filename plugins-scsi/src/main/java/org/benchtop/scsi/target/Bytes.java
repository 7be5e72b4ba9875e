package org.benchtop.scsi.target;

/** Big-endian numbers in byte arrays, as SCSI has them everywhere. */
final class Bytes {
    private Bytes() {}

    static int uint8(byte[] from, int at) {
        return from[at] & 0xff;
    }

    static int uint16(byte[] from, int at) {
        return uint8(from, at) << 8 | uint8(from, at + 1);
    }

    static int uint24(byte[] from, int at) {
        return uint16(from, at) << 8 | uint8(from, at + 2);
    }

    static long uint32(byte[] from, int at) {
        return (long) uint16(from, at) << 16 | uint16(from, at + 2);
    }

    static long int64(byte[] from, int at) {
        return uint32(from, at) << 32 | uint32(from, at + 4);
    }

    static void int16(byte[] to, int at, int value) {
        to[at] = (byte) (value >>> 8);
        to[at + 1] = (byte) value;
    }

    static void int32(byte[] to, int at, int value) {
        int16(to, at, value >>> 16);
        int16(to, at + 2, value);
    }

    static void int64(byte[] to, int at, long value) {
        int32(to, at, (int) (value >>> 32));
        int32(to, at + 4, (int) value);
    }

    /** Writes text, padded with spaces or cut. */
    static void text(byte[] to, int at, int length, String text) {
        for (int i = 0; i < length; i++) {
            to[at + i] = (byte) (i < text.length() ? text.charAt(i) : ' ');
        }
    }
}
