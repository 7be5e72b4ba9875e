package org.benchtop.bench.machine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.experiment.Experiment;
import org.benchtop.bench.experiment.ExperimentOverrides;
import org.benchtop.bench.experiment.ExperimentReader;
import org.benchtop.bench.measure.GuestMeasurement;
import org.benchtop.bench.measure.Measurement;
import org.benchtop.bench.run.CaseRun;
import org.benchtop.bench.run.RunKind;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.cpu.CpuProbe;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class MachineCaseRunnerTest {
    private static final PluginRegistry PLUGINS = PluginRegistry.builtIn();
    private static final String TWO_GUESTS = """
            experiment: two
            vm:
              memory: 64MiB
              iothreads: [io0]
              drives:
                disk0: { type: file, file: "${scratch}/d${guest}.img", size: 8MiB, create: true, cache: none }
              devices: [{ type: virtio-blk-pci, drive: disk0, iothread: io0 }]
            guests: 2
            job: { guest: diskbench, rw: randrw, rwmixread: 50, bs: 4k, iodepth: 4, runtime: 1s }
            """;

    @TempDir
    Path scratch;

    private static CaseSpec only(String text) {
        return ExperimentReader.parse(text, Path.of("x.yaml"), ExperimentOverrides.NONE)
                .cases()
                .getFirst();
    }

    private String refused(String text) {
        MachineCaseRunner runner = new MachineCaseRunner(PLUGINS);
        return assertThrows(BenchtopException.class, () -> runner.check(only(text), scratch))
                .getMessage();
    }

    static Stream<Path> files() throws IOException {
        Path folder = Path.of("../examples/experiments");
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".yaml")).sorted().toList().stream();
        }
    }

    @ParameterizedTest
    @MethodSource("files")
    void everyExperimentThatIsShippedCanRun(Path file) {
        MachineCaseRunner runner = new MachineCaseRunner(PLUGINS);
        for (boolean quick : List.of(false, true)) {
            Experiment experiment = ExperimentReader.read(
                    file, new ExperimentOverrides(java.util.OptionalInt.empty(), List.of(), quick));

            experiment.cases().forEach(spec -> runner.check(spec, scratch));
            assertEquals(file.getFileName().toString(), experiment.id().replace("-quick", "") + ".yaml");
        }
    }

    @Test
    void guestsThatShareAnImageAreRefused() {
        assertTrue(refused(TWO_GUESTS.replace("${guest}", "x"))
                .contains("two guests share " + scratch.resolve("dx.img") + "; put ${guest} into its name"));
    }

    @Test
    void mistakesInTheMachineKeepTheirPlace() {
        assertEquals(
                "x.yaml:7:51 devices[0].iothred: unknown option \"iothred\" of virtio-blk-pci (did you mean "
                        + "\"iothread\"?)",
                refused(TWO_GUESTS.replace("iothread: io0", "iothred: io0")));
    }

    @Test
    void programsWithoutFiguresAreRefused() {
        assertEquals(
                "job.guest: hello leaves no figures; use diskbench",
                refused("experiment: x\nvm: {}\njob: { guest: hello }\n"));
    }

    private static void assumeCpu() {
        List<CpuProbe> probes =
                PLUGINS.cpuEngines().stream().map(engine -> engine.probe()).toList();
        Assumptions.assumeTrue(probes.stream().anyMatch(CpuProbe::usable), "no CPU engine is usable: " + probes);
    }

    @Test
    void twoGuestsAreMeasuredTogether() throws InterruptedException {
        assumeCpu();
        MachineCaseRunner runner = new MachineCaseRunner(PLUGINS);
        CaseSpec spec = only(TWO_GUESTS);
        runner.check(spec, scratch);
        runner.prepare(spec, scratch, text -> {});
        // The first requests of a JVM are slow enough on a busy host to outlast the whole measurement.
        runner.run(new CaseRun(spec, RunKind.JIT_WARMUP, scratch));

        Measurement measurement = runner.run(new CaseRun(spec, RunKind.MEASURED, scratch));

        assertEquals(2, measurement.guests().size());
        for (GuestMeasurement guest : measurement.guests()) {
            assertTrue(guest.requests() > 0, guest.toString());
            assertEquals(guest.requests(), guest.reads() + guest.writes());
            assertTrue(guest.reads() > 0 && guest.writes() > 0, guest.toString());
            assertEquals(guest.requests() * 4096, guest.bytes());
            assertEquals(0, guest.errors());
            assertEquals(guest.requests(), guest.clat().count());
            assertTrue(guest.slat().measured(), guest.toString());
            assertTrue(guest.windowRequests() > 0, guest.toString());
        }
        assertTrue(measurement.cpu().processNanos() > 0, measurement.cpu().toString());
        assertTrue(measurement.cpu().vcpuNanos() > 0, measurement.cpu().toString());
        assertTrue(measurement.cpu().loopNanos() > 0, measurement.cpu().toString());
        assertFalse(measurement.accelerator().isEmpty());
        assertEquals("O_DIRECT", measurement.facts().getOrDefault("image opened", "O_DIRECT"));
    }

    @Test
    void aGuestThatGivesUpIsQuoted() {
        assumeCpu();
        MachineCaseRunner runner = new MachineCaseRunner(PLUGINS);
        CaseSpec spec = only(TWO_GUESTS.replace("iodepth: 4", "iodepth: 4000"));
        runner.check(spec, scratch);

        BenchtopException e =
                assertThrows(BenchtopException.class, () -> runner.run(new CaseRun(spec, RunKind.MEASURED, scratch)));

        assertTrue(
                e.getMessage()
                        .matches("bench-[01]: guest exited with code 2 before it was done; its console ends with:"
                                + " .*error: .*iodepth.*"),
                e.getMessage());
    }

    @Test
    void anInterruptEndsARunAndReleasesTheImages() throws InterruptedException {
        assumeCpu();
        MachineCaseRunner runner = new MachineCaseRunner(PLUGINS);
        CaseSpec spec = only(TWO_GUESTS.replace("runtime: 1s", "runtime: 600s"));
        Thread running = Thread.currentThread();
        Thread interrupter = Thread.ofVirtual().start(() -> {
            try {
                while (!Files.exists(scratch.resolve("d1.img"))) {
                    Thread.sleep(5);
                }
                Thread.sleep(200);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            running.interrupt();
        });

        assertThrows(InterruptedException.class, () -> runner.run(new CaseRun(spec, RunKind.MEASURED, scratch)));

        interrupter.join();
        assertTrue(OpenFlags.of(scratch.resolve("d0.img")).isEmpty());
        assertTrue(OpenFlags.of(scratch.resolve("d1.img")).isEmpty());
    }
}
