package org.benchtop.guests.debian;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/** Takes the ELF kernel out of a bzImage (Linux Documentation/x86/boot.rst, payload_offset). */
final class Vmlinuz {
    private static final int HEADER_END = 0x250;
    private static final int HEADER_MAGIC_AT = 0x202;
    private static final int HEADER_MAGIC = 0x53726448;
    private static final int SETUP_SECTORS_AT = 0x1f1;
    private static final int PAYLOAD_OFFSET_AT = 0x248;
    private static final int PAYLOAD_LENGTH_AT = 0x24c;
    private static final int SECTOR_BYTES = 512;
    private static final int DEFAULT_SETUP_SECTORS = 4;
    private static final int ELF_MAGIC = 0x464c457f;

    private Vmlinuz() {}

    /**
     * The vmlinux.
     *
     * @param name for messages
     */
    static byte[] extract(Path name, byte[] image) {
        if (image.length < HEADER_END || Decompression.word(image, HEADER_MAGIC_AT) != HEADER_MAGIC) {
            throw BenchtopException.of(ErrorKind.IMAGE, name + ": is no bzImage");
        }
        int setup = image[SETUP_SECTORS_AT] & 0xff;
        long base = (long) SECTOR_BYTES * ((setup == 0 ? DEFAULT_SETUP_SECTORS : setup) + 1);
        long start = base + Integer.toUnsignedLong(Decompression.word(image, PAYLOAD_OFFSET_AT));
        long end = start + Integer.toUnsignedLong(Decompression.word(image, PAYLOAD_LENGTH_AT));
        if (start >= end || end > image.length) {
            throw BenchtopException.of(ErrorKind.IMAGE, name + ": the payload at " + start + " sticks out");
        }
        byte[] payload = Arrays.copyOfRange(image, (int) start, (int) end);
        byte[] kernel;
        try (var in = Decompression.of(new ByteArrayInputStream(payload))) {
            kernel = in.readAllBytes();
        } catch (IOException e) {
            throw BenchtopException.of(
                    ErrorKind.IMAGE, name + ": the payload cannot be decompressed: " + e.getMessage(), e);
        }
        if (kernel.length < 64 || Decompression.word(kernel, 0) != ELF_MAGIC) {
            throw BenchtopException.of(ErrorKind.IMAGE, name + ": the payload is no ELF file");
        }
        return kernel;
    }
}
