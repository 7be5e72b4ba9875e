package org.benchtop.engine.boot;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Builds small kernels of every format, field by field. */
final class ImageBuilder {
    static final long LOAD = 0x200000;
    static final long PVH_ENTRY = LOAD + 0x10;
    private static final int NOTE_OFFSET = 0x100;
    private static final int CODE_OFFSET = 0x200;
    static final int CODE_BYTES = 0x100;

    private ImageBuilder() {}

    private static ByteBuffer buffer(int sizeBytes) {
        return ByteBuffer.allocate(sizeBytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** An ELF64 with one segment at 2 MiB (256 bytes, 4 KiB in memory), and a PVH note if asked for. */
    static byte[] elf64(boolean pvh) {
        ByteBuffer elf = buffer(CODE_OFFSET + CODE_BYTES);
        elf.put(new byte[] {0x7f, 'E', 'L', 'F', 2, 1, 1});
        elf.putShort(16, (short) 2).putShort(18, (short) 62).putInt(20, 1);
        elf.putLong(24, LOAD + 0x40).putLong(32, 64);
        elf.putShort(52, (short) 64).putShort(54, (short) 56).putShort(56, (short) (pvh ? 2 : 1));
        header64(elf, 64, 1, CODE_OFFSET, LOAD, CODE_BYTES, 0x1000);
        if (pvh) {
            header64(elf, 64 + 56, 4, NOTE_OFFSET, 0, 20, 20);
            note(elf);
        }
        code(elf);
        return elf.array();
    }

    private static void header64(
            ByteBuffer elf, int at, int type, long offset, long gpa, long fileBytes, long memoryBytes) {
        elf.putInt(at, type)
                .putInt(at + 4, 7)
                .putLong(at + 8, offset)
                .putLong(at + 16, 0xffffffff80000000L + gpa)
                .putLong(at + 24, gpa)
                .putLong(at + 32, fileBytes)
                .putLong(at + 40, memoryBytes)
                .putLong(at + 48, 4);
    }

    private static void note(ByteBuffer elf) {
        elf.putInt(NOTE_OFFSET, 4).putInt(NOTE_OFFSET + 4, 4).putInt(NOTE_OFFSET + 8, 18);
        elf.put(NOTE_OFFSET + 12, "Xen\0".getBytes(StandardCharsets.US_ASCII));
        elf.putInt(NOTE_OFFSET + 16, (int) PVH_ENTRY);
    }

    private static void code(ByteBuffer image) {
        for (int i = 0; i < CODE_BYTES; i++) {
            image.put(CODE_OFFSET + i, (byte) (i * 7 + 1));
        }
    }

    /** An ELF32 with the same content and a PVH note. */
    static byte[] elf32() {
        ByteBuffer elf = buffer(CODE_OFFSET + CODE_BYTES);
        elf.put(new byte[] {0x7f, 'E', 'L', 'F', 1, 1, 1});
        elf.putShort(16, (short) 2).putShort(18, (short) 3).putInt(20, 1);
        elf.putInt(24, (int) LOAD).putInt(28, 52);
        elf.putShort(40, (short) 52).putShort(42, (short) 32).putShort(44, (short) 2);
        header32(elf, 52, 1, CODE_OFFSET, (int) LOAD, CODE_BYTES, 0x1000);
        header32(elf, 52 + 32, 4, NOTE_OFFSET, 0, 20, 20);
        note(elf);
        code(elf);
        return elf.array();
    }

    private static void header32(
            ByteBuffer elf, int at, int type, int offset, int gpa, int fileBytes, int memoryBytes) {
        elf.putInt(at, type)
                .putInt(at + 4, offset)
                .putInt(at + 8, gpa)
                .putInt(at + 12, gpa)
                .putInt(at + 16, fileBytes)
                .putInt(at + 20, memoryBytes)
                .putInt(at + 24, 7)
                .putInt(at + 28, 4);
    }

    static final int BZ_CODE_BYTES = 0x1000;
    static final int BZ_SETUP_BYTES = 2 * 512;

    /** A bzImage of boot protocol 2.15 with 4 KiB of code that unpacks itself at 16 MiB into 1 MiB. */
    static byte[] bzImage() {
        ByteBuffer image = buffer(BZ_SETUP_BYTES + BZ_CODE_BYTES);
        image.put(0x1f1, (byte) 1);
        image.putInt(0x1f4, BZ_CODE_BYTES / 16);
        image.putShort(0x1fe, (short) 0xaa55);
        image.put(0x200, (byte) 0xeb).put(0x201, (byte) 0x6a);
        image.putInt(0x202, 0x53726448).putShort(0x206, (short) 0x20f);
        image.putShort(0x20e, (short) 0x80);
        image.put(0x280, "6.1.0-test (x@y) #1\0".getBytes(StandardCharsets.US_ASCII));
        image.put(0x211, (byte) 1);
        image.putInt(0x214, 0x100000);
        image.putInt(0x22c, 0x7fffffff);
        image.putInt(0x230, 0x200000).put(0x234, (byte) 1);
        image.putShort(0x236, (short) 1);
        image.putInt(0x238, 2047);
        image.putLong(0x258, 0x1000000);
        image.putInt(0x260, 0x100000);
        for (int i = 0; i < BZ_CODE_BYTES; i++) {
            image.put(BZ_SETUP_BYTES + i, (byte) (i * 3 + 5));
        }
        return image.array();
    }

    /** A Multiboot image whose header says that all of it goes to 2 MiB. */
    static byte[] multiboot() {
        ByteBuffer image = buffer(0x400);
        int flags = 0x10003;
        image.putInt(0x10, 0x1badb002).putInt(0x14, flags).putInt(0x18, -(0x1badb002 + flags));
        image.putInt(0x1c, (int) LOAD + 0x10)
                .putInt(0x20, (int) LOAD)
                .putInt(0x24, 0)
                .putInt(0x28, (int) LOAD + 0x1000)
                .putInt(0x2c, (int) LOAD + 0x40);
        return image.array();
    }
}
