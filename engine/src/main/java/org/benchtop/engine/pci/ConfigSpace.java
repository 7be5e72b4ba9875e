package org.benchtop.engine.pci;

/** 256 bytes of configuration space with a writable mask and a write-one-to-clear mask. Not thread-safe. */
final class ConfigSpace {
    private final byte[] bytes = new byte[PciRegs.CONFIG_SIZE];
    private final byte[] writable = new byte[PciRegs.CONFIG_SIZE];
    private final byte[] clearable = new byte[PciRegs.CONFIG_SIZE];

    long get(int offset, int size) {
        return get(bytes, offset, size);
    }

    private static long get(byte[] from, int offset, int size) {
        long value = 0;
        for (int i = 0; i < size; i++) {
            value |= (from[offset + i] & 0xffL) << 8 * i;
        }
        return value;
    }

    void set(int offset, int size, long value) {
        for (int i = 0; i < size; i++) {
            bytes[offset + i] = (byte) (value >>> 8 * i);
        }
    }

    void writable(int offset, int size, long mask) {
        for (int i = 0; i < size; i++) {
            writable[offset + i] |= (byte) (mask >>> 8 * i);
        }
    }

    void clearable(int offset, int size, long mask) {
        for (int i = 0; i < size; i++) {
            clearable[offset + i] |= (byte) (mask >>> 8 * i);
        }
    }

    /** A guest write. */
    void guestWrite(int offset, int size, long value) {
        for (int i = 0; i < size; i++) {
            int at = offset + i;
            int b = (int) (value >>> 8 * i) & 0xff;
            bytes[at] = (byte) ((bytes[at] & ~writable[at] | b & writable[at]) & ~(b & clearable[at]));
        }
    }

    byte[] copy() {
        return bytes.clone();
    }

    void restore(byte[] saved) {
        System.arraycopy(saved, 0, bytes, 0, bytes.length);
    }
}
