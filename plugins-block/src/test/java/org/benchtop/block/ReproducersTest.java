package org.benchtop.block;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageCheck;
import org.benchtop.spi.image.ImageFormat;
import org.benchtop.spi.image.ImageOpen;
import org.benchtop.testkit.BlockClient;
import org.benchtop.testkit.FakeCreateContext;
import org.benchtop.testkit.FakeEventLoop;
import org.benchtop.testkit.FakeFile;
import org.benchtop.testkit.FakeHostServices;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Hostile images that are kept ({@code src/test/resources/reproducers/FORMAT/NAME.gz}), and random damage to sound ones:
 * whatever is done with them ends soon, in success or in one line for people, and reading changes nothing.
 */
final class ReproducersTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final int DAMAGED_IMAGES = 150;
    private static final long MAX_DISK_BYTES = 1L << 40;
    private static final Path FILE = Path.of("/fake", "image");

    private static Path folder() {
        try {
            return Path.of(Objects.requireNonNull(ReproducersTest.class.getResource("/reproducers"))
                    .toURI());
        } catch (URISyntaxException e) {
            throw new AssertionError(e);
        }
    }

    /** The names of all kept images, as {@code FORMAT/NAME}. */
    static List<String> kept() throws IOException {
        try (Stream<Path> files = Files.walk(folder())) {
            return files.filter(file -> file.toString().endsWith(".gz"))
                    .map(file -> folder().relativize(file).toString().replace(".gz", ""))
                    .sorted()
                    .toList();
        }
    }

    private static byte[] content(String name) {
        try (InputStream in = new GZIPInputStream(Files.newInputStream(folder().resolve(name + ".gz")))) {
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static ImageFormat format(String name) {
        return new BlockPlugin()
                .imageFormats().stream()
                        .filter(format -> format.name().equals(name))
                        .findFirst()
                        .orElseThrow();
    }

    @ParameterizedTest
    @MethodSource("kept")
    void keptImageEndsInSuccessOrInOneLine(String name) {
        byte[] bytes = content(name);
        boolean sound = name.endsWith("/good");

        assertTimeoutPreemptively(LIMIT, () -> {
            boolean opened = use(format(name.substring(0, name.indexOf('/'))), bytes, new Random(1));
            assertTrue(opened || !sound, "a sound image cannot be opened");
        });
    }

    @Test
    void everyFormatHasASoundImageToDamage() throws IOException {
        List<String> kept = kept();

        for (String format : List.of("qcow2", "vhd", "vhdx", "vmdk")) {
            assertTrue(kept.contains(format + "/good"), format);
        }
    }

    @ParameterizedTest
    @MethodSource("sound")
    void damagedImageEndsInSuccessOrInOneLine(String name) {
        byte[] sound = content(name);
        ImageFormat format = format(name.substring(0, name.indexOf('/')));
        long seed = Long.getLong("benchtop.test.seed", 1);
        for (int i = 0; i < DAMAGED_IMAGES; i++) {
            long mine = seed + i;
            Random random = new Random(mine);
            byte[] damaged = damage(sound, random);
            try {
                assertTimeoutPreemptively(LIMIT, () -> use(format, damaged, random));
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("repeat with -Dbenchtop.test.seed=" + mine + ": " + e, e);
            }
        }
    }

    static List<String> sound() throws IOException {
        // Of qcow2 there is a test of its own, which damages more kinds.
        return kept().stream()
                .filter(name -> name.endsWith("/good") && !name.startsWith("qcow2"))
                .toList();
    }

    /** Changes some bytes, mostly where something is, and sometimes cuts the end off. */
    private static byte[] damage(byte[] sound, Random random) {
        byte[] damaged = sound.clone();
        for (int i = 1 + random.nextInt(5); i > 0; i--) {
            int at = random.nextInt(damaged.length - 8);
            for (int tries = 0; tries < 200 && damaged[at] == 0; tries++) {
                at = random.nextInt(damaged.length - 8);
            }
            int length = 1 << random.nextInt(4);
            for (int j = 0; j < length; j++) {
                damaged[at + j] = (byte) (random.nextBoolean() ? 0xff : random.nextInt(256));
            }
        }
        return random.nextInt(5) == 0 ? java.util.Arrays.copyOf(damaged, random.nextInt(damaged.length)) : damaged;
    }

    /** Does everything with an image; returns whether it could be opened. */
    private static boolean use(ImageFormat format, byte[] bytes, Random random) {
        FakeHostServices host = new FakeHostServices();
        FakeFile file = host.file(FILE, 0);
        file.poke(0, bytes);
        FakeCreateContext context = new FakeCreateContext("disk0").host(host);
        ImageOpen readOnly = ImageOpen.readOnly(FILE);
        boolean opened = attempt(format, context, readOnly, image -> {
            image.info();
            image.describe();
            read(image, random);
            long size = Math.min(image.capabilities().sizeBytes(), MAX_DISK_BYTES);
            if (size > 0) {
                image.extents(0, Math.min(size, 8 << 20), extent -> assertTrue(extent.lengthBytes() > 0));
                image.blockStatus(size - 1, 1);
            }
        });
        attempt(format, context, readOnly.flawed(true), image -> image.check(ImageCheck.Repair.NONE));
        assertArrayEquals(bytes, file.bytes(0, bytes.length), "reading has changed the file");
        attempt(format, context, readOnly.writable(true), image -> write(image, random));
        attempt(format, context, readOnly.writable(true).flawed(true), image -> image.check(ImageCheck.Repair.ALL));
        return opened;
    }

    /** What is done with an image. */
    private interface Use {
        void with(Image image);
    }

    private static boolean attempt(ImageFormat format, FakeCreateContext context, ImageOpen how, Use use) {
        boolean opened = false;
        try (Image image = format.open(how, context)) {
            opened = true;
            use.with(image);
        } catch (BenchtopException e) {
            assertNotEquals(ErrorKind.INTERNAL, e.kind(), e.toString());
            assertFalse(String.valueOf(e.getMessage()).contains("\n"), e.toString());
        }
        return opened;
    }

    private static void read(Image image, Random random) {
        long blocks = Math.min(image.capabilities().sizeBytes(), MAX_DISK_BYTES) / 512;
        try (BlockClient client = new BlockClient(image, new FakeEventLoop())) {
            for (int i = 0; i < 20 && blocks > 0; i++) {
                long first = i == 0 ? 0 : random.nextLong(blocks);
                client.tryRead(first * 512, (int) Math.min(64, blocks - first) * 512);
            }
        }
    }

    private static void write(Image image, Random random) {
        long blocks = Math.min(image.capabilities().sizeBytes(), MAX_DISK_BYTES) / 512;
        try (BlockClient client = new BlockClient(image, new FakeEventLoop())) {
            for (int i = 0; i < 20 && blocks > 0; i++) {
                long first = i == 0 ? 0 : random.nextLong(blocks);
                client.write(first * 512, new byte[(int) Math.min(1 + random.nextInt(64), blocks - first) * 512]);
            }
            client.flush();
        }
    }
}
