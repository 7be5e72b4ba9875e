package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineExit;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.MachineSpecBuilder;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.spi.chardev.ConsoleBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The embedded guest programs and SeaBIOS on the software CPU. */
@Timeout(300)
class SoftCpuGuestsTest {
    private static final Duration SOON = Duration.ofSeconds(200);
    private static final Pattern CHECKSUM = Pattern.compile("checksum (?:0x)?([0-9a-f]+)");

    @TempDir
    Path folder = Path.of("");

    private final PluginRegistry plugins = PluginRegistry.builtIn();

    @AfterEach
    void closePlugins() {
        plugins.close();
    }

    private MachineSpecBuilder guest(String program, String cmdline) {
        return MachineSpec.named(program)
                .accel("soft")
                .memory("64MiB")
                .guest(program, cmdline)
                .baseDir(folder)
                .chardev("tty0", "memory", Map.of())
                .device("isa-serial", Map.of("chardev", "tty0"));
    }

    private static String transcript(Machine machine) {
        return machine.chardev("tty0")
                .orElseThrow()
                .console()
                .map(c -> c.text(0))
                .orElseThrow();
    }

    private String run(MachineSpec spec) throws InterruptedException {
        try (Machine m = Machine.create(spec, plugins)) {
            m.start();

            MachineExit exit = m.awaitExit(SOON).orElseThrow();

            assertEquals(0, exit.exitCode(), transcript(m));
            return transcript(m);
        }
    }

    @Test
    void everyVcpuStarts() throws InterruptedException {
        String text = run(guest("hello", "smp=1").cpus(4).build());

        assertTrue(text.contains("4"), text);
    }

    @Test
    void dataOnAVirtioDiskIsAsWritten() throws InterruptedException {
        String text = run(guest("diskcheck", "")
                .iothread("io0")
                .drive("d", "file", Map.of("file", "disk.img", "size", "4MiB", "create", true))
                .device("virtio-blk-pci", Map.of("drive", "d", "iothread", "io0"))
                .build());

        assertTrue(text.contains("all data as written"), text);
    }

    @Test
    void diskBenchmarkRuns() throws InterruptedException {
        String text = run(guest("diskbench", "rw=randrw iodepth=4 runtime=1")
                .drive("d", "memory", Map.of("size", "4MiB"))
                .device("virtio-blk-pci", Map.of("drive", "d"))
                .build());

        assertTrue(text.contains("@@benchtop:result"), text);
    }

    private static String checksum(String text) {
        Matcher matcher = CHECKSUM.matcher(text);
        assertTrue(matcher.find(), text);
        return matcher.group(1);
    }

    @Test
    void arithmeticGivesTheSameChecksumAsOnKvm() throws InterruptedException {
        Kvm.assume();

        String soft = checksum(run(guest("cpuburn", "loops=300000").build()));
        String kvm = checksum(run(guest("cpuburn", "loops=300000").accel("kvm").build()));

        assertEquals(kvm, soft);
    }

    @Test
    void seabiosReachesItsBanner() throws InterruptedException {
        Path bios = Path.of("/usr/share/seabios/bios-256k.bin");
        Assumptions.assumeTrue(Files.exists(bios), "needs Debian's seabios package");
        MachineSpec spec = MachineSpec.named("seabios")
                .accel("soft")
                .memory("64MiB")
                .firmware(bios)
                .chardev("log", "memory", Map.of())
                .device("debugcon", "debugcon", new DebugconTo("log"))
                .build();
        try (Machine m = Machine.create(spec, plugins)) {
            ConsoleBuffer log = m.chardev("log").orElseThrow().console().orElseThrow();
            m.start();

            long seen = 0;
            while (!log.text(0).contains("ACPI: parse DSDT")) {
                long now = log.awaitOutput(seen, SOON);
                assertTrue(now > seen, "no more output; so far: " + log.text(0));
                seen = now;
            }

            assertTrue(log.text(0).contains("SeaBIOS (version"), log.text(0));
        }
    }

    /** The options of the debug port, by name only: tests do not link to plugins. */
    private record DebugconTo(String chardev) {}
}
