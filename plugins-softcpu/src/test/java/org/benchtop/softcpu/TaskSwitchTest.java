package org.benchtop.softcpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.ValueLayout;
import org.benchtop.spi.cpu.VcpuExit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Hardware tasks of 32-bit protected mode, and what is said about those that do not exist. */
class TaskSwitchTest {
    private static final long FIRST_TSS = 0x3000;
    private static final long SECOND_TSS = 0x3100;
    private static final long IDT = 0x4000;
    private static final int FIRST = 0x40;
    private static final int SECOND = 0x48;
    private static final int GATE = 0x50;
    private static final int SMALL = 0x58;
    private static final long CODE = 0x1_0000;
    private static final long OTHER = 0x1_1000;

    private final TestMachine machine = new TestMachine();

    private static long tss(long base, int type) {
        return 0x67 | (base & 0xff_ffff) << 16 | (long) (0x80 | type) << 40 | (base >>> 24) << 56;
    }

    @BeforeEach
    void tasks() {
        machine.protectedMode();
        machine.write64(TestMachine.GDT + FIRST, tss(FIRST_TSS, 9 | 2));
        machine.write64(TestMachine.GDT + SECOND, tss(SECOND_TSS, 9));
        machine.write64(TestMachine.GDT + GATE, (long) SECOND << 16 | 0x85L << 40);
        machine.write64(TestMachine.GDT + SMALL, tss(SECOND_TSS, 1));
        Segments.set(machine.cpu, Cpu.TR, FIRST, FIRST_TSS, 0x67, 0x8b);
        machine.cpu.idtBase = IDT;
        machine.cpu.idtLimit = 0x7ff;
        word(32, OTHER);
        word(36, 2);
        word(40 + 4 * Cpu.RSP, 0x2_0000);
        word(40 + 4 * Cpu.RBX, 77);
        for (int i = 0; i < 6; i++) {
            word(72 + 4 * i, i == 1 ? TestMachine.CODE32 : TestMachine.DATA);
        }
        machine.cpu.r[Cpu.RSP] = 0x2_8000;
    }

    private void word(int offset, long value) {
        machine.ram.set(ValueLayout.JAVA_INT, SECOND_TSS + offset, (int) value);
    }

    private int saved(int offset) {
        return machine.ram.get(ValueLayout.JAVA_INT, FIRST_TSS + offset);
    }

    private boolean busy(int selector) {
        return (machine.read64(TestMachine.GDT + selector) >>> 41 & 1) != 0;
    }

    @AfterEach
    void close() {
        machine.close();
    }

    @Test
    void jumpLeavesTheOldTaskAvailable() {
        machine.cpu.r[Cpu.RBX] = 5;
        // jmp SECOND:0
        machine.write(CODE, 0xea, 0, 0, 0, 0, SECOND, 0);
        machine.write(OTHER, 0xf4);

        assertInstanceOf(VcpuExit.Halted.class, machine.run(CODE));

        assertEquals(OTHER + 1, machine.cpu.rip);
        assertEquals(77, machine.cpu.r[Cpu.RBX]);
        assertEquals(SECOND, machine.cpu.selector[Cpu.TR]);
        assertTrue(busy(SECOND) && !busy(FIRST));
        assertEquals(CODE + 7, saved(32));
        assertEquals(5, saved(40 + 4 * Cpu.RBX));
        assertNotEquals(0, machine.cpu.cr0 & Cpu.CR0_TS);
        assertEquals(0, machine.cpu.rflags() & Flags.NT);
    }

    @Test
    void callNestsAndReturnComesBack() {
        // call GATE:0; hlt
        machine.write(CODE, 0x9a, 0, 0, 0, 0, GATE, 0, 0xf4);
        // mov ecx, 9; iret
        machine.write(OTHER, 0xb9, 9, 0, 0, 0, 0xcf);
        machine.cpu.r[Cpu.RCX] = 4;

        assertInstanceOf(VcpuExit.Halted.class, machine.run(CODE));

        assertEquals(CODE + 8, machine.cpu.rip);
        assertEquals(4, machine.cpu.r[Cpu.RCX]);
        assertEquals(0x2_8000, machine.cpu.r[Cpu.RSP]);
        assertEquals(FIRST, machine.cpu.selector[Cpu.TR]);
        assertTrue(busy(FIRST) && !busy(SECOND));
        assertEquals(FIRST, machine.ram.get(ValueLayout.JAVA_SHORT, SECOND_TSS));
        assertEquals(OTHER + 6, machine.ram.get(ValueLayout.JAVA_INT, SECOND_TSS + 32));
        assertEquals(9, machine.ram.get(ValueLayout.JAVA_INT, SECOND_TSS + 40 + 4 * Cpu.RCX));
    }

    @Test
    void faultThroughATaskGateGivesTheNewTaskItsErrorCode() {
        machine.write64(IDT + 13 * 8, (long) SECOND << 16 | 0x85L << 40);
        // mov ds, bx with a selector beyond the table
        machine.write(CODE, 0x8e, 0xdb);
        machine.write(OTHER, 0xf4);
        machine.cpu.r[Cpu.RBX] = 0xff8;

        assertInstanceOf(VcpuExit.Halted.class, machine.run(CODE));

        assertEquals(OTHER + 1, machine.cpu.rip);
        assertEquals(0x2_0000 - 4, machine.cpu.r[Cpu.RSP]);
        assertEquals(0xff8, machine.ram.get(ValueLayout.JAVA_INT, 0x2_0000 - 4));
        assertEquals(CODE, saved(32));
        assertNotEquals(0, machine.cpu.rflags() & Flags.NT);
    }

    @Test
    void busyTaskRaisesGeneralProtection() {
        machine.cpu.idtLimit = 0;
        machine.write(CODE, 0xea, 0, 0, 0, 0, FIRST, 0);

        assertInstanceOf(VcpuExit.Shutdown.class, machine.run(CODE));

        assertEquals(CODE, machine.cpu.rip);
        assertEquals(FIRST, machine.cpu.selector[Cpu.TR]);
    }

    @Test
    void sixteenBitTaskStopsTheVmWithAReport() {
        machine.write(CODE, 0xea, 0, 0, 0, 0, SMALL, 0);

        VcpuExit.Failed failed = assertInstanceOf(VcpuExit.Failed.class, machine.run(CODE));

        assertTrue(failed.reason().contains("16-bit task of selector 0x58"), failed.reason());
        assertTrue(failed.reason().contains("32-bit mode, CPL 0"), failed.reason());
        assertEquals(CODE, failed.rip());
        assertEquals((byte) 0xea, failed.instructionBytes()[0]);
    }

    @Test
    void dumpOfATripleFaultShowsExceptionsAndBlocks() {
        machine.cpu.idtLimit = 0;
        // ud2
        machine.write(CODE, 0x0f, 0x0b);
        machine.run(CODE);

        String dump = Disassembly.dump(machine.cpu);

        assertTrue(dump.contains("32-bit mode, CPL 0, rip=0000000000010000"), dump);
        assertTrue(dump.contains("last exceptions (vector@rip): 6@10000"), dump);
        assertTrue(dump.contains("last blocks:") && dump.contains(" 10000\n"), dump);
        assertTrue(dump.contains("code: 0f 0b"), dump);
    }
}
