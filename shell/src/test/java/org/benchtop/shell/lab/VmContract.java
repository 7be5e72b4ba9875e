package org.benchtop.shell.lab;

import static org.benchtop.shell.lab.Lab.guest;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.benchtop.engine.MachineExit;
import org.benchtop.engine.MachineState;
import org.benchtop.guests.lang.Guest;
import org.benchtop.guests.rt.Console;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.cpu.CpuProbe;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What holds for machines on every CPU engine. */
@Timeout(120)
abstract class VmContract {
    static final Duration LONG = Duration.ofSeconds(60);

    private static final String HELLO = """
            name: hello
            accel: ENGINE
            memory: 64MiB
            boot: { guest: hello }
            """;

    /** Guest programs; in a class without fields, because the initialiser of a program's class runs in the guest. */
    static final class Programs {
        static int answer() {
            Console.println("from a method");
            return 42;
        }

        static int spin() {
            long n = 0;
            while (true) {
                n += 3;
                Guest.store64(0x30_0000, n);
            }
        }
    }

    /** Never ends by itself. */
    private static final String BURN = """
            name: burn
            accel: ENGINE
            memory: 64MiB
            boot: { guest: cpuburn, cmdline: seconds=3600 }
            """;

    private final String engine;

    VmContract(String engine) {
        this.engine = engine;
    }

    @BeforeEach
    void needsTheEngine() {
        CpuProbe probe = Lab.registry().cpuEngines().stream()
                .filter(candidate -> candidate.name().equals(engine))
                .findFirst()
                .orElseThrow()
                .probe();
        assumeTrue(probe.usable(), engine + ": " + probe.reason());
    }

    private Vm machine(String yaml) {
        return Lab.machine(yaml.replace("ENGINE", engine));
    }

    private Vm boot(String yaml) {
        return Lab.boot(yaml.replace("ENGINE", engine));
    }

    final Vm boot(GuestCode code) {
        return Lab.boot(Lab.spec(code.name())
                .accel(engine)
                .memory("64MiB")
                .guest(code.name(), "")
                .build());
    }

    @AfterEach
    void nothingIsLeft() {
        Lab.closeAll();
        assertEquals(List.of(), Lab.vms());
    }

    @Test
    void consoleExpectsReadsAndKeepsATranscript() throws InterruptedException {
        Vm vm = boot(HELLO);

        VmConsole.Match match = vm.console().expect("TSC: (\\d+) kHz", LONG);
        vm.awaitExit(LONG);

        assertTrue(match.before().contains("Hello from a guest"), match.before());
        assertTrue(Long.parseLong(match.group(1)) > 0);
        assertTrue(vm.console().transcript().startsWith("Hello"), vm.console().transcript());
        assertEquals("", vm.console().read().strip());
        vm.close();
        assertTrue(vm.console().transcript().startsWith("Hello"));
    }

    @Test
    void expectSaysWhatCameInstead() throws InterruptedException {
        Vm vm = boot(HELLO);

        BenchtopException e =
                assertThrows(BenchtopException.class, () -> vm.console().expect("login:", LONG));

        assertTrue(e.getMessage().contains("login:"), e.getMessage());
        assertTrue(e.getMessage().contains("guest exited with code 0"), e.getMessage());
        assertTrue(e.getMessage().lines().count() == 1, e.getMessage());
    }

    @Test
    void registersOfARunningMachineCanBeRead() {
        Vm vm = boot(BURN);

        CpuState first = vm.regs();
        CpuState second = vm.regs();

        assertEquals(MachineState.RUNNING, vm.state());
        assertTrue(first.changed().isEmpty());
        assertTrue(second.changed().contains("tsc") || !second.changed().isEmpty() || second.get("rip") != 0);
        assertEquals(second.get("RIP"), second.register("rip").value().longValue());
        BenchtopException e = assertThrows(BenchtopException.class, () -> second.get("rxx"));
        assertTrue(e.getMessage().contains("\"rxx\""), e.getMessage());
    }

    @Test
    void stepExecutesOneInstruction() throws InterruptedException {
        Vm vm = machine(HELLO);
        long start = vm.regs().get("rip");
        int length = vm.disasm(1).lines().getFirst().instruction().length();

        CpuState after = vm.step();

        assertEquals(MachineState.PAUSED, vm.state());
        assertEquals(start + length, after.get("rip"));
        assertTrue(after.changed().contains("rip"), () -> after.changed().toString());
        vm.step(10);
        vm.resume();
        assertEquals(new MachineExit.GuestExit(0), vm.awaitExit(LONG));
    }

    /** Pauses a machine where vCPUs are in guest programs. */
    static void pauseInPrograms(Vm vm) {
        vm.pause();
        for (int i = 0; i < vm.spec().cpus(); i++) {
            while (vm.regs(i).ring() != 3) {
                vm.resume();
                vm.pause();
            }
        }
    }

    /** Waits until a spinning guest has counted on. */
    private static void awaitOtherThan(Vm vm, long count) {
        while (vm.read64(0x30_0000) == count) {
            Thread.onSpinWait();
        }
    }

    @Test
    void programGoesOnAfterSteps() throws InterruptedException {
        Vm vm = boot(guest("spin", Programs::spin));
        awaitOtherThan(vm, 0);
        pauseInPrograms(vm);

        for (int i = 0; i < 20; i++) {
            long next = vm.disasm(2).lines().get(1).instruction().address();
            CpuState after = vm.step();

            assertEquals(3, after.ring());
            assertTrue(
                    after.get("rip") == next || vm.disasm(1).toString().contains("Programs.spin"),
                    () -> "lost at " + after);
        }
        long before = vm.read64(0x30_0000);
        vm.resume();
        awaitOtherThan(vm, before);
        vm.pause();

        assertEquals(MachineState.PAUSED, vm.state());
        assertTrue(vm.exit().isEmpty());
    }

    @Test
    void breakpointPausesBeforeItsInstruction() throws InterruptedException {
        Vm vm = boot(guest("spin", Programs::spin));
        pauseInPrograms(vm);
        long address = vm.step().get("rip");
        vm.step();
        long before = vm.read64(0x30_0000);
        try {
            vm.breakpoints(address);
        } catch (BenchtopException e) {
            assertTrue(e.getMessage().contains("does not stop programs"), e.getMessage());
            assumeTrue(false, e.getMessage());
        }

        vm.resume();
        CpuState stopped = vm.awaitStop(LONG).orElseThrow();
        vm.resume();
        CpuState again = vm.awaitStop(LONG).orElseThrow();

        assertEquals(MachineState.PAUSED, vm.state());
        assertEquals(address, stopped.get("rip"));
        assertEquals(address, again.get("rip"));
        assertTrue(vm.read64(0x30_0000) - before <= 4, "more than one round until it stopped");
        vm.breakpoints();
        vm.resume();
        assertTrue(vm.awaitStop(Duration.ofMillis(50)).isEmpty());
    }

    @Test
    void eachVcpuStepsByItself() throws InterruptedException {
        Vm vm = boot(BURN.replace("seconds=3600", "seconds=3600 cpus=2").replace("memory:", "cpus: 2\nmemory:"));
        pauseInPrograms(vm);
        long other = vm.regs(0).get("rip");
        long before = vm.regs(1).get("rip");

        CpuState after = vm.step(1, 1);

        assertTrue(
                after.changed().contains("rip") && after.get("rip") != before,
                () -> after.changed().toString());
        assertEquals(other, vm.regs(0).get("rip"));
        BenchtopException e = assertThrows(BenchtopException.class, () -> vm.step(2, 1));
        assertTrue(e.getMessage().contains("has no vcpu2 (vCPUs: 0..1)"), e.getMessage());
    }

    @Test
    void disassemblyMarksTheCurrentInstructionAndNamesTheSource() throws InterruptedException {
        GuestCode code = guest("spin", Programs::spin);
        Vm vm = boot(code);
        vm.pause();
        while (vm.regs().ring() != 3) {
            vm.resume();
            vm.pause();
        }
        Disassembly entry = vm.disasm(code.address("spin"), 8);

        assertTrue(entry.toString().contains("mov"), entry.toString());
        assertTrue(entry.toString().contains("Programs"), entry.toString());
        assertTrue(vm.disasm().lines().getFirst().current());
    }

    @Test
    void memoryIsReadWrittenSearchedAndCompared() {
        Vm vm = machine(HELLO);
        long gpa = 0x200_0000;
        MemoryView before = vm.mem(gpa, 64);

        vm.write64(gpa + 8, 0x1122_3344_5566_7788L);
        vm.write(gpa + 32, "benchtop-needle".getBytes(StandardCharsets.UTF_8));
        MemoryView after = before.refresh();

        assertEquals(0x55667788L, after.u32(gpa + 8));
        assertEquals(0x88, after.u8(gpa + 8));
        assertEquals("benchtop-needle", after.string(gpa + 32));
        assertEquals(
                List.of(gpa + 32),
                after.search("needle").stream().map(a -> a - 9).toList());
        assertEquals(List.of(gpa + 32), vm.search("benchtop-needle"));
        MemoryView.Diff diff = before.diff(after);
        assertEquals(2, diff.differences().size(), diff.toString());
        assertEquals(23, diff.bytes());
        assertTrue(after.hex().contains("88 77 66 55"), after.hex());
        assertTrue(after.hex().contains("|benchtop-needle.|"), after.hex());
        BenchtopException e = assertThrows(BenchtopException.class, () -> vm.mem(0x7000_0000, 4));
        assertTrue(e.getMessage().contains("0x70000000"), e.getMessage());
    }

    @Test
    void pageTablesOfTheGuestAreWalked() throws InterruptedException {
        Vm vm = boot(HELLO);
        vm.awaitExit(LONG);

        PageWalk walk = vm.pageWalk(0x40_0000);

        assertEquals(0x40_0000, walk.physical().orElseThrow());
        assertEquals(
                List.of("PML4", "PDPT", "PD"),
                walk.steps().stream().map(PageWalk.Step::level).toList());
        assertTrue(vm.pageWalk(0).physical().isEmpty());
        PageMap map = vm.pageTables();
        assertTrue(map.complete());
        assertTrue(map.ranges().stream()
                .anyMatch(range -> range.virtualAddress() <= 0x40_0000
                        && range.virtualAddress() + range.sizeBytes() > 0x40_0000
                        && range.physicalAddress() == range.virtualAddress()));
        assertEquals(vm.mem(0x40_0000, 64).hex(), vm.virt(0x40_0000, 64).hex());
    }

    @Test
    void exitsAreCountedByReasonAndAddress() throws InterruptedException {
        Vm vm = boot(HELLO);
        vm.awaitExit(LONG);

        ExitHistogram exits = vm.exits();

        ExitHistogram.Address serial = exits.byAddress().getFirst();
        assertEquals(AddressSpace.PIO, serial.space());
        assertEquals(0x3f8, serial.address());
        assertTrue(serial.write());
        assertTrue(serial.device().startsWith("isa-serial"), serial.device());
        assertTrue(exits.byReason().getOrDefault("pio-out", 0L) >= serial.count(), exits.toString());
        assertEquals(0, exits.since(exits).total());
        assertTrue(vm.stats().value(serial.device(), "tx-bytes") > 0);
    }

    @Test
    void eventsAreFilteredAndEndWithTheMachine() throws InterruptedException {
        Vm vm = machine(HELLO);
        EventStream writes = vm.events()
                .filter(event -> event instanceof VmEvent.Access access && access.write() && access.address() == 0x3f8);
        EventStream states = vm.events().of(VmEvent.State.class);

        vm.start();
        vm.awaitExit(LONG);
        List<VmEvent> first = writes.take(5, LONG);
        VmEvent.State running = (VmEvent.State) states.next(LONG).orElseThrow();
        vm.close();

        assertEquals(5, first.size());
        assertEquals(MachineState.RUNNING, running.state());
        assertTrue(writes.closed() && states.closed());
        assertEquals(0, writes.lost());
        BenchtopException e = assertThrows(BenchtopException.class, vm::events);
        assertTrue(e.getMessage().contains("closed"), e.getMessage());
    }

    @Test
    void devicesShowRegistersByName() throws InterruptedException {
        Vm vm = boot(HELLO);
        vm.awaitExit(LONG);

        DeviceView serial = vm.device("isa-serial.0");

        assertEquals("isa-serial", serial.type());
        assertEquals(3, serial.register("lcr"));
        assertTrue(
                serial.places().contains("port 0x3f8..0x3ff"),
                () -> serial.places().toString());
        assertTrue(
                vm.devices().toString().contains("i440fx"), () -> vm.devices().toString());
        assertThrows(BenchtopException.class, () -> vm.device("nobody"));
        assertTrue(vm.pci().toString().contains("8086:1237"), () -> vm.pci().toString());
    }

    @Test
    void queuesShowIndices() throws InterruptedException {
        Vm vm = boot("""
                name: disk
                accel: ENGINE
                memory: 64MiB
                boot: { guest: diskcheck, cmdline: seconds=0 }
                drives:
                  disk0: { type: memory, size: 4MiB }
                devices:
                  - { type: virtio-blk-pci, drive: disk0 }
                """);
        vm.awaitExit(LONG);

        QueueState queue = vm.queues().get(0);

        assertEquals("virtio-blk-pci.0", queue.device());
        assertEquals(0, queue.index());
        assertTrue(((Number) queue.fields().getOrDefault("lastAvail", 0)).intValue() > 0, queue.toString());
        assertTrue(vm.stats().value("disk0", "write-requests") > 0);
    }

    @Test
    void queuesShowRequestsInFlight() throws InterruptedException {
        Vm vm = boot("""
                name: slow
                accel: ENGINE
                memory: 64MiB
                boot: { guest: diskbench, cmdline: rw=read bs=4096 iodepth=2 runtime=60 }
                drives:
                  disk0: { type: null, size: 4MiB, latency: 1s }
                devices:
                  - { type: virtio-blk-pci, drive: disk0 }
                """);
        long deadline = System.nanoTime() + LONG.toNanos();
        QueueState queue = vm.queues().get(0);
        while (queue.pending().size() < 2 && System.nanoTime() < deadline) {
            Thread.sleep(5);
            queue = vm.queues().get(0);
        }

        assertEquals(2, queue.pending().size(), queue.toString());
        assertTrue(queue.pending().get(0).containsKey("head"), queue.toString());
        assertTrue(queue.toString().contains("head"), queue.toString());
    }

    @Test
    void ratesAreThoseSinceTheLookBefore() throws InterruptedException {
        Vm vm = Lab.machine(HELLO.replace("ENGINE", engine));
        StatsView first = vm.stats();
        vm.start();
        vm.awaitExit(LONG);

        StatsView second = vm.stats();

        long bytes = second.value("isa-serial.0", "tx-bytes") - first.value("isa-serial.0", "tx-bytes");
        assertTrue(Double.isNaN(first.rate("isa-serial.0", "tx-bytes")), first.toString());
        assertTrue(bytes > 0, second.toString());
        assertEquals(bytes / second.seconds(), second.rate("isa-serial.0", "tx-bytes"), 1e-6);
        assertTrue(second.toString().contains("/s"), second.toString());
    }

    @Test
    void lambdaRunsInTheGuest() throws InterruptedException {
        Vm vm = boot(guest("answer", Programs::answer));

        assertEquals(new MachineExit.GuestExit(42), vm.awaitExit(LONG));
        assertTrue(vm.console().transcript().contains("from a method"));
    }

    @Test
    void lambdaWithLocalVariablesIsRefused() {
        int[] local = {1};

        BenchtopException e = assertThrows(BenchtopException.class, () -> guest("captures", () -> local[0]));

        assertTrue(e.getMessage().contains("captures"), e.getMessage());
    }

    @Test
    void twoMachinesRunAtOnce() throws InterruptedException {
        Vm one = boot(HELLO.replace("name: hello", "name: one"));
        Vm two = boot(HELLO.replace("name: hello", "name: two"));

        assertEquals(new MachineExit.GuestExit(0), one.awaitExit(LONG));
        assertEquals(new MachineExit.GuestExit(0), two.awaitExit(LONG));
        assertEquals(two, Lab.vm("two"));
        assertEquals(List.of(one, two), Lab.vms());
    }

    @Test
    void closedMachineSaysSo() throws InterruptedException {
        Vm vm = boot(HELLO);
        vm.awaitExit(LONG);
        vm.close();
        vm.close();

        for (Runnable use : List.<Runnable>of(
                vm::start,
                vm::pause,
                vm::regs,
                vm::reset,
                () -> vm.mem(0, 16),
                () -> vm.write8(0, 1),
                vm::devices,
                vm::pci,
                vm::queues,
                vm::disasm,
                () -> vm.console().send("x"),
                () -> vm.pageWalk(0))) {
            BenchtopException e = assertThrows(BenchtopException.class, use::run);
            assertTrue(e.getMessage().contains("hello") && e.getMessage().contains("closed"), e.getMessage());
        }
        assertEquals(MachineState.CLOSED, vm.state());
        assertTrue(vm.stats().toString().contains("exits"));
        assertFalse(vm.exits().byReason().isEmpty());
        assertTrue(vm.summary().toString().contains("closed"));
    }

    @Test
    void threadsMayUseAMachineAtOnce() throws Exception {
        Vm vm = boot(BURN);
        List<CompletableFuture<Void>> users = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            int user = i;
            users.add(CompletableFuture.runAsync(() -> {
                for (int round = 0; round < 10; round++) {
                    switch ((user + round) % 4) {
                        case 0 -> vm.regs();
                        case 1 -> vm.mem(0x40_0000, 4096);
                        case 2 -> vm.pause().resume();
                        default -> vm.devices();
                    }
                }
            }));
        }
        for (CompletableFuture<Void> user : users) {
            user.get(60, TimeUnit.SECONDS);
        }

        assertEquals(MachineState.RUNNING, vm.state());
    }

    @Test
    void waitingIsInterruptible() throws Exception {
        Vm vm = boot(BURN);
        Thread waiting = Thread.ofPlatform().start(() -> {
            assertThrows(InterruptedException.class, vm::awaitExit);
        });

        waiting.interrupt();

        waiting.join(60_000);
        assertFalse(waiting.isAlive());
        assertEquals(MachineState.RUNNING, vm.state());
    }

    @Test
    void badSpecificationLeavesNothing() {
        BenchtopException e = assertThrows(
                BenchtopException.class,
                () -> machine("boot: { guest: hello }\ndevices:\n  - { type: virtio-blk-pc, drive: d }\n"));

        assertTrue(e.getMessage().startsWith("yaml:3"), e.getMessage());
        assertTrue(e.getMessage().contains("virtio-blk-pci"), e.getMessage());
    }
}
