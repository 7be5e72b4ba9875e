package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.benchtop.block.FileOptions;
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

/** Our locks and QEMU's keep two writers off one file, in both directions. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
final class LocksTest {
    @TempDir
    private Path folder = Path.of("");

    @BeforeEach
    void needsTools() {
        Assumptions.assumeTrue(LinuxHost.available(), "this is not Linux on x86-64");
        Tools.assume("qemu-nbd");
        Tools.assume("qemu-img");
    }

    private BlockBackend open() {
        FileOptions options = new FileOptions(
                Path.of("disk.img"),
                Optional.of(1L << 20),
                true,
                false,
                false,
                CacheMode.WRITEBACK,
                HostFileOptions.Aio.THREADS,
                1,
                FileOptions.DiscardMode.UNMAP,
                true,
                512,
                Optional.empty());
        return BlockTypes.open("file", options, BlockTypes.context(folder));
    }

    @Test
    void qemuIsKeptOffAFileThatWeWrite() {
        try (BlockBackend ours = open()) {
            Tools.Result resize = Tools.tryRun(folder, "qemu-img", "resize", "-f", "raw", "disk.img", "2M");
            Tools.Result copy = Tools.tryRun(folder, "qemu-img", "convert", "-f", "raw", "disk.img", "copy.img");

            assertEquals(1, resize.exitCode(), resize.output() + ours.describe());
            assertTrue(resize.output().contains("lock"), resize.output());
            assertEquals(1, copy.exitCode(), copy.output());
        }
    }

    @Test
    void holderIsNamedWithItsProgram() throws IOException, InterruptedException {
        open().close();
        Path socket = folder.resolve("s");
        Process process = new ProcessBuilder(
                        "qemu-nbd", "--format=raw", "--persistent", "--socket=" + socket, "disk.img")
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("out").toFile())
                .start();
        try {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
            while (!Tools.listens(socket) && process.isAlive() && System.nanoTime() < deadline) {
                Thread.sleep(20);
            }
            BenchtopException error = assertThrows(BenchtopException.class, () -> open().close());

            assertTrue(
                    error.getMessage().contains("process " + process.pid() + " (qemu-nbd)"),
                    error.getMessage() + Files.readString(folder.resolve("out")));
        } finally {
            process.destroy();
            process.waitFor();
        }
    }
}
