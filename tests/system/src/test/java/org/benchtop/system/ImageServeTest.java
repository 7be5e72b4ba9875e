package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.benchtop.engine.linux.LinuxHost;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code benchtop image serve} and {@code replay} as a user calls them. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
final class ImageServeTest {
    @TempDir
    private Path folder = Path.of("");

    @BeforeEach
    void needsLinux() {
        Assumptions.assumeTrue(LinuxHost.available(), "this is not Linux on x86-64");
    }

    @Test
    void drivesOfAMachineAreServedAndEndInOrder() throws Exception {
        Tools.assume("qemu-img");
        byte[] content = new byte[1 << 20];
        new Random(3).nextBytes(content);
        Files.write(folder.resolve("base.img"), content);
        Path vm = Files.writeString(folder.resolve("vm.yaml"), """
                boot: none
                drives:
                  base: { type: file, file: base.img, read-only: on }
                  cow: { type: overlay, drive: base }
                  disk: { type: trace, drive: cow, file: trace.txt }
                """);
        Path socket = folder.resolve("s");
        Process process = new ProcessBuilder(
                        Cli.command("image", "serve", "--vm", vm.toString(), "-k", socket.toString(), "--once", "disk"))
                .directory(folder.toFile())
                .redirectError(folder.resolve("err").toFile())
                .start();
        try (BufferedReader out = process.inputReader()) {
            String line = out.readLine();
            assertTrue(line != null && line.contains("nbd+unix:///?socket="), () -> line + error());

            Tools.run(
                    folder,
                    "qemu-img",
                    "convert",
                    "-f",
                    "raw",
                    "-O",
                    "raw",
                    "nbd+unix:///?socket=" + socket,
                    "copy.img");

            assertTrue(process.waitFor(120, TimeUnit.SECONDS), "it does not end after its last client");
            assertEquals(0, process.exitValue(), error());
        } finally {
            process.destroyForcibly();
        }
        assertArrayEquals(content, Files.readAllBytes(folder.resolve("copy.img")));
        Cli.Result replay = Cli.run(folder, "image", "replay", "trace.txt", "base.img", "--fast");
        assertEquals(0, replay.exitCode(), replay.err());
        assertTrue(replay.out().contains("IOPS") && replay.out().contains(" 0 errors"), replay.out());
    }

    private String error() {
        try {
            return Files.readString(folder.resolve("err"));
        } catch (IOException e) {
            return e.toString();
        }
    }
}
