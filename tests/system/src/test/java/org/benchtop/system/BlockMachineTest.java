package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineExit;
import org.benchtop.engine.MachineState;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.MachineSpecBuilder;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.spi.BenchtopException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Machines on KVM whose drives fail, filter and spread over event loops. */
@Timeout(300)
final class BlockMachineTest {
    private static final Duration SOON = Duration.ofSeconds(120);
    private static final Duration MOMENT = Duration.ofMillis(10);

    @TempDir
    private Path folder = Path.of("");

    private final PluginRegistry plugins = PluginRegistry.builtIn();

    @BeforeEach
    void needsKvm() {
        Kvm.assume();
    }

    @AfterEach
    void closePlugins() {
        plugins.close();
    }

    private MachineSpecBuilder guest(String program, String cmdline) {
        return MachineSpec.named(program)
                .memory("128MiB")
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

    /** Resumes the machine whenever a device has paused it; returns how often that was. */
    private static int helpUntilItEnds(Machine machine, String reason) throws InterruptedException {
        int pauses = 0;
        long deadline = System.nanoTime() + SOON.toNanos();
        Optional<MachineExit> exit = Optional.empty();
        while (exit.isEmpty()) {
            assertTrue(System.nanoTime() < deadline, () -> "no end: " + transcript(machine));
            Optional<String> paused = machine.pauseReason();
            if (paused.isPresent() && machine.state() == MachineState.PAUSED) {
                assertTrue(paused.get().contains(reason), paused.get());
                pauses++;
                machine.resume();
            }
            exit = machine.awaitExit(MOMENT);
        }
        assertEquals(0, exit.get().exitCode(), () -> transcript(machine));
        return pauses;
    }

    @Test
    void machineThatRanOutOfSpaceGoesOnWithoutLosingAnything() throws InterruptedException {
        MachineSpec spec = guest("diskcheck", "")
                .iothread("io0")
                .drive("img", "memory", Map.of("size", "16MiB"))
                .drive(
                        "full",
                        "fault",
                        Map.of(
                                "drive",
                                "img",
                                "rules",
                                List.of(Map.of("op", "write", "after", 20, "count", 3, "result", "no-space"))))
                .device("virtio-blk-pci", Map.of("drive", "full", "iothread", "io0"))
                .build();
        try (Machine m = Machine.create(spec, plugins)) {
            m.start();

            int pauses = helpUntilItEnds(m, "no space left");

            assertTrue(pauses >= 1 && pauses <= 3, pauses + " pauses");
            assertEquals(3, m.stats().value("full", "faults"));
        }
    }

    @Test
    void readErrorsStopTheMachineWhereTheUserWantsThat() throws InterruptedException {
        MachineSpec spec = guest("diskcheck", "")
                .drive("img", "memory", Map.of("size", "16MiB"))
                .drive(
                        "bad",
                        "fault",
                        Map.of("drive", "img", "rules", List.of(Map.of("op", "read", "every", 50, "count", 2))))
                .device("virtio-blk-pci", Map.of("drive", "bad", "rerror", "stop"))
                .build();
        try (Machine m = Machine.create(spec, plugins)) {
            m.start();

            int pauses = helpUntilItEnds(m, "I/O error in read");

            assertTrue(pauses >= 1 && pauses <= 2, pauses + " pauses");
        }
    }

    @Test
    void stackOfFiltersKeepsTheDataRightAndTheBaseAsItIs() throws Exception {
        Path base = folder.resolve("base.img");
        byte[] content = new byte[16 << 20];
        new java.util.Random(1).nextBytes(content);
        Files.write(base, content);
        MachineSpec spec = guest("diskcheck", "")
                .iothread("io0")
                .drive("base", "file", Map.of("file", "base.img", "read-only", true))
                .drive("slow", "throttle", Map.of("drive", "base", "iops", 100_000))
                .drive("cow", "overlay", Map.of("drive", "slow", "store", "file"))
                .drive("late", "fault", Map.of("drive", "cow", "rules", List.of(Map.of("delay", "50us", "every", 5))))
                .drive("disk", "trace", Map.of("drive", "late", "file", "trace.txt"))
                .device("virtio-blk-pci", Map.of("drive", "disk", "iothread", "io0"))
                .build();
        try (Machine m = Machine.create(spec, plugins)) {
            m.start();
            assertEquals(0, m.awaitExit(SOON).orElseThrow().exitCode(), () -> transcript(m));
        }

        assertTrue(java.util.Arrays.equals(content, Files.readAllBytes(base)), "the base has changed");
        List<String> trace = Files.readAllLines(folder.resolve("trace.txt"));
        assertTrue(trace.stream().anyMatch(line -> line.contains(" write ")), "no writes in the trace");
        assertTrue(trace.stream().anyMatch(line -> line.contains(" read ")), "no reads in the trace");
    }

    @Test
    void queuesOnSeveralIothreadsKeepTheDataRight() throws InterruptedException {
        MachineSpec spec = guest("diskbench", "rw=randrw numjobs=2 iodepth=8 runtime=1")
                .cpus(2)
                .iothread("io0")
                .iothread("io1")
                .drive("d", "memory", Map.of("size", "16MiB"))
                .device(
                        "virtio-blk-pci",
                        Map.of(
                                "drive",
                                "d",
                                "queues",
                                2,
                                "iothread-vq-mapping",
                                List.of(
                                        Map.of("iothread", "io1", "vqs", List.of(0)),
                                        Map.of("iothread", "io0", "vqs", List.of(1)))))
                .build();
        try (Machine m = Machine.create(spec, plugins)) {
            m.start();
            m.pause();
            m.resume();

            MachineExit exit = m.awaitExit(SOON).orElseThrow();

            assertEquals(0, exit.exitCode(), () -> transcript(m));
            assertTrue(m.stats().value("d", "read-requests") > 0, "reads");
            assertEquals(0, m.stats().value("d", "errors"));
        }
    }

    @Test
    void snapshotsOfARunningMachineFreezeWhatTheDiskHeldAndTheGuestGoesOn() throws Exception {
        Tools.assume("qemu-img");
        Files.write(folder.resolve("base.img"), new byte[16 << 20]);
        MachineSpec spec = guest("diskcheck", "")
                .iothread("io0")
                .drive("disk", "file", Map.of("file", "base.img"))
                .device("virtio-blk-pci", Map.of("drive", "disk", "iothread", "io0"))
                .build();
        List<String> layers = List.of("base.img", "one.qcow2", "two.qcow2", "three.qcow2");
        byte[][] frozen = new byte[layers.size()][];
        try (Machine m = Machine.create(spec, plugins)) {
            m.start();

            for (int i = 1; i < layers.size(); i++) {
                m.snapshotDrive("disk", Path.of(layers.get(i)));
                frozen[i - 1] = Files.readAllBytes(folder.resolve(layers.get(i - 1)));
            }

            assertEquals(0, m.awaitExit(SOON).orElseThrow().exitCode(), () -> transcript(m));
            assertTrue(transcript(m).contains("all data as written"), () -> transcript(m));
        }
        for (int i = 0; i < layers.size() - 1; i++) {
            assertTrue(
                    java.util.Arrays.equals(frozen[i], Files.readAllBytes(folder.resolve(layers.get(i)))),
                    layers.get(i) + " has changed after its snapshot");
        }
        for (String layer : layers.subList(1, layers.size())) {
            Tools.run(folder, "qemu-img", "check", "-f", "qcow2", layer);
        }
        Tools.run(folder, "qemu-img", "convert", "-f", "qcow2", "-O", "raw", "three.qcow2", "all.img");
        Cli.Result pattern = Cli.run(folder, "guest", "check-pattern", "all.img");
        assertEquals(0, pattern.exitCode(), pattern.err());
    }

    @Test
    void snapshotThatCannotBeChangesNothing() throws Exception {
        Files.write(folder.resolve("base.img"), new byte[16 << 20]);
        Files.write(folder.resolve("there.qcow2"), new byte[3]);
        MachineSpec spec = guest("diskcheck", "")
                .drive("disk", "file", Map.of("file", "base.img"))
                .drive("ram", "memory", Map.of("size", "1MiB"))
                .device("virtio-blk-pci", Map.of("drive", "disk"))
                .device("virtio-blk-pci", Map.of("drive", "ram"))
                .build();
        try (Machine m = Machine.create(spec, plugins)) {
            m.start();

            refused(m, "disk", "there.qcow2", "there.qcow2: exists");
            refused(m, "dsk", "new.qcow2", "drives: disk, ram");
            refused(m, "ram", "new.qcow2", "not memory");
            refused(m, "disk", "nowhere/new.qcow2", "no such folder");

            assertTrue(Files.notExists(folder.resolve("new.qcow2")));
            assertEquals(3, Files.size(folder.resolve("there.qcow2")));
            assertEquals(0, m.awaitExit(SOON).orElseThrow().exitCode(), () -> transcript(m));
        }
    }

    private static void refused(Machine machine, String drive, String overlay, String reason) {
        BenchtopException refusal =
                assertThrows(BenchtopException.class, () -> machine.snapshotDrive(drive, Path.of(overlay)));
        assertTrue(refusal.getMessage().contains(reason), refusal.getMessage());
    }

    @Test
    void pausesAndResetsInFullFlightLoseNothingOnSeveralIothreads() throws Exception {
        MachineSpec spec = guest("diskbench", "rw=randrw numjobs=2 iodepth=32 runtime=1")
                .cpus(2)
                .iothread("io0")
                .iothread("io1")
                .drive("img", "file", Map.of("file", "disk.img", "size", "16MiB", "create", true))
                .drive("d", "fault", Map.of("drive", "img", "rules", List.of(Map.of("delay", "200us", "every", 7))))
                .device(
                        "virtio-blk-pci",
                        Map.of(
                                "drive",
                                "d",
                                "queues",
                                2,
                                "iothread-vq-mapping",
                                List.of(
                                        Map.of("iothread", "io1", "vqs", List.of(0)),
                                        Map.of("iothread", "io0", "vqs", List.of(1)))))
                .build();
        try (Machine m = Machine.create(spec, plugins)) {
            m.start();
            for (int round = 0; round < 40; round++) {
                if (round % 8 == 7) {
                    m.reset();
                }
                m.pause();
                long standing = completed(m);
                if (round % 8 == 3) {
                    m.reset();
                }
                assertEquals(standing, completed(m), "requests completed in a paused machine");
                // Also if the guest has come to its end meanwhile.
                m.start();
            }

            MachineExit exit = m.awaitExit(SOON).orElseThrow();

            assertEquals(0, exit.exitCode(), () -> transcript(m));
            assertTrue(m.stats().value("d", "read-requests") > 0, "reads");
            assertEquals(0, m.stats().value("d", "errors"));
        }
    }

    private static long completed(Machine machine) {
        return machine.stats().value("d", "read-requests") + machine.stats().value("d", "write-requests");
    }
}
