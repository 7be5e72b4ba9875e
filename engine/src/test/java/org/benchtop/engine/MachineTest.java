package org.benchtop.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.linux.LinuxHost;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.cpu.VcpuExit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class MachineTest {
    private static final Duration SOON = Duration.ofSeconds(30);

    private String name = "m";

    @BeforeEach
    void nameMachineAfterTest(TestInfo info) {
        Assumptions.assumeTrue(LinuxHost.available(), "needs Linux on x86-64 for event loops");
        name = info.getTestMethod().orElseThrow().getName();
        ScriptedPlugin.PROBES.remove(name);
    }

    private Machine machine(String more) {
        return Machine.create(MachineSpec.parse("""
                        name: %s
                        machine: bare
                        accel: scripted
                        memory: 1MiB
                        boot: none
                        %s
                        """.formatted(name, more)), PluginRegistry.builtIn());
    }

    private ScriptedPlugin.ScriptedVcpu vcpu(int index) {
        return ScriptedPlugin.vcpus(name).get(index);
    }

    private List<String> probe() {
        return ScriptedPlugin.probes(name);
    }

    private static ScriptedPlugin.GuestCode out(int port, long value) {
        return (host, vcpu) -> {
            host.pioWrite(vcpu, port, 1, value);
            return VcpuExit.Kicked.INSTANCE;
        };
    }

    @Test
    void guestExitCodeStopsTheMachine() throws InterruptedException {
        try (Machine m = machine("")) {
            m.start();

            vcpu(0).execute(out(0x500, 3));

            assertEquals(new MachineExit.GuestExit(3), m.awaitExit(SOON).orElseThrow());
            assertEquals(MachineState.STOPPED, m.state());
            assertEquals(4, m.exit().orElseThrow().exitCode());
        }
    }

    @Test
    void devicesAreClosedInReverseAfterTheVcpusEnded() throws InterruptedException {
        Machine m = machine("devices: [{type: probe, id: second, port: 0x600}]");
        m.start();
        vcpu(0).execute(out(0x501, 1));
        m.awaitExit(SOON);

        m.close();
        m.close();

        assertEquals(
                List.of(
                        "500 attach",
                        "600 attach",
                        "500 reset",
                        "600 reset",
                        "600 pause",
                        "500 pause",
                        "600 close",
                        "500 close"),
                probe());
        assertTrue(vcpu(0).closed);
        assertEquals(MachineState.CLOSED, m.state());
    }

    @Test
    void resetRunsDevicesAndVcpusAgain() throws InterruptedException {
        try (Machine m = machine("cpus: 2")) {
            m.start();
            CountDownLatch alive = new CountDownLatch(1);

            vcpu(1).execute(out(0x502, 0));
            vcpu(0).execute((host, vcpu) -> {
                alive.countDown();
                return VcpuExit.Kicked.INSTANCE;
            });

            assertTrue(alive.await(30, TimeUnit.SECONDS));
            while (vcpu(1).resets < 2) {
                Thread.onSpinWait();
            }
            m.pause();
            assertEquals(List.of("500 attach", "500 reset", "500 reset", "500 pause"), probe());
        }
    }

    @Test
    void rebootStopsWhereTheSpecSaysSo() throws InterruptedException {
        try (Machine m = machine("on-reboot: stop")) {
            m.start();

            vcpu(0).execute(out(0x502, 0));

            assertInstanceOf(MachineExit.Reboot.class, m.awaitExit(SOON).orElseThrow());
        }
    }

    @Test
    void pausedMachineRunsNoGuestCodeAndItsClockStands() throws InterruptedException {
        try (Machine m = machine("cpus: 2")) {
            AtomicLong steps = new AtomicLong();
            m.start();
            for (int i = 0; i < 2; i++) {
                vcpu(i).execute(new ScriptedPlugin.GuestCode() {
                    @Override
                    public VcpuExit run(org.benchtop.spi.cpu.CpuHost host, int vcpu) {
                        steps.incrementAndGet();
                        vcpu(vcpu).execute(this);
                        return VcpuExit.Kicked.INSTANCE;
                    }
                });
            }
            while (steps.get() < 100) {
                Thread.onSpinWait();
            }

            m.pause();
            long stepsThen = steps.get();
            long timeThen = m.clock().nanoTime();
            TimeUnit.MILLISECONDS.sleep(20);

            assertEquals(stepsThen, steps.get());
            assertEquals(timeThen, m.clock().nanoTime());
            m.resume();
            while (steps.get() == stepsThen) {
                Thread.onSpinWait();
            }
            assertTrue(m.clock().nanoTime() > timeThen);
        }
    }

    @Test
    void failedVcpuEndsTheMachineWithReasonAndBytes() throws InterruptedException {
        try (Machine m = machine("")) {
            m.start();

            vcpu(0).execute((host, vcpu) ->
                    new VcpuExit.Failed("emulation failure", 0x1000, new byte[] {0x0f, (byte) 0xae}));

            assertEquals(
                    "vcpu0: emulation failure at rip=0x1000 (instruction bytes: 0f ae)",
                    m.awaitExit(SOON).orElseThrow().describe());
        }
    }

    @Test
    void failedVcpuIsReportedWithTheInstructionAsText() throws InterruptedException {
        try (Machine m = machine("")) {
            m.start();

            vcpu(0).execute((host, vcpu) ->
                    new VcpuExit.Failed("emulation failure", 0x1000, new byte[] {0x0f, (byte) 0x31, 0x00}));

            assertEquals(
                    "vcpu0: emulation failure at rip=0x1000: rdtsc (instruction bytes: 0f 31 00)",
                    m.awaitExit(SOON).orElseThrow().describe());
        }
    }

    @Test
    void crashingVcpuThreadIsAnInternalErrorNotAHang() throws InterruptedException {
        try (Machine m = machine("")) {
            m.start();

            vcpu(0).execute((host, vcpu) -> {
                throw new IllegalStateException("boom");
            });

            assertTrue(m.awaitExit(SOON).orElseThrow().describe().startsWith("internal error in vcpu0"));
        }
    }

    @Test
    void panicStopsPausesOrIsIgnored() throws InterruptedException {
        try (Machine m = machine("on-panic: pause")) {
            m.start();
            vcpu(0).execute(out(0x503, 7));
            while (m.state() != MachineState.PAUSED) {
                Thread.onSpinWait();
            }
            assertTrue(m.exit().isEmpty());
        }
    }

    @Test
    void deviceThatNeedsHelpPausesTheMachineWithAReason() throws InterruptedException {
        try (Machine m = machine("")) {
            m.start();
            vcpu(0).execute(out(0x503, ScriptedPlugin.PAUSE));
            while (m.pauseReason().isEmpty() || m.state() != MachineState.PAUSED) {
                Thread.onSpinWait();
            }
            assertEquals("disk is full", m.pauseReason().orElseThrow());

            m.requestResume();
            while (m.state() != MachineState.RUNNING) {
                Thread.onSpinWait();
            }

            assertTrue(m.pauseReason().isEmpty());
            vcpu(0).execute(out(0x501, 0));
            assertInstanceOf(MachineExit.PowerOff.class, m.awaitExit(SOON).orElseThrow());
        }
    }

    @Test
    void stoppedMachineStartsAgainFromReset() throws InterruptedException {
        try (Machine m = machine("")) {
            m.start();
            m.stop();
            int resets = vcpu(0).resets;

            m.start();
            vcpu(0).execute(out(0x501, 0));

            assertInstanceOf(MachineExit.PowerOff.class, m.awaitExit(SOON).orElseThrow());
            assertEquals(resets + 1, vcpu(0).resets);
        }
    }

    @Test
    void closedMachineRefusesToStart() {
        Machine m = machine("");
        m.close();

        BenchtopException e = assertThrows(BenchtopException.class, m::start);

        assertEquals("machine " + name + " cannot start: it is closed", e.getMessage());
    }

    @Test
    void failedAssemblyReleasesWhatWasMade() {
        BenchtopException e = assertThrows(
                BenchtopException.class,
                () -> machine("devices: [{type: probe, id: bad, port: 0x600, fail-attach: on}]"));

        assertTrue(e.getMessage().endsWith("devices[0]: probe fails as asked"), e.getMessage());
        assertEquals(List.of("500 attach", "600 attach", "600 close", "500 close"), probe());
        assertTrue(vcpu(0).closed);
        assertFalse(Thread.getAllStackTraces().keySet().stream()
                .anyMatch(t -> t.getName().startsWith(name + "-")));
    }

    @Test
    void overlappingDevicesAreRefusedWithTheirPlace() {
        BenchtopException e =
                assertThrows(BenchtopException.class, () -> machine("devices: [{type: probe, id: twin, port: 0x502}]"));

        assertTrue(
                e.getMessage()
                        .endsWith(
                                "devices[0]: range 0x502..+0x4 of twin overlaps 0x500..+0x4 of board-probe in the I/O port space"),
                e.getMessage());
    }

    @Test
    void exitsAreCountedPerDevice() throws InterruptedException {
        try (Machine m = machine("")) {
            m.start();
            vcpu(0).execute((host, vcpu) -> {
                host.pioRead(vcpu, 0x501, 1);
                host.pioRead(vcpu, 0x502, 1);
                host.pioWrite(vcpu, 0x500, 1, 0);
                return VcpuExit.Kicked.INSTANCE;
            });

            m.awaitExit(SOON);

            assertEquals(3, m.stats().value("board-probe", "exits"));
        }
    }
}
