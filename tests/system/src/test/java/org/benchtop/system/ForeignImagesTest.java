package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.benchtop.block.image.ReadOnlyImageOptions;
import org.benchtop.engine.linux.LinuxEventLoop;
import org.benchtop.engine.linux.LinuxHost;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.testkit.BlockClient;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** VHD, VHDX and VMDK images that qemu-img made. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
final class ForeignImagesTest {
    private static final int SIZE = 9 << 20;

    @TempDir
    private Path folder = Path.of("");

    private LinuxEventLoop loop = LinuxEventLoop.start("images");

    @BeforeEach
    void needsTools() {
        Assumptions.assumeTrue(LinuxHost.available(), "this is not Linux on x86-64");
        Tools.assume("qemu-img");
    }

    @AfterEach
    void endLoop() {
        loop.close();
    }

    private static byte[] content() {
        byte[] bytes = new byte[SIZE];
        new Random(6).nextBytes(bytes);
        // Whole blocks of every format are missing, and some are only partly written.
        Arrays.fill(bytes, 70_000, 6 << 20, (byte) 0);
        Arrays.fill(bytes, (6 << 20) + 100_000, (8 << 20) + 4096, (byte) 0);
        // Compressible, for stream-optimised images.
        Arrays.fill(bytes, 10_000, 20_000, (byte) 'x');
        return bytes;
    }

    /** Lets qemu-img convert the content; returns the image and leaves the content beside it. */
    private Path convert(String type, String options) throws IOException {
        Path raw = folder.resolve("content.raw");
        Files.write(raw, content());
        Path image = folder.resolve("disk." + type);
        String format = type.equals("vhd") ? "vpc" : type;
        Tools.run(
                folder,
                "qemu-img",
                "convert",
                "-f",
                "raw",
                "-O",
                format,
                "-o",
                options,
                raw.toString(),
                image.toString());
        return image;
    }

    private BlockBackend open(String type, Path image) {
        return BlockTypes.open(type, ReadOnlyImageOptions.of(image), BlockTypes.context(folder));
    }

    @ParameterizedTest
    @CsvSource({
        "vhd, subformat=dynamic",
        "vhd, 'subformat=dynamic,force_size=on'",
        "vhd, 'subformat=fixed,force_size=on'",
        "vhdx, subformat=dynamic",
        "vhdx, 'subformat=dynamic,block_size=1M'",
        "vhdx, subformat=fixed",
        "vmdk, subformat=monolithicSparse",
        "vmdk, subformat=monolithicFlat",
        "vmdk, subformat=twoGbMaxExtentSparse",
        "vmdk, subformat=twoGbMaxExtentFlat",
        "vmdk, subformat=streamOptimized",
        "vmdk, 'subformat=monolithicSparse,zeroed_grain=on'",
    })
    void imageReadsAsTheContentThatQemuPutInto(String type, String options) throws IOException {
        Path image = convert(type, options);
        byte[] expected = content();
        try (BlockBackend backend = open(type, image);
                BlockClient client = new BlockClient(backend, loop)) {
            long size = backend.capabilities().sizeBytes();
            assertTrue(size >= SIZE && size < SIZE + (1 << 20), "size " + size);
            assertTrue(backend.capabilities().readOnly());
            byte[] all = client.read(0, (int) size);
            assertArrayEquals(expected, Arrays.copyOf(all, SIZE));
            assertArrayEquals(new byte[(int) size - SIZE], Arrays.copyOfRange(all, SIZE, (int) size));
            Random random = new Random(1);
            for (int i = 0; i < 200; i++) {
                int length = 512 * (1 + random.nextInt(300));
                int at = 512 * random.nextInt((SIZE - length) / 512);
                assertArrayEquals(Arrays.copyOfRange(expected, at, at + length), client.read(at, length), "at " + at);
            }
            assertEquals(BlockStatus.READ_ONLY, client.write(0, new byte[512]));
            assertEquals(BlockStatus.OUT_OF_RANGE, client.tryRead(size, 512));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "vhd, subformat=dynamic",
        "vhdx, subformat=dynamic",
        "vmdk, subformat=monolithicSparse",
        "vmdk, subformat=streamOptimized",
    })
    void truncatedImageIsRefusedOrFailsToRead(String type, String options) throws IOException {
        Path image = convert(type, options);
        byte[] whole = Files.readAllBytes(image);
        Random random = new Random(2);
        byte[] expected = content();
        for (int i = 0; i < 30; i++) {
            int length = i < 12 ? i * 97 : random.nextInt(whole.length);
            Files.write(image, Arrays.copyOf(whole, length));
            readAll(type, image, expected, "cut to " + length);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "vhd, subformat=dynamic",
        "vhdx, subformat=dynamic",
        "vmdk, subformat=monolithicSparse",
        "vmdk, subformat=streamOptimized",
        "vmdk, subformat=monolithicFlat",
    })
    void damagedImageNeverHangsOrThrowsAnythingElse(String type, String options) throws IOException {
        Path image = convert(type, options);
        Long given = Long.getLong("benchtop.test.seed");
        long seed = given == null ? new Random().nextLong() : given;
        Random random = new Random(seed);
        byte[] whole = Files.readAllBytes(image);
        int head = Math.min(whole.length, 400 << 10);
        try (RandomAccessFile file = new RandomAccessFile(image.toFile(), "rw")) {
            for (int i = 0; i < 80; i++) {
                int[] places = new int[1 + random.nextInt(8)];
                for (int j = 0; j < places.length; j++) {
                    // Mostly in the structures, which are at the start, or in the footer.
                    places[j] = random.nextInt(4) == 0
                            ? whole.length - 1 - random.nextInt(Math.min(whole.length, 1024))
                            : random.nextInt(random.nextBoolean() ? Math.min(head, 1024) : head);
                    file.seek(places[j]);
                    file.write(random.nextBoolean() ? random.nextInt(256) : random.nextBoolean() ? 0xff : 0);
                }
                touch(type, image, "seed " + seed + " round " + i);
                for (int place : places) {
                    file.seek(place);
                    file.write(whole[place]);
                }
            }
        }
    }

    /** Opens and reads; whatever is read must be right. */
    private void readAll(String type, Path image, byte[] expected, String what) {
        try (BlockBackend backend = open(type, image);
                BlockClient client = new BlockClient(backend, loop)) {
            for (int at = 0; at < SIZE; at += 1 << 20) {
                if (client.tryRead(at, 1 << 20) == BlockStatus.OK) {
                    assertArrayEquals(Arrays.copyOfRange(expected, at, at + (1 << 20)), client.read(at, 1 << 20), what);
                }
            }
        } catch (BenchtopException e) {
            assertRefusal(e, what);
        }
    }

    private void touch(String type, Path image, String what) {
        try (BlockBackend backend = open(type, image);
                BlockClient client = new BlockClient(backend, loop)) {
            long size = Math.min(backend.capabilities().sizeBytes(), SIZE);
            for (long at = 0; at + 65536 <= size; at += 1 << 20) {
                client.tryRead(at, 65536);
            }
        } catch (BenchtopException e) {
            assertRefusal(e, what);
        }
    }

    private void assertRefusal(BenchtopException e, String what) {
        assertTrue(
                e.kind() == ErrorKind.IMAGE || e.kind() == ErrorKind.UNSUPPORTED || e.kind() == ErrorKind.HOST,
                what + ": " + e);
        assertFalse(e.getMessage().contains("\n"), e.getMessage());
        assertTrue(e.getMessage().startsWith(folder.toString()), e.getMessage());
    }

    @Test
    void vmdkExtentOutsideItsFolderIsRefused() {
        Path image = folder.resolve("disk.vmdk");
        for (String name : new String[] {"/etc/hostname", "../secret.img", ".."}) {
            write(image, """
                    # Disk DescriptorFile
                    version=1
                    parentCID=ffffffff
                    createType="monolithicFlat"
                    RW 1 FLAT "%s" 0
                    """.formatted(name));

            BenchtopException error = assertThrows(BenchtopException.class, () -> open("vmdk", image));

            assertTrue(error.getMessage().contains("not in the folder"), error.getMessage());
        }
    }

    @Test
    void vmdkWithAParentIsRefused() {
        Path image = folder.resolve("disk.vmdk");
        write(image, """
                # Disk DescriptorFile
                version=1
                parentCID=12345678
                parentFileNameHint="base.vmdk"
                RW 1 FLAT "x-flat.vmdk" 0
                """);

        BenchtopException error = assertThrows(BenchtopException.class, () -> open("vmdk", image));

        assertEquals(ErrorKind.UNSUPPORTED, error.kind());
        assertTrue(error.getMessage().contains("base.vmdk"), error.getMessage());
    }

    private static void write(Path file, String text) {
        try {
            Files.writeString(file, text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
