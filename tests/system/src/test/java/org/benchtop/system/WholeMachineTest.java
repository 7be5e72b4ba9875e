package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineExit;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.MachineSpecBuilder;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.engine.stats.StatsSnapshot;
import org.benchtop.spi.chardev.ConsoleBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Machines on KVM with real devices, driven as a notebook would. */
@Timeout(300)
class WholeMachineTest {
    private static final Duration SOON = Duration.ofSeconds(120);

    @TempDir
    Path folder = Path.of("");

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

    private MachineSpecBuilder disk(String program, String cmdline) {
        return guest(program, cmdline)
                .iothread("io0")
                .drive("d", "file", Map.of("file", "disk.img", "size", "16MiB", "create", true))
                .device("virtio-blk-pci", Map.of("drive", "d", "iothread", "io0"));
    }

    private static String transcript(Machine machine) {
        return machine.chardev("tty0")
                .orElseThrow()
                .console()
                .map(c -> c.text(0))
                .orElseThrow();
    }

    private static void awaitText(Machine machine, String text) throws InterruptedException {
        ConsoleBuffer console = machine.chardev("tty0").orElseThrow().console().orElseThrow();
        long seen = 0;
        while (!console.text(0).contains(text)) {
            long now = console.awaitOutput(seen, SOON);
            assertTrue(now > seen, "no more output; so far: " + console.text(0));
            seen = now;
        }
    }

    @Test
    void everyVcpuStarts() throws InterruptedException {
        try (Machine m = Machine.create(guest("hello", "smp=1").cpus(4).build(), plugins)) {
            m.start();

            MachineExit exit = m.awaitExit(SOON).orElseThrow();

            assertEquals(0, exit.exitCode(), transcript(m));
            assertTrue(transcript(m).contains("4"), transcript(m));
        }
    }

    @Test
    void queuesOfSeveralVcpusKeepTheDataRight() throws InterruptedException {
        MachineSpec spec = guest("diskbench", "rw=randrw numjobs=2 iodepth=8 runtime=1")
                .cpus(2)
                .drive("d", "memory", Map.of("size", "16MiB"))
                .device("virtio-blk-pci", Map.of("drive", "d", "queues", 2))
                .build();
        try (Machine m = Machine.create(spec, plugins)) {
            m.start();

            MachineExit exit = m.awaitExit(SOON).orElseThrow();

            assertEquals(0, exit.exitCode(), transcript(m));
            StatsSnapshot stats = m.stats();
            assertTrue(stats.value("d", "read-requests") > 0, "reads");
            assertTrue(stats.value("d", "write-requests") > 0, "writes");
            assertEquals(0, stats.value("d", "errors"));
        }
    }

    @Test
    void pausedMachineDoesNoIoAndGoesOnAfterwards() throws InterruptedException {
        try (Machine m = Machine.create(disk("diskcheck", "seconds=0").build(), plugins)) {
            m.start();
            awaitText(m, "pass 1");

            m.pause();
            long requests = requests(m);
            TimeUnit.MILLISECONDS.sleep(100);
            long later = requests(m);
            m.resume();
            MachineExit exit = m.awaitExit(SOON).orElseThrow();

            assertEquals(requests, later);
            assertEquals(0, exit.exitCode(), transcript(m));
        }
    }

    @Test
    void resetInTheMiddleOfIoStartsTheGuestAgain() throws InterruptedException {
        try (Machine m = Machine.create(disk("diskcheck", "seconds=0").build(), plugins)) {
            m.start();
            awaitText(m, "pass 2");

            m.reset();
            MachineExit exit = m.awaitExit(SOON).orElseThrow();

            assertEquals(0, exit.exitCode(), transcript(m));
            String text = transcript(m);
            assertTrue(text.indexOf("pass 1") < text.lastIndexOf("pass 1"), text);
            assertTrue(text.contains("all data as written"), text);
        }
    }

    @Test
    void twoMachinesRunAtOnce() throws InterruptedException {
        MachineSpec one = disk("diskcheck", "seconds=0").build();
        MachineSpec two = guest("hello", "").build();
        try (Machine a = Machine.create(one, plugins);
                Machine b = Machine.create(two, plugins)) {
            a.start();
            b.start();

            assertEquals(0, b.awaitExit(SOON).orElseThrow().exitCode());
            assertEquals(0, a.awaitExit(SOON).orElseThrow().exitCode(), transcript(a));
        }
    }

    @Test
    void stoppedGuestThatSpinsEndsSoon() throws InterruptedException {
        try (Machine m = Machine.create(guest("cpuburn", "seconds=100").build(), plugins)) {
            m.start();

            m.stop();

            assertTrue(m.exit().orElseThrow() instanceof MachineExit.Stopped);
        }
    }

    @Test
    void manyMachinesLeaveNothingBehind() throws InterruptedException, IOException {
        MachineSpec spec = disk("hello", "").build();
        for (int i = 0; i < 5; i++) {
            cycle(spec);
        }
        long descriptors = count("/proc/self/fd");
        long threads = count("/proc/self/task");
        for (int i = 0; i < 40; i++) {
            cycle(spec);
        }

        assertTrue(
                count("/proc/self/fd") <= descriptors + 2,
                "descriptors: " + descriptors + " -> " + count("/proc/self/fd"));
        assertTrue(count("/proc/self/task") <= threads + 4, "threads: " + threads + " -> " + count("/proc/self/task"));
        try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
            assertEquals(
                    0,
                    maps.filter(line -> line.contains("kvm-vcpu") || line.contains("memfd:hello"))
                            .count());
        }
    }

    private void cycle(MachineSpec spec) throws InterruptedException {
        try (Machine m = Machine.create(spec, plugins)) {
            m.start();
            assertEquals(0, m.awaitExit(SOON).orElseThrow().exitCode());
        }
    }

    private static long count(String folder) throws IOException {
        try (Stream<Path> entries = Files.list(Path.of(folder))) {
            return entries.count();
        }
    }

    @Test
    void ioPathAllocatesNothingPerRequest() throws InterruptedException {
        for (String aio : new String[] {"threads", "auto"}) {
            MachineSpec spec = guest("diskbench", "rw=randrw iodepth=16 runtime=60")
                    .iothread("io0")
                    .drive("d", "file", Map.of("file", "a-" + aio, "size", "16MiB", "create", true, "aio", aio))
                    .device("virtio-blk-pci", Map.of("drive", "d", "iothread", "io0"))
                    .build();
            try (Machine m = Machine.create(spec, plugins)) {
                m.start();
                awaitText(m, "disk 0:");

                String windows = allocationUntilNone(m);

                assertTrue(windows.endsWith("none"), aio + ": bytes/requests on the loop's thread: " + windows);
            }
        }
    }

    /**
     * Looks at one second after another, because interpreted and half-compiled code of the JVM itself allocates; code
     * that allocates per request does so in every window.
     */
    private static String allocationUntilNone(Machine m) throws InterruptedException {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long loop = loopThread();
        StringBuilder windows = new StringBuilder();
        for (int i = 0; i < 40; i++) {
            long bytes = threads.getThreadAllocatedBytes(loop);
            long before = requests(m);
            TimeUnit.SECONDS.sleep(1);
            long allocated = threads.getThreadAllocatedBytes(loop) - bytes;
            long done = requests(m) - before;
            if (done > 100 && allocated < done) {
                return windows + "none";
            }
            windows.append(allocated).append('/').append(done).append(' ');
        }
        return windows.toString();
    }

    private static long requests(Machine m) {
        return m.stats().value("d", "read-requests") + m.stats().value("d", "write-requests");
    }

    private static long loopThread() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(t -> t.getName().endsWith("-io0"))
                .findFirst()
                .orElseThrow()
                .threadId();
    }

    @Test
    void seaBiosPrintsItsBannerAndFindsTheAcpiTables() throws InterruptedException {
        Path bios = Path.of("/usr/share/seabios/bios-256k.bin");
        Assumptions.assumeTrue(Files.exists(bios), "needs Debian's seabios package");
        MachineSpec spec = MachineSpec.named("seabios")
                .memory("128MiB")
                .firmware(bios)
                .chardev("tty0", "memory", Map.of())
                .device("debugcon", "debugcon", new DebugconTo("tty0"))
                .build();
        try (Machine m = Machine.create(spec, plugins)) {
            m.start();

            awaitText(m, "SeaBIOS (version");
            awaitText(m, "Found 1 cpu(s)");
            awaitText(m, "ACPI: parse DSDT");
            m.stop();
        }
    }

    /** The options of the debug port, by name only: tests do not link to plugins. */
    private record DebugconTo(String chardev) {}
}
