package org.benchtop.block.qcow2;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageBacking;
import org.benchtop.spi.image.ImageCheck;
import org.benchtop.testkit.BlockClient;
import org.benchtop.testkit.FakeEventLoop;
import org.benchtop.testkit.FakeFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Random requests from several queues at once, on random shapes of images, against a model. */
final class Qcow2ModelTest {
    private static final int ROUNDS = 10;
    private static final int USERS = 3;

    @TempDir
    Path folder = Path.of("");

    private static long seed() {
        Long given = Long.getLong("benchtop.test.seed");
        return given == null ? new Random().nextLong() : given;
    }

    static Map<String, String> randomOptions(Random random) {
        Map<String, String> options = new HashMap<>();
        boolean v3 = random.nextInt(4) > 0;
        options.put("compat", v3 ? "1.1" : "0.10");
        boolean extended = v3 && random.nextInt(4) == 0;
        options.put("extended_l2", extended ? "on" : "off");
        options.put("cluster_size", String.valueOf(512 << (extended ? 5 + random.nextInt(2) : random.nextInt(8))));
        if (v3) {
            options.put("refcount_bits", String.valueOf(1 << random.nextInt(7)));
            options.put("lazy_refcounts", random.nextInt(4) == 0 ? "on" : "off");
        }
        return options;
    }

    @Test
    void requestsOfSeveralQueuesAgreeWithAModel() throws IOException {
        long seed = seed();
        for (int round = 0; round < ROUNDS; round++) {
            Random random = new Random(seed + round);
            Map<String, String> options = randomOptions(random);
            String what = "seed " + (seed + round) + " " + options;
            try {
                round(random, options, what);
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError(what + ": " + e.getMessage(), e);
            }
        }
    }

    private void round(Random random, Map<String, String> options, String what) throws IOException {
        TestImages images = new TestImages();
        long size = (64 + random.nextInt(512)) * 512L;
        Optional<ImageBacking> backing = Optional.empty();
        if (random.nextInt(3) == 0) {
            long below = (1 + random.nextInt(512)) * 512L;
            images.host().file(TestImages.path("base.raw"), below);
            backing = Optional.of(new ImageBacking("base.raw", Optional.of("raw")));
        }
        FakeFile file = images.create("disk.qcow2", size, options, backing);
        file.completion(random.nextInt(4) == 0 ? FakeFile.Completion.AT_ONCE : FakeFile.Completion.LATER);
        CacheMode cache = CacheMode.values()[random.nextInt(CacheMode.values().length)];
        List<Workload> users = new ArrayList<>();
        Image image = images.open(TestImages.how("disk.qcow2", true, cache));
        int runBlocks = 1 + random.nextInt(12);
        try (image) {
            List<CompletableFuture<Void>> running = new ArrayList<>();
            for (int user = 0; user < USERS; user++) {
                Workload workload = new Workload(image, USERS, user, runBlocks, random.nextLong());
                users.add(workload);
                running.add(CompletableFuture.runAsync(
                        () -> workload.run(150, 6), task -> Thread.ofPlatform().start(task)));
            }
            running.forEach(CompletableFuture::join);
            verify(image, users, what + " before closing");
        }
        file.completion(FakeFile.Completion.AT_ONCE);
        try (Image again = images.openReadOnly("disk.qcow2")) {
            verify(again, users, what + " after closing");
            ImageCheck check = again.check(ImageCheck.Repair.NONE);
            assertEquals(0, check.corruptions() + check.errors(), () -> what + " " + check.messages());
            assertEquals(0, check.leaks(), () -> what + " " + check.messages());
            assertTrue(!again.info().dirty(), what + " is still marked dirty");
        }
        if (QemuImg.available()) {
            Path exported = folder.resolve("disk.qcow2");
            images.export("disk.qcow2", exported);
            if (backing.isPresent()) {
                images.export("base.raw", folder.resolve("base.raw"));
            }
            QemuImg.check(exported, what);
            Path raw = folder.resolve("model.raw");
            Files.write(raw, model(users, size));
            QemuImg.run(what, "compare", "-f", "raw", "-F", "qcow2", raw.toString(), exported.toString());
        }
    }

    private static void verify(Image image, List<Workload> users, String what) {
        try (BlockClient client = new BlockClient(image, new FakeEventLoop())) {
            byte[] bytes = client.read(0, (int) image.capabilities().sizeBytes());
            for (Workload user : users) {
                for (int block = 0; block < user.blocks(); block++) {
                    if (user.owns(block)) {
                        long found = Workload.value(
                                MemorySegment.ofArray(bytes), (long) block * Workload.BLOCK, block, what);
                        assertEquals(Math.max(0, user.current(block)), found, what + ": block " + block);
                    }
                }
            }
        }
    }

    private static byte[] model(List<Workload> users, long size) {
        byte[] bytes = new byte[(int) size];
        for (Workload user : users) {
            for (int block = 0; block < user.blocks(); block++) {
                if (user.owns(block) && user.current(block) > 0) {
                    Workload.fill(
                            MemorySegment.ofArray(bytes), (long) block * Workload.BLOCK, block, user.current(block));
                }
            }
        }
        return bytes;
    }
}
