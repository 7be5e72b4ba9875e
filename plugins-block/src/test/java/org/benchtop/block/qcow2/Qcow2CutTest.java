package org.benchtop.block.qcow2;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.BooleanSupplier;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.host.FileOperation;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageCheck;
import org.benchtop.testkit.BlockClient;
import org.benchtop.testkit.FakeEventLoop;
import org.benchtop.testkit.FakeFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What is in an image when everything stops: after each single write (a killed process), and with any part of what was
 * not synced missing (a power cut).
 */
final class Qcow2CutTest {
    private static final long SIZE = 96 << 10;
    private static final int REQUESTS = 60;
    private static final int QEMU_SAMPLES = 6;

    @TempDir
    Path folder = Path.of("");

    private static long seed() {
        Long given = Long.getLong("benchtop.test.seed");
        return given == null ? new Random().nextLong() : given;
    }

    /** A run: the image before, every change, and what was promised when. */
    private record Story(
            byte[] before,
            List<FakeFile.Change> changes,
            Workload user,
            List<Promise> promises,
            Map<String, String> options) {}

    /** A flush that was submitted when each block had a version, and completed after that many changes. */
    private record Promise(int[] versions, int completedAt) {}

    private static Story run(Map<String, String> options, CacheMode cache, long seed) {
        TestImages images = new TestImages();
        FakeFile file = images.create("disk.qcow2", SIZE, options);
        byte[] before = file.bytes(0, (int) file.sizeBytes());
        file.completion(FakeFile.Completion.LATER).keepJournal();
        List<Promise> promises = new ArrayList<>();
        Workload user;
        try (Image image = images.open(TestImages.how("disk.qcow2", true, cache))) {
            user = new Workload(image, 1, 0, 64, seed, file::journalSize);
            Workload workload = user;
            // The versions at the submission of a flush are those of requests that have completed by then.
            user.onFlush(() -> {
                int[] versions = workload.snapshot();
                return () -> promises.add(new Promise(versions, file.journalSize()));
            });
            user.run(REQUESTS, 4);
        }
        return new Story(before, file.journal(), user, promises, options);
    }

    /** An image with the first changes, and of those after the last sync only some. */
    private static TestImages replay(Story story, int count, BooleanSupplier kept) {
        TestImages images = new TestImages();
        FakeFile file = images.host().file(TestImages.path("disk.qcow2"), 0);
        file.poke(0, story.before);
        int synced = 0;
        for (int i = 0; i < count; i++) {
            if (story.changes.get(i).kind() == FileOperation.Kind.SYNC) {
                synced = i;
            }
        }
        for (int i = 0; i < count; i++) {
            if (i < synced || kept.getAsBoolean()) {
                file.redo(story.changes.get(i));
            }
        }
        return images;
    }

    private static void verify(Story story, TestImages images, int count, String what) {
        try (Image image = images.openReadOnly("disk.qcow2")) {
            ImageCheck check = image.check(ImageCheck.Repair.NONE);
            assertEquals(0, check.errors(), () -> what + " " + check.messages());
            if (!image.info().dirty()) {
                assertEquals(0, check.corruptions(), () -> what + " " + check.messages());
            }
            verifyData(story, image, count, what);
        }
        if (story.options.getOrDefault("lazy_refcounts", "off").equals("on")) {
            try (Image image = images.open("disk.qcow2")) {
                verifyData(story, image, count, what + " after the repair of refcounts");
            }
            try (Image image = images.openReadOnly("disk.qcow2")) {
                ImageCheck check = image.check(ImageCheck.Repair.NONE);
                assertEquals(0, check.corruptions() + check.leaks(), () -> what + " repaired " + check.messages());
            }
        }
    }

    private static void verifyData(Story story, Image image, int count, String what) {
        Promise promise = null;
        for (Promise next : story.promises) {
            if (next.completedAt <= count) {
                promise = next;
            }
        }
        try (BlockClient client = new BlockClient(image, new FakeEventLoop())) {
            byte[] bytes = client.read(0, (int) SIZE);
            for (int block = 0; block < story.user.blocks(); block++) {
                long found = Workload.value(MemorySegment.ofArray(bytes), (long) block * Workload.BLOCK, block, what);
                List<Workload.Version> history = story.user.history(block);
                int oldest = promise == null ? 0 : promise.versions[block];
                boolean allowed = false;
                List<Long> possible = new ArrayList<>();
                for (int i = oldest; i < history.size(); i++) {
                    Workload.Version version = history.get(i);
                    if (i == oldest || version.submittedAt() <= count) {
                        possible.add(Math.max(0, version.value()));
                        allowed |= Math.max(0, version.value()) == found;
                    }
                }
                // A discard that is promised may leave what was there before.
                for (int i = oldest; i > 0 && !allowed && history.get(i).value() == 0; i--) {
                    allowed = Math.max(0, history.get(i - 1).value()) == found;
                }
                if (!allowed) {
                    throw new AssertionError(
                            what + ": block " + block + " holds " + found + ", possible are " + possible);
                }
            }
        }
    }

    private static Map<String, String> options(Random random) {
        Map<String, String> options = new HashMap<>(Qcow2ModelTest.randomOptions(random));
        if (options.getOrDefault("extended_l2", "off").equals("off")) {
            options.put("cluster_size", String.valueOf(512 << random.nextInt(5)));
        }
        return options;
    }

    @Test
    void killedProcessLosesNothingThatWasFlushed() throws IOException {
        for (int round = 0; round < 4; round++) {
            long seed = seed() + round;
            Random random = new Random(seed);
            Story story = run(options(random), CacheMode.WRITEBACK, seed);
            int qemuEvery = Math.max(1, story.changes.size() / QEMU_SAMPLES);
            for (int count = 0; count <= story.changes.size(); count++) {
                String what = "seed " + seed + " " + story.options + " cut after change " + count + " of "
                        + story.changes.size();
                TestImages images = replay(story, count, () -> true);
                verify(story, images, count, what);
                boolean dirty =
                        story.options.getOrDefault("lazy_refcounts", "off").equals("on");
                if (count % qemuEvery == 0 && !dirty && QemuImg.available()) {
                    Path file = folder.resolve("cut.qcow2");
                    images.export("disk.qcow2", file);
                    int exitCode = QemuImg.execute("qemu-img", List.of("check", "-f", "qcow2", file.toString()))
                            .exitCode();
                    // 0: without faults, 3: with leaks.
                    assertEquals(0, exitCode % 3, what + ": qemu-img check ends with " + exitCode);
                }
            }
        }
    }

    @Test
    void powerCutLosesNothingThatWasFlushed() {
        for (int round = 0; round < 4; round++) {
            long seed = seed() + round;
            Random random = new Random(seed);
            CacheMode cache = random.nextBoolean() ? CacheMode.WRITEBACK : CacheMode.NONE;
            Story story = run(options(random), cache, seed);
            for (int count = 0; count <= story.changes.size(); count++) {
                String what = "seed " + seed + " " + story.options + " power cut after change " + count + " of "
                        + story.changes.size();
                verify(story, replay(story, count, random::nextBoolean), count, what);
            }
        }
    }
}
