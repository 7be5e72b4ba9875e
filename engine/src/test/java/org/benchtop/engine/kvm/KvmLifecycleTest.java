package org.benchtop.engine.kvm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;
import org.benchtop.engine.linux.LinuxEventLoop;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.cpu.CpuModel;
import org.benchtop.spi.cpu.CpuVmConfig;
import org.benchtop.spi.event.Doorbell;
import org.junit.jupiter.api.Test;

class KvmLifecycleTest {
    private static final int CYCLES = 200;

    /** Creates, runs and closes VMs with everything that takes a descriptor or a mapping; alternately leaves things open. */
    @Test
    void manyVmsLeakNoDescriptorMappingOrThread() throws Exception {
        try (LinuxEventLoop loop = LinuxEventLoop.start("test");
                Doorbell doorbell = loop.doorbell("bell", () -> {})) {
            cycle(doorbell, 0);
            cycle(doorbell, 1);
            long descriptors = count(Path.of("/proc/self/fd"));
            long threads = count(Path.of("/proc/self/task"));
            long kvmMappings = kvmMappings();

            for (int i = 0; i < CYCLES; i++) {
                cycle(doorbell, i);
            }

            assertEquals(0, kvmMappings);
            assertEquals(0, kvmMappings());
            long moreDescriptors = count(Path.of("/proc/self/fd")) - descriptors;
            assertTrue(moreDescriptors < CYCLES / 10, "more descriptors: " + moreDescriptors);
            long moreThreads = count(Path.of("/proc/self/task")) - threads;
            assertTrue(moreThreads < CYCLES / 10, "more threads: " + moreThreads);
        }
    }

    private static void cycle(Doorbell doorbell, int number) throws Exception {
        KvmOptions.MsiDelivery delivery = number % 2 == 0 ? KvmOptions.MsiDelivery.IRQFD : KvmOptions.MsiDelivery.AUTO;
        KvmGuest guest = new KvmGuest(2, new KvmOptions(KvmOptions.DEFAULTS.device(), delivery));
        guest.code(KvmGuest.CODE, "e6 f4"); // out 0xf4,al
        AutoCloseable event = guest.vm
                .addIoEvent(AddressSpace.PIO, 0x510, IoEventMatch.anyValue(2), doorbell)
                .orElseThrow();
        guest.msi(0x50, 0);
        Thread thread = Thread.ofPlatform().start(guest::run);
        thread.join();
        if (number % 3 == 0) {
            event.close();
            guest.vcpus.forEach(KvmVcpu::close);
        }
        guest.close();
        guest.vm.close();
    }

    private static long count(Path folder) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.count();
        }
    }

    private static long kvmMappings() throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.filter(line -> line.contains("kvm")).count();
        }
    }

    private static BenchtopException refused(CpuVmConfig config) {
        return assertThrows(
                BenchtopException.class,
                () -> new KvmEngine()
                        .createVm(KvmOptions.DEFAULTS, config, new SilentHost())
                        .close());
    }

    @Test
    void tooManyCpusAreRefused() {
        KvmGuest.assumeKvm();

        BenchtopException e = refused(new CpuVmConfig("m", 100_000, CpuModel.HOST));

        assertEquals(ErrorKind.CONFIG, e.kind());
        assertTrue(String.valueOf(e.getMessage()).startsWith("cpus: 100000 is outside 1–"), e.getMessage());
    }

    @Test
    void unknownModelIsRefusedWithTheAllowedOnes() {
        KvmGuest.assumeKvm();

        BenchtopException e = refused(new CpuVmConfig("m", 1, new CpuModel("core2duo", Map.of())));

        assertEquals("unknown cpu model \"core2duo\" for accel kvm; allowed: host, max", e.getMessage());
    }

    @Test
    void failedCreationLeaksNothing() throws IOException {
        KvmGuest.assumeKvm();
        CpuVmConfig wrong = new CpuVmConfig("m", 1, new CpuModel("core2duo", Map.of()));
        refused(wrong);
        long before = count(Path.of("/proc/self/fd"));

        for (int i = 0; i < 50; i++) {
            refused(wrong);
        }

        assertTrue(count(Path.of("/proc/self/fd")) < before + 25);
    }

    @Test
    void vcpuExistsOnceAndWithinTheConfiguredNumber() {
        try (KvmGuest guest = new KvmGuest()) {
            assertThrows(BenchtopException.class, () -> guest.vm.createVcpu(0));
            assertThrows(BenchtopException.class, () -> guest.vm.createVcpu(1));
        }
    }

    @Test
    void vcpuThatNeverRanAndVmWithoutVcpusClose() {
        KvmGuest.assumeKvm();
        KvmVm vm =
                new KvmEngine().createVm(KvmOptions.DEFAULTS, new CpuVmConfig("m", 2, CpuModel.HOST), new SilentHost());

        vm.createVcpu(1);
        vm.close();
        vm.close();

        BenchtopException e = assertThrows(BenchtopException.class, () -> vm.createVcpu(0));
        assertEquals("m is closed", e.getMessage());
    }
}
