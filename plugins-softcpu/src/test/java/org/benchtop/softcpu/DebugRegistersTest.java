package org.benchtop.softcpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import org.benchtop.spi.cpu.VcpuExit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Breakpoints and watchpoints that the guest sets in DR0–DR7. */
class DebugRegistersTest {
    private static final long CODE = 0x2000;
    private static final long STACK = 0x9000;
    private static final long IDT = 0x4000;
    private static final long HANDLER = 0x5000;
    private static final long DATA = 0x6100;
    private static final int HLT = 0xf4;
    private static final int ENABLED = 1;
    private static final int WRITES = 1 << 16;
    private static final int PORTS = 2 << 16;
    private static final int ACCESSES = 3 << 16;
    private static final int FOUR_BYTES = 3 << 18;

    private final TestMachine machine = new TestMachine();
    private final Cpu cpu = machine.cpu;

    @BeforeEach
    void handlerOfDebugExceptions() {
        machine.longMode();
        machine.map(0, 0, 0x10000, 7);
        cpu.r[Cpu.RSP] = STACK;
        cpu.r[Cpu.RBX] = DATA;
        cpu.idtBase = IDT;
        cpu.idtLimit = 0xfff;
        gate(1);
    }

    @AfterEach
    void close() {
        machine.close();
    }

    private void gate(int vector) {
        machine.write64(IDT + 16L * vector, HANDLER & 0xffff | (long) TestMachine.CODE64 << 16 | 0x8e00L << 32);
        machine.write64(IDT + 16L * vector + 8, 0);
        machine.write(HANDLER, HLT);
    }

    /** Sets DR0 and DR7 as the guest would, and runs code until it halts. */
    private void run(long address, int dr7, int... code) {
        cpu.r[Cpu.RAX] = address;
        cpu.r[Cpu.RCX] = dr7;
        // mov dr0, rax; mov dr7, rcx
        machine.write(CODE - 6, 0x0f, 0x23, 0xc0, 0x0f, 0x23, 0xf9);
        machine.write(CODE, code);
        assertInstanceOf(VcpuExit.Halted.class, machine.run(CODE - 6));
    }

    private long returnAddress() {
        assertEquals(HANDLER + 1, cpu.rip, "not in the handler");
        return machine.read64(cpu.r[Cpu.RSP]);
    }

    @Test
    void watchpointTrapsBehindTheWrite() {
        // mov byte [rbx+4], 5; nop; hlt
        run(DATA + 4, ENABLED | WRITES, 0xc6, 0x43, 4, 5, 0x90, HLT);

        assertEquals(CODE + 4, returnAddress());
        assertEquals(1, cpu.dr[6] & 15);
        assertEquals(5, machine.read64(DATA + 4) & 0xff);
    }

    @Test
    void watchpointOfWritesIgnoresReads() {
        // mov al, [rbx+4]; hlt
        run(DATA + 4, ENABLED | WRITES, 0x8a, 0x43, 4, HLT);

        assertEquals(CODE + 4, cpu.rip);
    }

    @Test
    void watchpointOfAccessesTrapsBehindReads() {
        // mov al, [rbx+7]; hlt
        run(DATA + 4, ENABLED | ACCESSES | FOUR_BYTES, 0x8a, 0x43, 7, HLT);

        assertEquals(CODE + 3, returnAddress());
    }

    @Test
    void restOfTheWatchedPageIsAccessedWithoutTrap() {
        // mov byte [rbx+3], 5; mov byte [rbx+8], 5; hlt
        run(DATA + 4, ENABLED | WRITES | FOUR_BYTES, 0xc6, 0x43, 3, 5, 0xc6, 0x43, 8, 5, HLT);

        assertEquals(CODE + 9, cpu.rip);
    }

    @Test
    void disabledWatchpointDoesNothing() {
        run(DATA + 4, WRITES, 0xc6, 0x43, 4, 5, HLT);

        assertEquals(CODE + 5, cpu.rip);
    }

    @Test
    void instructionThatFaultsDoesNotTrap() {
        gate(14);
        cpu.r[Cpu.RSP] = DATA + 16;
        cpu.r[Cpu.RDX] = 0x1234_5000L;

        // push qword [rdx]: the read faults, the fault's frame is written behind the watched bytes
        run(DATA + 64, ENABLED | ACCESSES, 0xff, 0x32, HLT);

        assertEquals(CODE, machine.read64(cpu.r[Cpu.RSP] + 8));
        assertEquals(0, cpu.dr[6] & 15);
    }

    @Test
    void repeatedStringTrapsBehindTheElement() {
        cpu.r[Cpu.RSI] = 0x7000;
        cpu.r[Cpu.RDI] = DATA;

        // mov ecx, 16; rep movsb; hlt
        run(DATA + 4, ENABLED | WRITES, 0xb9, 16, 0, 0, 0, 0xf3, 0xa4, HLT);

        assertEquals(CODE + 5, returnAddress());
        assertEquals(11, cpu.r[Cpu.RCX]);
        assertEquals(DATA + 5, cpu.r[Cpu.RDI]);
    }

    @Test
    void lockedWriteTraps() {
        // lock inc dword [rbx]; hlt
        run(DATA, ENABLED | WRITES | FOUR_BYTES, 0xf0, 0xff, 0x03, HLT);

        assertEquals(CODE + 3, returnAddress());
        assertEquals(1, machine.read64(DATA) & 0xffff_ffffL);
    }

    @Test
    void translatedCodeTraps() {
        machine.vm.hot(8);
        // loop: add [rbx], rax; dec ecx; jnz loop; hlt
        int[] loop = {0x48, 0x01, 0x03, 0xff, 0xc9, 0x75, 0xf9, HLT};
        machine.write(CODE, loop);
        cpu.r[Cpu.RCX] = 50;
        machine.run(CODE);
        Block block = machine.vm.code().find(machine.ram.address() + CODE, CODE, Cpu.MODE_64);
        assertNotNull(block);
        assertNotNull(block.region);

        run(DATA, ENABLED | WRITES, loop);

        assertEquals(CODE + 3, returnAddress());
    }

    @Test
    void breakpointFaultsBeforeItsInstructionAndIsPassedWithResumeFlag() {
        // handler: inc rsi; iretq
        machine.write(HANDLER, 0x48, 0xff, 0xc6, 0x48, 0xcf);

        // nop; inc rdi; hlt
        run(CODE + 1, ENABLED, 0x90, 0x48, 0xff, 0xc7, HLT);

        assertEquals(1, cpu.r[Cpu.RSI]);
        assertEquals(1, cpu.r[Cpu.RDI]);
        assertEquals(CODE + 5, cpu.rip);
        assertEquals(CODE + 1, machine.read64(STACK - 40));
        assertNotEquals(0, machine.read64(STACK - 24) & Flags.RF);
        assertEquals(1, cpu.dr[6] & 15);
    }

    @Test
    void generalDetectStopsAccessesToDebugRegisters() {
        // mov rdx, dr6; hlt
        run(0, 1 << 13, 0x0f, 0x21, 0xf2, HLT);

        assertEquals(CODE, returnAddress());
        assertEquals(DebugRegisters.BD, cpu.dr[6] & DebugRegisters.BD);
        assertEquals(0, cpu.dr[7] & 1 << 13);
    }

    @Test
    void portsAreWatchedWithDebuggingExtensions() {
        cpu.cr4 |= Cpu.CR4_DE;

        // out 0x61, al; hlt
        run(0x60, ENABLED | PORTS | FOUR_BYTES, 0xe6, 0x61, HLT);

        assertEquals(CODE + 2, returnAddress());
        assertEquals(1, machine.host.log.size());
    }
}
