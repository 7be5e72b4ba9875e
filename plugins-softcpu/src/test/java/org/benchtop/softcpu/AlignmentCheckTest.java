package org.benchtop.softcpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import org.benchtop.spi.cpu.VcpuExit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** #AC, which programs ask for by RFLAGS.AC under CR0.AM. Every program ends in the handler of #AC or of #GP (HLT). */
class AlignmentCheckTest {
    private static final long CODE = 0x2000;
    private static final long STACK = 0x9000;
    private static final long IDT = 0x4000;
    private static final long HANDLER = 0x5000;
    private static final long DATA = 0x6000;
    private static final int HLT = 0xf4;
    private static final int AC = 17;
    private static final int GP = 13;
    private static final int PF = 14;

    private final TestMachine machine = new TestMachine();
    private final Cpu cpu = machine.cpu;

    @BeforeEach
    void programWithAlignmentCheck() {
        machine.longMode();
        machine.map(0, 0, 0x10000, 7);
        machine.write64(TestMachine.GDT + 0x18, 0x00cf_f300_0000_ffffL);
        machine.write64(TestMachine.GDT + 0x20, 0x00af_fb00_0000_ffffL);
        cpu.idtBase = IDT;
        cpu.idtLimit = 0xfff;
        for (int vector : new int[] {GP, PF, AC}) {
            long target = HANDLER + 16L * vector;
            machine.write64(IDT + 16L * vector, target & 0xffff | (long) TestMachine.CODE64 << 16 | 0x8e00L << 32);
            machine.write(target, HLT);
        }
        cpu.segBase[Cpu.TR] = 0x7000;
        cpu.segLimit[Cpu.TR] = 0x67;
        machine.write64(0x7004, STACK);
        cpu.cr0 |= Cpu.CR0_AM;
        cpu.cr4 |= Cpu.CR4_OSFXSR;
        cpu.rflags(Flags.AC);
        cpu.r[Cpu.RBX] = DATA;
        cpu.r[Cpu.RSP] = 0x8000;
        privilege(3);
    }

    @AfterEach
    void close() {
        machine.close();
    }

    private void privilege(int cpl) {
        cpu.cpl = cpl;
        Segments.set(cpu, Cpu.CS, cpl == 3 ? 0x23 : TestMachine.CODE64, 0, 0xffff_ffffL, cpl == 3 ? 0xa0fb : 0xa09b);
        cpu.modeChanged();
    }

    /** Runs code with HLT behind it and returns the exception that ended it. */
    private int exceptionOf(int... code) {
        machine.write(CODE, code);
        machine.write(CODE + code.length, HLT);
        assertInstanceOf(VcpuExit.Halted.class, machine.run(CODE));
        return (int) (cpu.rip - 1 - HANDLER) / 16;
    }

    @Test
    void misalignedReadRaisesAlignmentCheckWithCodeZeroAtTheInstruction() {
        // mov eax, [rbx+2]
        assertEquals(AC, exceptionOf(0x8b, 0x43, 2));
        assertEquals(0, machine.read64(cpu.r[Cpu.RSP]));
        assertEquals(CODE, machine.read64(cpu.r[Cpu.RSP] + 8));
    }

    @Test
    void misalignedWriteRaisesAlignmentCheckAndChangesNothing() {
        // mov [rbx+4], rax
        cpu.r[Cpu.RAX] = -1;
        assertEquals(AC, exceptionOf(0x48, 0x89, 0x43, 4));
        assertEquals(0, machine.read64(DATA + 4));
    }

    @Test
    void alignedAccessesPassHoweverOften() {
        // mov eax, [rbx+4]; mov [rbx+6], ax; mov al, [rbx+3]; mov [rbx+8], rax
        assertEquals(GP, exceptionOf(0x8b, 0x43, 4, 0x66, 0x89, 0x43, 6, 0x8a, 0x43, 3, 0x48, 0x89, 0x43, 8));
    }

    @Test
    void misalignedLockedWriteRaisesAlignmentCheck() {
        // lock inc dword [rbx+1]
        assertEquals(AC, exceptionOf(0xf0, 0xff, 0x43, 1));
    }

    @Test
    void misalignedStringMoveRaisesAlignmentCheck() {
        cpu.r[Cpu.RSI] = DATA + 1;
        cpu.r[Cpu.RDI] = DATA + 0x100;
        cpu.r[Cpu.RCX] = 8;
        // rep movsd
        assertEquals(AC, exceptionOf(0xf3, 0xa5));
        assertEquals(8, cpu.r[Cpu.RCX]);
    }

    @Test
    void vectorsNeedOnlyEightBytes() {
        // movups xmm0, [rbx+8]
        assertEquals(GP, exceptionOf(0x0f, 0x10, 0x43, 8));
        privilegeAgain();
        // movups xmm0, [rbx+4]
        assertEquals(AC, exceptionOf(0x0f, 0x10, 0x43, 4));
    }

    private void privilegeAgain() {
        cpu.rflags(Flags.AC);
        cpu.r[Cpu.RSP] = 0x8000;
        privilege(3);
    }

    @Test
    void missingPageComesBeforeAlignment() {
        cpu.r[Cpu.RBX] = 0x1234_5001L;
        // mov eax, [rbx]
        assertEquals(PF, exceptionOf(0x8b, 0x03));
    }

    @Test
    void supervisorIsNotChecked() {
        privilege(0);
        // mov eax, [rbx+2]; hlt
        machine.write(CODE, 0x8b, 0x43, 2, HLT);

        machine.run(CODE);

        assertEquals(CODE + 4, cpu.rip);
    }

    @Test
    void withoutTheFlagNothingIsChecked() {
        cpu.rflags(0);
        cpu.modeChanged();
        assertEquals(GP, exceptionOf(0x8b, 0x43, 2));
    }
}
