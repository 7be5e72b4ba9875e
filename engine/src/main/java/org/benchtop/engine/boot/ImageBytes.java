package org.benchtop.engine.boot;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.benchtop.spi.BenchtopException;

/** The content of an image file, little-endian, whose readers report what is missing instead of failing. */
final class ImageBytes {
    private final String name;
    private final ByteBuffer buffer;

    ImageBytes(String name, byte[] bytes) {
        this.name = name;
        this.buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    String name() {
        return name;
    }

    int length() {
        return buffer.capacity();
    }

    BenchtopException error(String reason) {
        return ImageErrors.error(name, reason);
    }

    private void check(String field, long offset, long lengthBytes) {
        if (offset < 0 || lengthBytes < 0 || offset > length() - lengthBytes) {
            throw error("truncated: " + field + " at " + ImageErrors.hex(offset) + "..+" + ImageErrors.hex(lengthBytes)
                    + " lies outside the file of " + length() + " bytes");
        }
    }

    int u8(String field, long offset) {
        check(field, offset, 1);
        return buffer.get((int) offset) & 0xff;
    }

    int u16(String field, long offset) {
        check(field, offset, 2);
        return buffer.getShort((int) offset) & 0xffff;
    }

    long u32(String field, long offset) {
        check(field, offset, 4);
        return Integer.toUnsignedLong(buffer.getInt((int) offset));
    }

    long u64(String field, long offset) {
        check(field, offset, 8);
        return buffer.getLong((int) offset);
    }

    byte[] slice(String field, long offset, long lengthBytes) {
        check(field, offset, lengthBytes);
        return Arrays.copyOfRange(buffer.array(), (int) offset, (int) (offset + lengthBytes));
    }

    boolean startsWith(int... bytes) {
        if (length() < bytes.length) {
            return false;
        }
        for (int i = 0; i < bytes.length; i++) {
            if ((buffer.get(i) & 0xff) != bytes[i]) {
                return false;
            }
        }
        return true;
    }

    /** Text up to a NUL or the bound, printable characters only. */
    String text(long offset, int maxBytes) {
        if (offset < 0 || offset >= length()) {
            return "";
        }
        int end = (int) offset;
        while (end < length() && end < offset + maxBytes && buffer.get(end) >= ' ') {
            end++;
        }
        return new String(buffer.array(), (int) offset, end - (int) offset, StandardCharsets.US_ASCII);
    }
}
