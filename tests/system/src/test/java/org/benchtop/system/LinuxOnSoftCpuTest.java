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
import org.benchtop.engine.config.MachineSpecBuilder;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.engine.plugin.TypeKind;
import org.benchtop.guests.debian.DebianFiles;
import org.benchtop.guests.debian.DebianGuest;
import org.benchtop.guests.debian.DebianOptions;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Debian's kernels, unmodified, on the software CPU and the emulated board. Skipped without apt, or without network where
 * nothing is cached.
 */
@Timeout(value = 20, unit = TimeUnit.MINUTES)
class LinuxOnSoftCpuTest {
    private static final Duration LIMIT = Duration.ofMinutes(18);

    private static final String SESSION = """
            set -e
            echo "release $(uname -r)"
            echo "cpus $(nproc)"
            mount | grep -q '^proc on /proc' && echo "mount ok"
            ps | grep -q '[k]swapd' && echo "ps ok"
            dd if=/dev/zero of=/tmp/zero bs=64k count=16 2>/dev/null
            echo "md5 $(md5sum </tmp/zero | cut -d' ' -f1)"
            echo "sha $(yes benchtop | head -c 200000 | sha256sum | cut -d' ' -f1)"
            echo "awk $(awk 'BEGIN { for (i = 1; i <= 1000; i++) s += i * i; print s }')"
            ip link set lo up
            nc -l -p 4000 >/tmp/got &
            listener=$!
            until netstat -ltn | grep -q ':4000 '; do usleep 20000; done
            echo "over the network" | nc -w 120 127.0.0.1 4000
            wait $listener
            echo "loopback $(cat /tmp/got)"
            echo "session complete"
            """;

    /** What the session prints; the sums are those of the same commands on the host. */
    private static final List<String> EXPECTED = List.of(
            "mount ok",
            "ps ok",
            "md5 b6d81b360a5672d80c27430f39153e2c",
            "sha db949e0571a34570cf91f54bdfb647783390c8005c24092f68d49f7522a59dc5",
            "awk 333833500",
            "loopback over the network",
            "session complete");

    private static final String EXT4 = """
            set -e
            mkdir -p /mnt
            mount -t ext4 /dev/vda /mnt
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

    @BeforeEach
    void needsTheSoftwareCpu() {
        Assumptions.assumeTrue(plugins.names(TypeKind.CPU_ENGINE).contains("soft"), "needs the software CPU");
    }

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

    private MachineSpecBuilder linux(DebianFiles files, int cpus) {
        return MachineSpec.named("linux")
                .accel("soft")
                .cpus(cpus)
                .memory("256MiB")
                .baseDir(folder)
                .kernel(files.kernel(), Optional.of(files.initrd()), "console=ttyS0 panic=-1 cryptomgr.notests")
                .onReboot(MachineSpec.OnReboot.STOP)
                .chardev("tty0", "memory", Map.of())
                .device("isa-serial", Map.of("chardev", "tty0"));
    }

    /** Runs a machine until its guest ends and returns the console. */
    private String run(MachineSpec spec) throws InterruptedException {
        try (Machine m = Machine.create(spec, plugins)) {
            m.start();
            Optional<MachineExit> exit = m.awaitExit(LIMIT);
            String console = m.chardev("tty0")
                    .orElseThrow()
                    .console()
                    .map(c -> c.text(0))
                    .orElseThrow()
                    .replace("\r", "");
            assertTrue(exit.isPresent() && exit.get() instanceof MachineExit.PowerOff, exit + "\n" + console);
            return console;
        }
    }

    private void session(DebianOptions.Protocol protocol, int cpus) throws InterruptedException {
        DebianFiles files = prepare(DebianOptions.minimal().withScript(SESSION).withProtocol(protocol));

        String console = run(linux(files, cpus).build());

        for (String line : EXPECTED) {
            assertTrue(console.contains("\n" + line + "\n"), "no \"" + line + "\" in\n" + console);
        }
        assertTrue(console.contains("\ncpus " + cpus + "\n"), console);
    }

    @Test
    void cloudKernelBootsByItsSixtyFourBitEntryRunsASessionAndPowersOff() throws InterruptedException {
        session(DebianOptions.Protocol.LINUX64, 1);
    }

    @Test
    @Tag("nightly")
    void cloudKernelBootsByItsPvhEntry() throws InterruptedException {
        session(DebianOptions.Protocol.PVH, 1);
    }

    @Test
    @Tag("nightly")
    void cloudKernelBootsWithFourProcessors() throws InterruptedException {
        session(DebianOptions.Protocol.LINUX64, 4);
    }

    @Test
    @Tag("nightly")
    void cloudKernelBootsWithFourProcessorsByItsPvhEntry() throws InterruptedException {
        session(DebianOptions.Protocol.PVH, 4);
    }

    @Test
    @Tag("nightly")
    void fullKernelWritesAnExt4DiskThatTheHostFindsInOrder() throws IOException, InterruptedException {
        Path disk = folder.resolve("disk.img");
        Files.write(disk, new byte[32 << 20]);
        Path greeting = Files.writeString(folder.resolve("greeting"), "hello from the host\n");
        host("mkfs.ext4", "-q", "-F", disk.toString());
        host("debugfs", "-w", "-R", "write " + greeting + " greeting", disk.toString());
        DebianFiles files = prepare(DebianOptions.minimal()
                .withKernel("full")
                .withModules("virtio_pci", "virtio_blk", "ext4")
                .withScript(EXT4));

        String console = run(linux(files, 1)
                .drive("d", "file", Map.of("file", "disk.img"))
                .device("virtio-blk-pci", Map.of("drive", "d"))
                .build());

        assertTrue(console.contains("hello from the host"), console);
        assertTrue(console.contains("unmounted"), console);
        host("e2fsck", "-f", "-n", disk.toString());
        Path copy = folder.resolve("copy");
        host("debugfs", "-R", "dump folder/copy " + copy, disk.toString());
        assertEquals(3_000_000, Files.size(copy));
        String sum = host("sha256sum", copy.toString()).split(" ", 2)[0];
        assertTrue(console.contains("sum " + sum), console);
    }

    private String host(String... command) throws IOException, InterruptedException {
        Path tool = List.of("/usr/sbin", "/sbin", "/usr/bin", "/bin").stream()
                .map(bin -> Path.of(bin, command[0]))
                .filter(Files::isExecutable)
                .findFirst()
                .orElse(Path.of(""));
        Assumptions.assumeTrue(Files.isExecutable(tool) && !tool.toString().isEmpty(), "needs " + command[0]);
        command[0] = tool.toString();
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), String.join(" ", command) + "\n" + output);
        return output;
    }
}
