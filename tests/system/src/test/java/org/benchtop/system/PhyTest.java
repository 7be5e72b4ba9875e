package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.benchtop.block.FileOptions;
import org.benchtop.block.PhyOptions;
import org.benchtop.engine.linux.LinuxEventLoop;
import org.benchtop.engine.linux.LinuxHost;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.host.HostFileOptions;
import org.benchtop.testkit.BlockBackendContract;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code type: phy} on a real loop device; needs root. */
final class PhyTest {
    @TempDir
    private Path folder = Path.of("");

    @BeforeEach
    void needsLinux() {
        Assumptions.assumeTrue(LinuxHost.available(), "this is not Linux on x86-64");
    }

    private static PhyOptions options(Optional<Path> device, Optional<Path> loop) {
        return new PhyOptions(
                device,
                loop,
                false,
                CacheMode.WRITEBACK,
                HostFileOptions.Aio.AUTO,
                4,
                FileOptions.DiscardMode.UNMAP,
                512);
    }

    private BlockBackend onLoop() {
        Path image = folder.resolve("disk.img");
        try (RandomAccessFile file = new RandomAccessFile(image.toFile(), "rw")) {
            file.setLength(BlockBackendContract.SIZE_BYTES);
            return BlockTypes.open("phy", options(Optional.empty(), Optional.of(image)), BlockTypes.context(folder));
        } catch (BenchtopException e) {
            Assumptions.assumeFalse(e.kind() == ErrorKind.HOST && e.getMessage().contains("loop"), e.getMessage());
            throw e;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Nested
    final class OnALoopDevice implements BlockBackendContract {
        @Override
        public BlockBackend open() {
            return onLoop();
        }

        @Override
        public EventLoop newLoop(String name) {
            return LinuxEventLoop.start(name);
        }

        @Override
        public void closeLoop(EventLoop loop) {
            ((LinuxEventLoop) loop).close();
        }
    }

    @Test
    void closingDetachesTheLoopDevice() throws IOException {
        String device;
        try (BlockBackend backend = onLoop()) {
            String description = backend.describe();
            device = description.substring(description.indexOf("/dev/loop")).split(" ", 2)[0];
            Path backing = Path.of("/sys/block", device.substring("/dev/".length()), "loop/backing_file");
            assertTrue(Files.readString(backing).contains("disk.img"), description);
        }
        Path backing = Path.of("/sys/block", device.substring("/dev/".length()), "loop/backing_file");
        assertFalse(
                Files.exists(backing) && Files.readString(backing).contains(folder.toString()),
                device + " is attached");
    }

    @Test
    void regularFileIsRefusedWithTheWayOut() throws IOException {
        Path image = Files.write(folder.resolve("disk.img"), new byte[4096]);

        BenchtopException error = assertThrows(
                BenchtopException.class,
                () -> BlockTypes.open(
                        "phy", options(Optional.of(image), Optional.empty()), BlockTypes.context(folder)));

        assertEquals(ErrorKind.CONFIG, error.kind());
        assertTrue(error.getMessage().contains("type: file"), error.getMessage());
    }
}
