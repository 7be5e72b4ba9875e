package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineExit;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.guests.debian.DebianFiles;
import org.benchtop.guests.debian.DebianGuest;
import org.benchtop.guests.debian.DebianOptions;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.chardev.ConsoleBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Debian's kernel, unmodified, in a Xen domain on the software CPU: its own drivers use the disk and the console. Skipped
 * without apt and without mkfs.ext4.
 */
@Tag("nightly")
@Timeout(value = 20, unit = TimeUnit.MINUTES)
class LinuxOnXenTest {
    private static final Duration LIMIT = Duration.ofMinutes(18);

    private static final String SESSION = """
            set -e
            echo "hypervisor $(cat /sys/hypervisor/type 2>/dev/null || echo unknown)"
            echo "cpus $(nproc)"
            echo "type a line:"
            read line </dev/hvc0
            echo "typed $line"
            mkdir -p /mnt
            mount -t ext4 /dev/xvda /mnt
            cat /mnt/greeting
            yes "a line of the guest" | head -c 3000000 >/mnt/lines
            mkdir /mnt/folder
            cp /mnt/lines /mnt/folder/copy
            rm /mnt/lines
            sync
            echo "sum $(sha256sum </mnt/folder/copy | cut -d' ' -f1)"
            umount /mnt
            echo "unmounted"
            """;

    @TempDir
    Path folder = Path.of("");

    private final PluginRegistry plugins = PluginRegistry.builtIn();

    @AfterEach
    void closePlugins() {
        plugins.close();
    }

    private static DebianFiles prepare(DebianOptions options) {
        try {
            return DebianGuest.prepare(options, path -> path, what -> {});
        } catch (BenchtopException e) {
            Assumptions.assumeFalse(e.kind() == ErrorKind.HOST, e.getMessage());
            throw e;
        }
    }

    private static String host(String... command) throws IOException, InterruptedException {
        Path tool = List.of("/usr/sbin", "/sbin", "/usr/bin", "/bin").stream()
                .map(bin -> Path.of(bin, command[0]))
                .filter(Files::isExecutable)
                .findFirst()
                .orElse(Path.of(""));
        Assumptions.assumeFalse(tool.toString().isEmpty(), "needs " + command[0]);
        command[0] = tool.toString();
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), String.join(" ", command) + "\n" + output);
        return output;
    }

    private void writesAnExt4Disk(String mode, int cpus) throws IOException, InterruptedException {
        Path disk = folder.resolve("disk.img");
        Files.write(disk, new byte[32 << 20]);
        Path greeting = Files.writeString(folder.resolve("greeting"), "hello from the host\n");
        String unusedMkfs = host("mkfs.ext4", "-q", "-F", disk.toString());
        String unusedWrite = host("debugfs", "-w", "-R", "write " + greeting + " greeting", disk.toString());
        DebianFiles files = prepare(DebianOptions.minimal()
                .withModules("xen-blkfront", "ext4")
                .withScript(SESSION)
                .withProtocol(mode.equals("pvh") ? DebianOptions.Protocol.PVH : DebianOptions.Protocol.LINUX64));
        MachineSpec spec = MachineSpec.named("xen")
                .accel("soft")
                .cpus(cpus)
                .memory("256MiB")
                .baseDir(folder)
                .kernel(files.kernel(), Optional.of(files.initrd()), "console=hvc0 panic=-1 cryptomgr.notests")
                .onReboot(MachineSpec.OnReboot.STOP)
                .drive("d", "file", Map.of("file", "disk.img"))
                .chardev("hvc", "memory", Map.of())
                .device("xen-platform", Map.of("id", "xen", "mode", mode))
                .device("xen-console", Map.of("chardev", "hvc"))
                .device("xen-disk", Map.of("drive", "d"))
                .build();

        String text;
        try (Machine machine = Machine.create(spec, plugins)) {
            ConsoleBuffer console =
                    machine.chardev("hvc").orElseThrow().console().orElseThrow();
            machine.start();
            long deadline = System.nanoTime() + LIMIT.toNanos();
            while (!console.text(0).contains("type a line:") && System.nanoTime() < deadline) {
                long unused = console.awaitOutput(console.end(), Duration.ofSeconds(10));
            }
            console.send("by the host\n".getBytes(StandardCharsets.US_ASCII));
            Optional<MachineExit> exit = machine.awaitExit(LIMIT);
            text = console.text(0).replace("\r", "");
            assertTrue(exit.isPresent() && exit.get() instanceof MachineExit.PowerOff, exit + "\n" + text);
        }

        for (String line :
                List.of("hypervisor xen", "cpus " + cpus, "typed by the host", "hello from the host", "unmounted")) {
            assertTrue(text.contains("\n" + line + "\n"), "no \"" + line + "\" in\n" + text);
        }
        String unusedCheck = host("e2fsck", "-f", "-n", disk.toString());
        Path copy = folder.resolve("copy");
        String unusedDump = host("debugfs", "-R", "dump folder/copy " + copy, disk.toString());
        assertEquals(3_000_000, Files.size(copy));
        String sum = host("sha256sum", copy.toString()).split(" ", 2)[0];
        assertTrue(text.contains("sum " + sum), text);
    }

    @Test
    void cloudKernelAsHvmDomainWritesAnExt4Disk() throws IOException, InterruptedException {
        writesAnExt4Disk("hvm", 1);
    }

    @Test
    void cloudKernelAsPvhDomainWritesAnExt4Disk() throws IOException, InterruptedException {
        writesAnExt4Disk("pvh", 1);
    }

    @Test
    void cloudKernelAsHvmDomainWithTwoProcessorsWritesAnExt4Disk() throws IOException, InterruptedException {
        writesAnExt4Disk("hvm", 2);
    }
}
