package org.benchtop.bench.machine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DiskImagesTest {
    private static final int SIZE = (3 << 20) + 512;

    @TempDir
    Path folder;

    private DiskImages.Image image(boolean create) {
        return new DiskImages.Image(folder.resolve("deep/disk.img"), SIZE, create);
    }

    @Test
    void imagesAreFilledOnceAndOnlyOnce() throws IOException, InterruptedException {
        List<String> said = new ArrayList<>();
        DiskImages.fill(image(true), said::add);
        byte[] content = Files.readAllBytes(image(true).file());
        int zeroes = 0;
        for (byte b : content) {
            zeroes += b == 0 ? 1 : 0;
        }
        Files.write(image(true).file(), new byte[SIZE]);
        DiskImages.fill(image(true), said::add);

        assertEquals(SIZE, content.length);
        assertTrue(zeroes < SIZE / 200, zeroes + " zeroes");
        assertEquals(List.of("filling disk.img: 0 %"), said);
        assertArrayEquals(new byte[SIZE], Files.readAllBytes(image(true).file()), "what a job wrote stays");
    }

    @Test
    void anImageOfAnotherSizeIsFilledAnew() throws IOException, InterruptedException {
        DiskImages.fill(image(true), text -> {});
        DiskImages.Image larger = new DiskImages.Image(image(true).file(), 2L * SIZE, true);

        DiskImages.fill(larger, text -> {});

        assertEquals(2L * SIZE, Files.size(larger.file()));
    }

    @Test
    void imagesOfOthersAreLeftAlone() throws InterruptedException {
        DiskImages.fill(image(false), text -> {});

        assertFalse(Files.exists(image(false).file()));
    }

    @Test
    void anInterruptEndsFillingAndItIsDoneAgain() throws IOException, InterruptedException {
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> DiskImages.fill(image(true), text -> {}));
        List<String> said = new ArrayList<>();

        DiskImages.fill(image(true), said::add);

        assertEquals(1, said.size());
        assertTrue(Files.exists(folder.resolve("deep/disk.img.filled")));
    }

    @Test
    void theKernelSaysHowAFileIsOpen() throws IOException {
        Path file = Files.createFile(folder.resolve("x"));

        assertEquals(Optional.empty(), OpenFlags.of(file));
        try (RandomAccessFile plain = new RandomAccessFile(file.toFile(), "rw")) {
            assertEquals(Optional.of("through the page cache"), OpenFlags.of(file));
            try (RandomAccessFile durable = new RandomAccessFile(file.toFile(), "rwd")) {
                assertEquals(Optional.of("through the page cache, through the page cache O_DSYNC"), OpenFlags.of(file));
                assertTrue(durable.getFD().valid() && plain.getFD().valid());
            }
        }
    }

    @Test
    void theCachedShareFallsWhenTheCacheIsDropped() throws IOException, InterruptedException {
        DiskImages.fill(image(true), text -> {});
        Files.readAllBytes(image(true).file());
        Optional<Double> before = DiskImages.cachedShare(image(true).file());
        Assumptions.assumeTrue(before.isPresent(), "fincore of util-linux is not installed");
        Assumptions.assumeTrue(before.get() > 0.99, "this file system does not keep files in the page cache");

        DiskImages.dropPageCache(image(true).file());

        assertTrue(DiskImages.cachedShare(image(true).file()).orElseThrow() < 0.5);
    }
}
