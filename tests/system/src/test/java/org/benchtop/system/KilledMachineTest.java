package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.benchtop.engine.linux.LinuxHost;
import org.benchtop.guests.DiskPattern;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * {@code kill -9} of the process of a whole machine while its guest writes: everything is there that the guest has
 * flushed, no sector is torn, and the image is sound and can be used again.
 */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
final class KilledMachineTest {
    private static final int SIZE_MEBIBYTES = 8;
    private static final int SECTOR = 512;
    private static final int PASSES = 4;
    private static final int SEED = 1;
    /** A guest that verifies a pass has flushed it; a guest that says how fast it wrote one is about to flush it. */
    private static final Pattern VERIFY = Pattern.compile("pass (\\d)/4 verify.*");

    @TempDir
    private Path folder = Path.of("");

    @BeforeEach
    void needsLinux() {
        Assumptions.assumeTrue(LinuxHost.available(), "this is not Linux on x86-64");
    }

    private void writeYaml(String drive) throws IOException {
        Files.writeString(folder.resolve("vm.yaml"), """
                name: killed
                memory: 128MiB
                boot: { guest: diskcheck, cmdline: "seconds=0 seed=%d size=%dM" }
                iothreads: [io0]
                drives:
                  disk0: %s
                chardevs:
                  tty0: { type: stdio }
                devices:
                  - { type: isa-serial, chardev: tty0 }
                  - { type: virtio-blk-pci, drive: disk0, iothread: io0, queues: 2 }
                """.formatted(SEED, SIZE_MEBIBYTES, drive));
    }

    /** Runs the machine, kills it in the middle, and returns the last pass that the guest has flushed, from 0. */
    private int runAndKill(int verifiedPasses, long delayMillis) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(Cli.command("run", "-q", "vm.yaml"))
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .start();
        StringBuilder transcript = new StringBuilder();
        int flushed = -1;
        try (BufferedReader out = process.inputReader()) {
            String line = "";
            while (flushed + 1 < verifiedPasses) {
                line = out.readLine();
                if (line == null) {
                    fail("the machine has ended: " + transcript);
                }
                transcript.append(line).append('\n');
                flushed = Math.max(flushed, flushedPass(line));
            }
            // Any moment is as good as any other: the promise holds at all of them.
            TimeUnit.MILLISECONDS.sleep(delayMillis);
            process.toHandle().destroyForcibly();
            for (line = out.readLine(); line != null; line = out.readLine()) {
                flushed = Math.max(flushed, flushedPass(line));
            }
        }
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));
        return flushed;
    }

    private static int flushedPass(String line) {
        Matcher matcher = VERIFY.matcher(line.strip());
        return matcher.matches() ? Integer.parseInt(matcher.group(1)) - 1 : -1;
    }

    private static boolean holds(ByteBuffer sector, int at, int pass) {
        long seed = DiskPattern.seedOfPass(SEED, pass, PASSES);
        for (int i = 0; i < SECTOR; i += 8) {
            if (sector.getLong(at + i) != DiskPattern.word(seed, (at + i) / 8)) {
                return false;
            }
        }
        return true;
    }

    private static void assertNothingLost(Path raw, int flushed) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(raw)).order(ByteOrder.LITTLE_ENDIAN);
        assertEquals(SIZE_MEBIBYTES << 20, bytes.limit());
        for (int at = 0; at < bytes.limit(); at += SECTOR) {
            boolean found = false;
            for (int pass = flushed; pass < PASSES && !found; pass++) {
                found = holds(bytes, at, pass);
            }
            assertTrue(found, "sector " + at / SECTOR + " is torn or older than pass " + (flushed + 1));
        }
    }

    @ParameterizedTest
    @CsvSource({"writeback, auto", "none, native"})
    void rawDiskKeepsWhatTheGuestHasFlushed(String cache, String aio) throws Exception {
        Path image = folder.resolve("disk.img").toAbsolutePath();
        boolean direct = cache.equals("none");
        Assumptions.assumeTrue(!direct || directWorks(), "no O_DIRECT here");
        writeYaml("{ type: file, file: %s, size: %dMiB, create: true, cache: %s, aio: %s }"
                .formatted(image, SIZE_MEBIBYTES, cache, aio));

        int flushed = runAndKill(2, new Random().nextInt(60));

        assertNothingLost(image, flushed);
    }

    private boolean directWorks() {
        Path probe = folder.resolve("probe.img");
        return Tools.tryRun(folder, "dd", "if=/dev/zero", "of=" + probe, "bs=4096", "count=1", "oflag=direct")
                        .exitCode()
                == 0;
    }

    @ParameterizedTest
    @CsvSource({"4k, off", "64k, on"})
    void qcow2ImageIsSoundAndKeepsWhatTheGuestHasFlushed(String clusterSize, String extended) throws Exception {
        Tools.assume("qemu-img");
        Tools.run(
                folder,
                "qemu-img",
                "create",
                "-f",
                "qcow2",
                "-o",
                "cluster_size=" + clusterSize + ",extended_l2=" + extended,
                "disk.qcow2",
                SIZE_MEBIBYTES + "M");
        writeYaml("{ type: qcow2, file: disk.qcow2, cache: writeback }");

        int flushed = runAndKill(2, new Random().nextInt(60));

        Tools.Result check = Tools.tryRun(folder, "qemu-img", "check", "-U", "disk.qcow2");
        while (check.output().contains("Failed to lock")) {
            // The kernel keeps the lock of a process that was killed until its ring has ended.
            TimeUnit.MILLISECONDS.sleep(20);
            check = Tools.tryRun(folder, "qemu-img", "check", "-U", "disk.qcow2");
        }
        // 3: clusters that were allocated and never used; nothing refers to them.
        assertTrue(check.exitCode() == 0 || check.exitCode() == 3, check.output());
        assertFalse(check.output().contains("ERROR"), check.output());
        Tools.run(folder, "qemu-img", "convert", "-U", "-f", "qcow2", "-O", "raw", "disk.qcow2", "disk.raw");
        assertNothingLost(folder.resolve("disk.raw"), flushed);
        Cli.Result again = Cli.run(folder, "run", "-q", "vm.yaml");
        assertEquals(0, again.exitCode(), again.out() + again.err());
        Tools.run(folder, "qemu-img", "convert", "-U", "-f", "qcow2", "-O", "raw", "disk.qcow2", "disk.raw");
        assertNothingLost(folder.resolve("disk.raw"), PASSES - 1);
    }
}
