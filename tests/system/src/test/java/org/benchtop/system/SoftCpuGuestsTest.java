package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineExit;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.MachineSpecBuilder;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.guests.GuestProgram;
import org.benchtop.guests.GuestPrograms;
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

    private static final Pattern TIMED = Pattern.compile("[0-9] (kHz|s|[kMG]B/s|[num]s|IOPS)\\b|/s\\b|mean");

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

    private MachineSpecBuilder disk(MachineSpecBuilder machine) {
        return machine.drive("d", "memory", Map.of("size", "1MiB"));
    }

    /** Every embedded program, the disk programs with every driver that they bring along. */
    private Map<String, MachineSpecBuilder> programs() {
        String check = "seconds=0 iodepth=8";
        String bench = "rw=randrw runtime=0 ios=200 iodepth=4";
        Map<String, MachineSpecBuilder> all = new LinkedHashMap<>();
        all.put("hello", guest("hello", "smp=1").cpus(4));
        all.put("cpuburn", guest("cpuburn", "loops=20000 cpus=4").cpus(4));
        all.put("diskcheck virtio", disk(guest("diskcheck", check)).device("virtio-blk-pci", Map.of("drive", "d")));
        all.put("diskcheck ide", disk(guest("diskcheck", "seconds=0")).device("ide-hd", Map.of("drive", "d")));
        all.put(
                "diskcheck ide pio",
                disk(guest("diskcheck", "seconds=0 pio=1 size=16384")).device("ide-hd", Map.of("drive", "d")));
        all.put(
                "diskcheck ahci",
                disk(guest("diskcheck", check))
                        .device("ich9-ahci", Map.of("id", "sata"))
                        .device("ide-hd", Map.of("drive", "d", "bus", "sata")));
        all.put("diskbench virtio", disk(guest("diskbench", bench)).device("virtio-blk-pci", Map.of("drive", "d")));
        return all;
    }

    /** Without what depends on time. */
    private static String timeless(String text) {
        return text.replace("\r", "")
                .lines()
                .filter(line -> !line.contains(" %") && !line.startsWith("@@") && !line.startsWith("{"))
                .map(line -> line.replaceAll("[0-9]+ per second|tsc_khz=[0-9]+", "#"))
                .map(line -> TIMED.matcher(line).find() ? line.replaceAll("[0-9.]+", "#") : line)
                .collect(Collectors.joining("\n"));
    }

    @Test
    void everyEmbeddedProgramSaysTheSameOnKvm() throws InterruptedException {
        Kvm.assume();
        Set<String> known =
                GuestPrograms.list().stream().map(GuestProgram::name).collect(Collectors.toSet());
        Set<String> tested =
                programs().keySet().stream().map(name -> name.split(" ", 2)[0]).collect(Collectors.toSet());
        assertEquals(known, tested);

        for (Map.Entry<String, MachineSpecBuilder> program : programs().entrySet()) {
            String soft = run(program.getValue().build());
            String kvm = run(program.getValue().accel("kvm").build());

            assertEquals(timeless(kvm), timeless(soft), program.getKey());
        }
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
