package org.benchtop.softcpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.benchtop.spi.cpu.InstructionCount;
import org.benchtop.spi.cpu.VcpuExit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Callbacks for instructions and accesses, traces and statistics. */
class DebugHooksTest {
    private static final long CODE = 0x10_0000;
    private static final long DATA = 0x11_0000;
    private static final int PASSES = 50;

    private final TestMachine machine = new TestMachine();
    private final List<String> seen = new ArrayList<>();

    /** Loop: add [rsi], rax; mov rbx, [rsi+8]; inc rax; dec ecx; jnz; hlt. */
    @BeforeEach
    void loop() {
        machine.vm.hot(8);
        machine.longMode();
        machine.map(CODE, CODE, 0x1000, 3);
        machine.map(DATA, DATA, 0x2000, 3);
        machine.write(CODE, 0x48, 0x01, 0x06, 0x48, 0x8b, 0x5e, 8, 0x48, 0xff, 0xc0, 0xff, 0xc9, 0x75, 0xf2, 0xf4);
        machine.cpu.r[Cpu.RSI] = DATA;
        machine.cpu.r[Cpu.RCX] = PASSES;
    }

    @AfterEach
    void close() {
        machine.close();
    }

    private void run() {
        machine.cpu.r[Cpu.RCX] = PASSES;
        assertInstanceOf(VcpuExit.Halted.class, machine.run(CODE));
    }

    @Test
    void executionCallbackComesBeforeEveryExecutionUntilItIsClosed() throws Exception {
        AutoCloseable hook = machine.vm.onExec(
                CODE + 7,
                (vcpu, rip, code) ->
                        seen.add(Long.toHexString(rip) + " " + vcpu.registers().rax()));

        run();
        hook.close();
        run();

        assertEquals(PASSES, seen.size());
        assertEquals("100007 0", seen.getFirst());
        assertEquals("100007 49", seen.getLast());
        assertEquals(2 * PASSES, machine.cpu.r[Cpu.RAX]);
    }

    @Test
    void executionCallbackSeesTheInstructionsBytes() throws Exception {
        try (AutoCloseable hook = machine.vm.onExec(
                CODE + 14, (vcpu, rip, code) -> seen.add(HexFormat.of().formatHex(code, 0, 1)))) {
            assertNotNull(hook);
            run();
        }

        assertEquals(List.of("f4"), seen);
    }

    @Test
    void accessCallbacksTellInstructionAddressSizeAndDirection() throws Exception {
        AutoCloseable writes = machine.vm.onAccess(DATA, 8, false, true, this::note);
        AutoCloseable reads = machine.vm.onAccess(DATA + 8, 8, true, false, this::note);

        machine.cpu.r[Cpu.RCX] = 2;
        machine.run(CODE);

        assertEquals(
                List.of(
                        "write 8 at 110000 by 100000",
                        "read 8 at 110008 by 100003",
                        "write 8 at 110000 by 100000",
                        "read 8 at 110008 by 100003"),
                seen);
        writes.close();
        reads.close();
        seen.clear();
        run();
        assertEquals(List.of(), seen);
    }

    private void note(org.benchtop.spi.cpu.Vcpu vcpu, long rip, long address, int size, boolean write) {
        seen.add((write ? "write " : "read ") + size + " at " + Long.toHexString(address) + " by "
                + Long.toHexString(rip));
    }

    @Test
    void codeBesideAnUnusedPageIsTranslatedWhileCallbacksExist() throws Exception {
        try (AutoCloseable hook = machine.vm.onExec(CODE + 0x800, (vcpu, rip, code) -> seen.add("never"))) {
            assertNotNull(hook);
            run();
            Block block = machine.vm.code().find(machine.ram.address() + CODE, CODE, Cpu.MODE_64);
            assertNotNull(block);
            assertNotNull(block.region);
        }
        assertEquals(List.of(), seen);
    }

    @Test
    void blockWithACallbackIsNotTranslated() throws Exception {
        try (AutoCloseable hook = machine.vm.onExec(CODE, (vcpu, rip, code) -> seen.add("loop"))) {
            assertNotNull(hook);
            run();
            Block block = machine.vm.code().find(machine.ram.address() + CODE, CODE, Cpu.MODE_64);
            assertNotNull(block);
            assertNull(block.region);
        }
        assertEquals(PASSES, seen.size());
    }

    @Test
    void traceListsEveryInstruction() throws Exception {
        try (AutoCloseable trace = machine.vm.trace((vcpu, rip, code) ->
                seen.add(Long.toHexString(rip) + " " + HexFormat.of().formatHex(code)))) {
            assertNotNull(trace);
            machine.cpu.r[Cpu.RCX] = 1;
            machine.run(CODE);
        }
        run();

        assertEquals(
                List.of("100000 480106", "100003 488b5e08", "100007 48ffc0", "10000a ffc9", "10000c 75f2", "10000e f4"),
                seen);
    }

    @Test
    void instructionMixCountsExactly() {
        machine.vm.countInstructions(true);

        run();

        List<InstructionCount> counts = machine.vm.countInstructions(false);
        assertEquals(
                machine.cpu.instructions,
                counts.stream().mapToLong(InstructionCount::count).sum());
        assertTrue(
                counts.stream()
                        .anyMatch(c -> HexFormat.of().formatHex(c.example()).equals("75f2")
                                && c.count() == PASSES
                                && c.bits() == 64),
                counts.toString());
        run();
        assertEquals(List.of(), machine.vm.countInstructions(false));
    }
}
