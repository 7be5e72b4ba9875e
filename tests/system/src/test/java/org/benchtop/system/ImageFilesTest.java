package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.benchtop.block.qcow2.Qcow2Options;
import org.benchtop.engine.linux.LinuxHost;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.host.HostFileOptions;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How image files come into being: made by a drive, and by a conversion that is killed. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
final class ImageFilesTest {
    private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(120);

    @TempDir
    private Path folder = Path.of("");

    @BeforeEach
    void needsLinux() {
        Assumptions.assumeTrue(LinuxHost.available(), "this is not Linux on x86-64");
    }

    private static Qcow2Options options(Path file, long size, boolean create) {
        return new Qcow2Options(
                Optional.of(file),
                Optional.empty(),
                Optional.of(size),
                create,
                false,
                CacheMode.WRITEBACK,
                HostFileOptions.Aio.AUTO,
                4,
                Qcow2Options.Discard.UNMAP,
                true,
                Optional.empty(),
                1 << 20,
                1 << 20);
    }

    private long openedBytes(Path file, long size, boolean create) {
        try (BlockBackend disk = BlockTypes.open("qcow2", options(file, size, create), BlockTypes.context(folder))) {
            return disk.capabilities().sizeBytes();
        }
    }

    @Test
    void qcow2DriveIsCreatedOnceThenGrownAndNeverCut() {
        Path file = folder.resolve("disk.qcow2");

        assertThrows(BenchtopException.class, () -> openedBytes(file, 1 << 20, false));
        assertFalse(Files.exists(file));
        assertEquals(1 << 20, openedBytes(file, 1 << 20, true));
        assertEquals(4 << 20, openedBytes(file, 4 << 20, true));
        BenchtopException smaller = assertThrows(BenchtopException.class, () -> openedBytes(file, 2 << 20, true));

        assertTrue(smaller.getMessage().contains("size asks for 2097152"), smaller.getMessage());
        assertEquals(4 << 20, openedBytes(file, 4 << 20, false));
    }

    @Test
    void killedConversionLeavesTheOldTargetAndIsNotInTheWay() throws Exception {
        byte[] content = new byte[96 << 20];
        new Random(1).nextBytes(content);
        Files.write(folder.resolve("source.raw"), content);
        byte[] old = {1, 2, 3};
        Path target = Files.write(folder.resolve("target.raw"), old);
        Path unfinished = folder.resolve(".target.raw.unfinished");
        String[] convert = {"image", "convert", "-f", "raw", "-O", "raw", "-m", "1", "source.raw", "target.raw"};
        Process process = new ProcessBuilder(Cli.command(convert))
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("out").toFile())
                .start();
        long end = System.nanoTime() + TIMEOUT_NANOS;
        while (!Files.exists(unfinished) && process.isAlive()) {
            assertTrue(System.nanoTime() < end, "it does not begin");
            TimeUnit.MILLISECONDS.sleep(1);
        }
        process.toHandle().destroyForcibly();
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));

        // All or nothing, whatever moment the kill has hit.
        byte[] found = Files.readAllBytes(target);
        if (found.length == old.length) {
            assertArrayEquals(old, found);
        } else {
            assertArrayEquals(content, found);
        }
        Cli.Result again = Cli.run(folder, convert);
        assertEquals(0, again.exitCode(), again.err());
        assertArrayEquals(content, Files.readAllBytes(target));
        assertFalse(Files.exists(unfinished));
    }

    @Test
    void conversionThatFailsLeavesNothing() throws IOException {
        Path source = Files.write(folder.resolve("source.qcow2"), new byte[] {'Q', 'F', 'I', (byte) 0xfb, 0, 0, 0, 3});

        Cli.Result result = Cli.run(folder, "image", "convert", "-f", "qcow2", source.toString(), "target.raw");

        assertEquals(2, result.exitCode(), result.err());
        assertEquals(1, result.err().strip().lines().count(), result.err());
        assertFalse(Files.exists(folder.resolve("target.raw")));
        assertFalse(Files.exists(folder.resolve(".target.raw.unfinished")));
    }
}
