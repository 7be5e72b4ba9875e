package org.benchtop.block.qcow2;

import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageBacking;
import org.benchtop.spi.image.ImageCheck;
import org.benchtop.spi.image.ImageOpen;
import org.benchtop.testkit.BlockClient;
import org.benchtop.testkit.FakeEventLoop;
import org.benchtop.testkit.FakeFile;
import org.junit.jupiter.api.Test;

/**
 * Damaged images: whatever is in them, opening, reading, writing, checking and repairing end with an answer, in bounded
 * time, and without a defect's exception.
 */
final class Qcow2FuzzTest {
    private static final int IMAGES = Integer.getInteger("benchtop.fuzz.images", 40);
    private static final long SIZE = 256 << 10;
    private static final Duration LIMIT = Duration.ofMinutes(2);

    private static long seed() {
        Long given = Long.getLong("benchtop.test.seed");
        return given == null ? new Random().nextLong() : given;
    }

    @Test
    void damagedImagesNeverCauseMoreThanAnError() {
        long seed = seed();
        for (int i = 0; i < IMAGES; i++) {
            long mine = seed + i;
            try {
                assertTimeoutPreemptively(LIMIT, () -> attack(new Random(mine)));
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("repeat with -Dbenchtop.test.seed=" + mine + ": " + e, e);
            }
        }
    }

    private static void attack(Random random) {
        TestImages images = new TestImages();
        Map<String, String> options = new HashMap<>(Qcow2ModelTest.randomOptions(random));
        boolean v3 = "1.1".equals(options.get("compat"));
        options.put("compression_type", v3 && random.nextBoolean() ? "zstd" : "zlib");
        Optional<ImageBacking> backing = random.nextInt(4) == 0
                ? Optional.of(new ImageBacking("base.raw", Optional.of("raw")))
                : Optional.empty();
        images.host().file(TestImages.path("base.raw"), SIZE);
        FakeFile file = images.create("disk.qcow2", SIZE, options, backing);
        try (Image image = images.open(
                TestImages.how("disk.qcow2", true, CacheMode.WRITEBACK).compress(random.nextInt(3) == 0))) {
            new Workload(image, 1, 0, 32, random.nextLong()).run(20, 4);
            // Narrow refcounts cannot count the references of a snapshot and of compressed clusters.
            if (random.nextBoolean() && Integer.parseInt(options.getOrDefault("refcount_bits", "16")) >= 16) {
                image.createSnapshot("one");
                new Workload(image, 1, 0, 32, random.nextLong()).run(10, 4);
            }
        }
        damage(file, random);
        use(images, random);
    }

    private static void damage(FakeFile file, Random random) {
        int bytes = (int) file.sizeBytes();
        int times = 1 + random.nextInt(6);
        for (int i = 0; i < times; i++) {
            int at;
            if (random.nextInt(3) == 0) {
                at = random.nextInt(112);
            } else if (random.nextBoolean()) {
                // Table entries are at the start of clusters more often than elsewhere.
                at = random.nextInt(bytes / 512) * 512 + random.nextInt(24);
            } else {
                at = random.nextInt(bytes);
            }
            byte[] garbage = new byte[1 << random.nextInt(4)];
            switch (random.nextInt(4)) {
                case 0 -> {}
                case 1 -> java.util.Arrays.fill(garbage, (byte) 0xff);
                case 2 -> {
                    // An offset that points at some cluster of the file.
                    garbage = new byte[8];
                    long offset = random.nextInt(bytes / 512) * 512L;
                    for (int j = 0; j < 8; j++) {
                        garbage[j] = (byte) (offset >>> 56 - 8 * j);
                    }
                    garbage[0] |= (byte) (random.nextBoolean() ? 0x80 : 0);
                    at &= -8;
                }
                default -> random.nextBytes(garbage);
            }
            if (at + garbage.length <= bytes) {
                file.poke(at, garbage);
            }
        }
        if (random.nextInt(6) == 0) {
            file.truncate(random.nextInt(bytes));
        }
    }

    private static void use(TestImages images, Random random) {
        ImageOpen readOnly = TestImages.how("disk.qcow2", false, CacheMode.WRITEBACK);
        attempt(images, readOnly.flawed(true), image -> image.check(ImageCheck.Repair.NONE));
        attempt(images, readOnly, image -> {
            image.info();
            read(image, random);
            image.extents(0, Math.min(1 << 20, image.capabilities().sizeBytes()), extent -> {});
        });
        ImageOpen writable = TestImages.how("disk.qcow2", true, CacheMode.WRITEBACK);
        attempt(images, writable, image -> write(image, random));
        attempt(images, writable, image -> image.createSnapshot("fuzz"));
        attempt(images, writable, image -> image.deleteSnapshot("one"));
        attempt(images, writable.flawed(true), image -> image.check(ImageCheck.Repair.ALL));
        attempt(images, writable, image -> write(image, random));
    }

    /** What is done with an image. */
    private interface Use {
        void with(Image image);
    }

    private static void attempt(TestImages images, ImageOpen how, Use use) {
        try (Image image = images.open(how)) {
            use.with(image);
        } catch (BenchtopException e) {
            if (e.kind() == org.benchtop.spi.ErrorKind.INTERNAL
                    || e.getMessage().contains("\n")) {
                throw new AssertionError("not an error for people: " + e, e);
            }
        }
    }

    private static void read(Image image, Random random) {
        long blocks = Math.min(image.capabilities().sizeBytes(), 1L << 40) / 512;
        try (BlockClient client = new BlockClient(image, new FakeEventLoop())) {
            for (int i = 0; i < 20 && blocks > 0; i++) {
                long first = random.nextLong(blocks);
                client.tryRead(first * 512, (int) Math.min(64, blocks - first) * 512);
            }
        }
    }

    private static void write(Image image, Random random) {
        long blocks = Math.min(image.capabilities().sizeBytes(), SIZE) / 512;
        try (BlockClient client = new BlockClient(image, new FakeEventLoop())) {
            for (int i = 0; i < 20 && blocks > 0; i++) {
                long first = random.nextLong(blocks);
                int count = (int) Math.min(1 + random.nextInt(64), blocks - first);
                switch (random.nextInt(5)) {
                    case 0 -> client.writeZeroes(first * 512, count * 512L, true);
                    case 1 -> client.discard(first * 512, count * 512L);
                    case 2 -> client.flush();
                    default -> client.write(first * 512, new byte[count * 512]);
                }
            }
        }
    }
}
