package org.benchtop.pc.acpi;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/**
 * Encodes ACPI machine language (ACPI 6.4, chapter 20): each method gives the bytes of one term, so that nested calls
 * read like ASL.
 */
final class Aml {
    private static final int EXT = 0x5b;

    private Aml() {}

    /** Operation region spaces. */
    enum Space {
        SYSTEM_IO(0x01),
        PCI_CONFIG(0x02);

        private final int code;

        Space(int code) {
            this.code = code;
        }
    }

    static byte[] concat(byte[]... parts) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            out.writeBytes(part);
        }
        return out.toByteArray();
    }

    private static byte[] bytes(int... values) {
        byte[] out = new byte[values.length];
        for (int i = 0; i < values.length; i++) {
            out[i] = (byte) values[i];
        }
        return out;
    }

    private static byte[] little(long value, int size) {
        byte[] out = new byte[size];
        for (int i = 0; i < size; i++) {
            out[i] = (byte) (value >>> 8 * i);
        }
        return out;
    }

    /** PkgLength (20.2.4), which counts itself, before a body. */
    private static byte[] withLength(byte[] body) {
        int length = body.length + 1;
        if (length < 1 << 6) {
            return concat(bytes(length), body);
        }
        for (int extra = 1; extra <= 3; extra++) {
            length = body.length + 1 + extra;
            if (length < 1 << 4 + 8 * extra) {
                return concat(bytes(extra << 6 | length & 0x0f), little(length >> 4, extra), body);
            }
        }
        throw new IllegalArgumentException("AML package of " + body.length + " bytes is too long");
    }

    /** A NameString (20.2.2): {@code \_SB.PCI0}, {@code ^ISA}, or a single segment; segments are padded with _. */
    static byte[] name(String path) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        int at = 0;
        while (at < path.length() && (path.charAt(at) == '\\' || path.charAt(at) == '^')) {
            out.write(path.charAt(at++));
        }
        String rest = path.substring(at);
        if (rest.isEmpty()) {
            out.write(0);
            return out.toByteArray();
        }
        String[] segments = rest.split("\\.", -1);
        if (segments.length == 2) {
            out.write(0x2e);
        } else if (segments.length > 2) {
            out.write(0x2f);
            out.write(segments.length);
        }
        for (String segment : segments) {
            if (!segment.matches("[A-Z_][A-Z0-9_]{0,3}")) {
                throw new IllegalArgumentException("\"" + segment + "\" is no AML name segment");
            }
            out.writeBytes((segment + "___").substring(0, 4).getBytes(StandardCharsets.US_ASCII));
        }
        return out.toByteArray();
    }

    static byte[] integer(long value) {
        if (value == 0 || value == 1) {
            return bytes((int) value);
        }
        if (value == -1) {
            return bytes(0xff);
        }
        if (value >>> 8 == 0) {
            return bytes(0x0a, (int) value);
        }
        if (value >>> 16 == 0) {
            return concat(bytes(0x0b), little(value, 2));
        }
        if (value >>> 32 == 0) {
            return concat(bytes(0x0c), little(value, 4));
        }
        return concat(bytes(0x0e), little(value, 8));
    }

    static byte[] string(String value) {
        return concat(bytes(0x0d), value.getBytes(StandardCharsets.US_ASCII), bytes(0));
    }

    /** An EISA ID such as {@code PNP0A03}, compressed (19.3.4). */
    static byte[] eisaId(String id) {
        int vendor =
                (id.charAt(0) - 0x40 & 0x1f) << 10 | (id.charAt(1) - 0x40 & 0x1f) << 5 | id.charAt(2) - 0x40 & 0x1f;
        long value = (long) vendor << 16 | Integer.parseInt(id.substring(3), 16);
        return concat(bytes(0x0c), little(Integer.toUnsignedLong(Integer.reverseBytes((int) value)), 4));
    }

    static byte[] define(String name, byte[] object) {
        return concat(bytes(0x08), name(name), object);
    }

    static byte[] scope(String name, byte[]... body) {
        return concat(bytes(0x10), withLength(concat(name(name), concat(body))));
    }

    static byte[] device(String name, byte[]... body) {
        return concat(bytes(EXT, 0x82), withLength(concat(name(name), concat(body))));
    }

    /** A serialized method, which may create named objects. */
    static byte[] method(String name, int arguments, byte[]... body) {
        return concat(bytes(0x14), withLength(concat(name(name), bytes(arguments | 0x08), concat(body))));
    }

    static byte[] packageOf(byte[]... elements) {
        return concat(bytes(0x12), withLength(concat(bytes(elements.length), concat(elements))));
    }

    static byte[] buffer(byte[] content) {
        return concat(bytes(0x11), withLength(concat(integer(content.length), content)));
    }

    static byte[] operationRegion(String name, Space space, long offset, long length) {
        return concat(bytes(EXT, 0x80), name(name), bytes(space.code), integer(offset), integer(length));
    }

    /** Fields of eight bits, accessed by bytes, one after the other. */
    static byte[] byteFields(String region, String... fields) {
        ByteArrayOutputStream list = new ByteArrayOutputStream();
        for (String field : fields) {
            list.writeBytes(name(field));
            list.write(8);
        }
        return concat(bytes(EXT, 0x81), withLength(concat(name(region), bytes(0x01), list.toByteArray())));
    }

    static byte[] createDwordField(byte[] buffer, long byteIndex, String name) {
        return concat(bytes(0x8a), buffer, integer(byteIndex), name(name));
    }

    static byte[] store(byte[] value, byte[] target) {
        return concat(bytes(0x70), value, target);
    }

    static byte[] and(byte[] a, byte[] b) {
        return concat(bytes(0x7b), a, b, bytes(0));
    }

    static byte[] andInto(byte[] a, byte[] b, byte[] target) {
        return concat(bytes(0x7b), a, b, target);
    }

    static byte[] orInto(byte[] a, byte[] b, byte[] target) {
        return concat(bytes(0x7d), a, b, target);
    }

    static byte[] when(byte[] condition, byte[]... body) {
        return concat(bytes(0xa0), withLength(concat(condition, concat(body))));
    }

    static byte[] giveBack(byte[] value) {
        return concat(bytes(0xa4), value);
    }

    static byte[] argument(int index) {
        return bytes(0x68 + index);
    }
}
