package org.benchtop.softcpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.OptionalLong;
import org.benchtop.spi.cpu.LocalApic;
import org.benchtop.spi.cpu.VcpuExit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Modes, paging, exceptions and interrupts of the software CPU. */
class ProcessorTest {
    private static final long CODE = 0x2000;
    private static final long STACK = 0x9000;
    private static final long IDT = 0x4000;
    private static final long HANDLER = 0x5000;
    private static final int HLT = 0xf4;

    private final TestMachine machine = new TestMachine();
    private final Cpu cpu = machine.cpu;

    @AfterEach
    void close() {
        machine.close();
    }

    private void longMode() {
        machine.longMode();
        machine.map(0, 0, 0x10000, 7);
        cpu.r[Cpu.RSP] = STACK;
        cpu.idtBase = IDT;
        cpu.idtLimit = 0xfff;
    }

    /** A 64-bit interrupt gate that leads to HLT at {@code HANDLER + 16 * vector}. */
    private void gate(int vector) {
        long target = HANDLER + 16L * vector;
        machine.write64(IDT + 16L * vector, target & 0xffff | (long) TestMachine.CODE64 << 16 | 0x8e00L << 32);
        machine.write64(IDT + 16L * vector + 8, 0);
        machine.write(target, HLT);
    }

    private void runToHalt(int... code) {
        machine.write(CODE, code);
        assertInstanceOf(VcpuExit.Halted.class, machine.run(CODE));
    }

    private long stack(int word) {
        return machine.read64(cpu.r[Cpu.RSP] + 8L * word);
    }

    @Test
    void hypercallsAndLeavesOfHypervisorsReachTheHost() {
        longMode();
        cpu.r[Cpu.RDI] = 5;

        // mov eax, 37; vmcall; mov r8, rax; mov eax, 37; vmmcall; mov r9, rax; mov eax, 0x40000100; cpuid
        runToHalt(
                0xb8, 37, 0, 0, 0, 0x0f, 0x01, 0xc1, 0x49, 0x89, 0xc0, 0xb8, 37, 0, 0, 0, 0x0f, 0x01, 0xd9, 0x49, 0x89,
                0xc1, 0xb8, 0, 1, 0, 0x40, 0x0f, 0xa2, HLT);

        assertEquals(42, cpu.r[8]);
        assertEquals(42, cpu.r[9]);
        assertEquals(1, cpu.r[Cpu.RAX]);
        assertEquals(4, cpu.r[Cpu.RDX]);
    }

    @Test
    void undefinedOpcodeRaisesInvalidOpcodeAtTheInstruction() {
        longMode();
        gate(6);

        runToHalt(0x90, 0x0f, 0x0b);

        assertEquals(HANDLER + 6 * 16 + 1, cpu.rip);
        assertEquals(CODE + 1, stack(0));
    }

    @Test
    void pageFaultTellsAddressAndReason() {
        longMode();
        gate(14);
        cpu.r[Cpu.RAX] = 0x1234_5000L;

        // mov [rax+8], rcx
        runToHalt(0x48, 0x89, 0x48, 8);

        assertEquals(0x1234_5008L, cpu.cr2);
        assertEquals(2, stack(0), "error code: write, supervisor, not present");
        assertEquals(CODE, stack(1));
    }

    @Test
    void readOnlyPageStopsSupervisorWritesUnderWriteProtect() {
        longMode();
        gate(14);
        machine.map(0x20_0000, 0x6000, 4096, 1);
        cpu.r[Cpu.RAX] = 0x20_0000;

        runToHalt(0x48, 0x89, 0x08);

        assertEquals(3, stack(0));
    }

    @Test
    void writeSetsAccessedAndDirty() {
        longMode();
        machine.map(0x20_0000, 0x6000, 4096, 3);
        cpu.r[Cpu.RAX] = 0x20_0000;

        runToHalt(0x48, 0x8b, 0x08, HLT);
        long afterRead = machine.entry(0x20_0000);
        runToHalt(0x48, 0x89, 0x08, HLT);
        long afterWrite = machine.entry(0x20_0000);

        assertEquals(0x20, afterRead & 0x60);
        assertEquals(0x60, afterWrite & 0x60);
    }

    @Test
    void executeDisableStopsFetches() {
        longMode();
        gate(14);
        machine.map(0x20_0000, 0x6000, 4096, 3 | 1L << 63);
        cpu.r[Cpu.RAX] = 0x20_0000;

        // jmp rax
        runToHalt(0xff, 0xe0);

        assertEquals(0x11, stack(0), "error code: present, fetch");
        assertEquals(0x20_0000, stack(1));
    }

    @Test
    void accessAcrossTwoPagesFaultsBeforeItChangesAnything() {
        longMode();
        gate(14);
        machine.map(0x20_0000, 0x6000, 4096, 3);
        cpu.r[Cpu.RAX] = 0x20_0ffc;
        cpu.r[Cpu.RCX] = -1;

        runToHalt(0x48, 0x89, 0x08);

        assertEquals(0x20_1000L, cpu.cr2);
        assertEquals(0, machine.read64(0x6ff8));
    }

    @Test
    void divisionByZeroRaisesDivideError() {
        longMode();
        gate(0);

        // xor ecx, ecx; div ecx
        runToHalt(0x31, 0xc9, 0xf7, 0xf1);

        assertEquals(CODE + 2, stack(0));
    }

    @Test
    void faultWithoutHandlerEndsInShutdown() {
        longMode();
        cpu.idtLimit = 0;
        machine.write(CODE, 0x0f, 0x0b);

        VcpuExit exit = machine.run(CODE);

        assertInstanceOf(VcpuExit.Shutdown.class, exit);
    }

    @Test
    void contributoryFaultInDeliveryMakesADoubleFault() {
        longMode();
        gate(8);
        // #GP has no gate: #GP in delivery of #GP.
        // mov eax, 0xff; mov ds, eax
        runToHalt(0xb8, 0xff, 0, 0, 0, 0x8e, 0xd8);

        assertEquals(HANDLER + 8 * 16 + 1, cpu.rip);
        assertEquals(0, stack(0), "error code");
    }

    @Test
    void changedCodeIsExecutedAnew() {
        longMode();
        // mov byte [rip+1], 7 changes the immediate of: mov eax, 1; hlt
        runToHalt(0xc6, 0x05, 1, 0, 0, 0, 7, 0xb8, 1, 0, 0, 0, HLT);

        assertEquals(7, cpu.r[Cpu.RAX]);
    }

    @Test
    void codeWrittenByADeviceIsExecutedAnew() {
        longMode();
        runToHalt(0xb8, 1, 0, 0, 0, HLT);

        machine.write(CODE + 1, 5);
        machine.vm.written(CODE + 1, 1);
        machine.run(CODE);

        assertEquals(5, cpu.r[Cpu.RAX]);
    }

    @Test
    void instructionAcrossPagesFollowsTheSecondPage() {
        longMode();
        machine.map(0x20_0000, 0x6000, 4096, 3);
        machine.map(0x20_1000, 0x7000, 4096, 3);
        // mov eax, imm32 over the boundary
        machine.write(0x6ffe, 0xb8, 1);
        machine.write(0x7000, 0, 0, 0, HLT);
        machine.write(0x8000, 2, 0, 0, HLT);

        machine.run(0x20_0ffe);
        long first = cpu.r[Cpu.RAX];
        machine.map(0x20_1000, 0x8000, 4096, 3);
        cpu.mmu.flush();
        machine.run(0x20_0ffe);

        assertEquals(1, first);
        assertEquals(0x201, cpu.r[Cpu.RAX]);
    }

    @Test
    void unmappedAddressesGoToTheBus() {
        longMode();
        machine.map(0x20_0000, 0xfed0_0000L, 4096, 3);
        machine.host.answer = 0x1122_3344_5566_7788L;
        cpu.r[Cpu.RAX] = 0x20_0010;

        // mov ecx, [rax]; mov [rax], cl; in al, 0x60; out 0x61, al
        runToHalt(0x8b, 0x08, 0x88, 0x08, 0xe4, 0x60, 0xe6, 0x61, HLT);

        assertEquals(0x5566_7788L, cpu.r[Cpu.RCX]);
        assertEquals(List.of("read4 fed00010", "write1 fed00010=88", "in1 60", "out1 61=88"), machine.host.log);
    }

    @Test
    void repeatedMoveCrossesPagesAndHonoursOverlap() {
        longMode();
        for (int i = 0; i < 0x1800; i++) {
            machine.write(0x6000 + i, i * 7);
        }
        cpu.r[Cpu.RSI] = 0x6000;
        cpu.r[Cpu.RDI] = 0x6001;
        cpu.r[Cpu.RCX] = 0x17ff;

        runToHalt(0xf3, 0xa4, HLT);

        assertEquals(0, cpu.r[Cpu.RCX]);
        assertEquals(0, machine.read64(0x6000 + 0x17f0), "the first byte is copied on and on");
    }

    @Test
    void realModeSegmentsAndInterruptTableWork() {
        machine.realMode();
        cpu.r[Cpu.RSP] = 0x8000;
        // int 0x21 -> 0000:5000
        machine.write(0x21 * 4, 0x00, 0x50, 0x00, 0x00);
        machine.write(HANDLER, HLT);
        // mov ax, 0x100; mov ds, ax; mov byte [0x10], 5; int 0x21
        machine.write(CODE, 0xb8, 0x00, 0x01, 0x8e, 0xd8, 0xc6, 0x06, 0x10, 0x00, 5, 0xcd, 0x21);

        assertInstanceOf(VcpuExit.Halted.class, machine.run(CODE));

        assertEquals(5, machine.read64(0x1010) & 0xff);
        assertEquals(HANDLER + 1, cpu.rip);
        assertEquals(CODE + 12, machine.read64(0x7ffa) & 0xffff);
    }

    @Test
    void protectedModeChecksLimits() {
        machine.protectedMode();
        cpu.r[Cpu.RSP] = STACK;
        cpu.idtBase = IDT;
        cpu.idtLimit = 0x7ff;
        machine.write64(IDT + 13 * 8, HANDLER & 0xffff | (long) TestMachine.CODE32 << 16 | 0x8e00L << 32);
        machine.write(HANDLER, HLT);
        cpu.segLimit[Cpu.ES] = 0xfff;
        // mov eax, es:[0x1000]
        machine.write(CODE, 0x26, 0xa1, 0x00, 0x10, 0, 0);

        assertInstanceOf(VcpuExit.Halted.class, machine.run(CODE));

        assertEquals(HANDLER + 1, cpu.rip);
        assertEquals(CODE, machine.read64(cpu.r[Cpu.RSP]) >>> 32);
    }

    @Test
    void syscallAndSysretSwitchPrivilege() {
        longMode();
        cpu.star = (long) TestMachine.CODE64 << 32 | 0x13L << 48;
        cpu.lstar = HANDLER;
        cpu.sfmask = Flags.IF;
        machine.write64(TestMachine.GDT + 0x18, 0x00cf_f300_0000_ffffL);
        machine.write64(TestMachine.GDT + 0x20, 0x00af_fb00_0000_ffffL);
        machine.write(HANDLER, HLT);
        cpu.cpl = 3;
        Segments.set(cpu, Cpu.CS, 0x23, 0, 0xffff_ffffL, 0xa0fb);
        cpu.modeChanged();

        runToHalt(0x0f, 0x05);

        assertEquals(0, cpu.cpl);
        assertEquals(CODE + 2, cpu.r[Cpu.RCX]);
        // sysretq, then hlt in ring 3 raises #GP
        gate(13);
        machine.write(HANDLER, 0x48, 0x0f, 0x07);
        machine.write(CODE + 2, HLT);
        cpu.segBase[Cpu.TR] = 0x7000;
        cpu.segLimit[Cpu.TR] = 0x67;
        machine.write64(0x7004, STACK);
        machine.run(HANDLER);
        assertEquals(HANDLER + 13 * 16 + 1, cpu.rip);
        assertEquals(0x23, stack(2));
    }

    @Test
    void trapFlagStopsAfterEachInstruction() {
        longMode();
        gate(1);

        // pushfq; or byte [rsp+1], 1; popfq; nop; nop
        runToHalt(0x9c, 0x80, 0x4c, 0x24, 1, 1, 0x9d, 0x90, 0x90, HLT);

        assertEquals(HANDLER + 16 + 1, cpu.rip);
        assertEquals(CODE + 8, stack(0), "after the first instruction behind POPF");
        assertEquals(1 << 14, cpu.dr[6] & 1 << 14);
    }

    @Test
    void singleStepStopsAfterEachInstruction() {
        longMode();
        machine.write(CODE, 0x90, 0x90, HLT);
        machine.vcpu.singleStep(true);

        VcpuExit first = machine.run(CODE);
        VcpuExit second = machine.vcpu.run();

        assertEquals(new VcpuExit.Debug(CODE + 1), first);
        assertEquals(new VcpuExit.Debug(CODE + 2), second);
    }

    @Test
    void breakpointStopsBeforeTheInstructionAndIsPassedAfterwards() {
        longMode();
        machine.write(CODE, 0x90, 0xb8, 7, 0, 0, 0, HLT);
        machine.vcpu.breakpoints(new long[] {CODE + 1});

        VcpuExit stop = machine.run(CODE);
        long before = cpu.r[Cpu.RAX];
        VcpuExit end = machine.vcpu.run();

        assertEquals(new VcpuExit.Debug(CODE + 1), stop);
        assertEquals(0, before);
        assertInstanceOf(VcpuExit.Halted.class, end);
        assertEquals(7, cpu.r[Cpu.RAX]);
    }

    @Test
    void watchpointStopsBehindTheInstructionThatWrites() {
        longMode();
        cpu.r[Cpu.RBX] = 0x6100;
        machine.write(CODE, 0xb0, 5, 0x88, 0x43, 4, 0x90, 0x90, HLT);
        machine.vcpu.watchpoints(new long[] {0x6104, 1}, false);

        VcpuExit stop = machine.run(CODE);
        VcpuExit end = machine.vcpu.run();

        assertEquals(new VcpuExit.Debug(CODE + 5), stop);
        assertEquals(5, machine.read64(0x6104) & 0xff);
        assertInstanceOf(VcpuExit.Halted.class, end);
    }

    /** An APIC with one interrupt. */
    private static final class OneInterrupt implements LocalApic {
        int vector = -1;

        @Override
        public boolean interruptPending() {
            return vector >= 0;
        }

        @Override
        public int acknowledge() {
            int taken = vector;
            vector = -1;
            return taken;
        }

        @Override
        public int cr8() {
            return 0;
        }

        @Override
        public void cr8(int value) {}

        @Override
        public long base() {
            return 0xfee0_0900L;
        }

        @Override
        public boolean base(long value) {
            return true;
        }

        @Override
        public OptionalLong readMsr(int index) {
            return OptionalLong.empty();
        }

        @Override
        public boolean writeMsr(int index, long value) {
            return false;
        }
    }

    @Test
    void interruptWaitsUntilTheInstructionAfterSti() {
        longMode();
        gate(0x30);
        OneInterrupt apic = new OneInterrupt();
        machine.vcpu.connect(apic);
        apic.vector = 0x30;
        machine.vcpu.interruptChanged();
        // The handler kicks itself out through an undefined opcode without handler: shutdown.
        machine.write(HANDLER + 0x30 * 16, 0x0f, 0x0b);
        cpu.idtLimit = 0x30 * 16 + 15;
        machine.write(CODE, 0x90, 0xfb, 0x90, 0x90);

        VcpuExit exit = machine.run(CODE);

        assertInstanceOf(VcpuExit.Shutdown.class, exit);
        assertTrue(machine.read64(STACK - 40) >= CODE + 3, "return address " + machine.read64(STACK - 40));
    }

    @Test
    void interruptWakesAHaltedProcessor() throws InterruptedException {
        longMode();
        gate(0x30);
        OneInterrupt apic = new OneInterrupt();
        machine.vcpu.connect(apic);
        // sti; hlt; the handler writes to a port and spins
        machine.write(CODE, 0xfb, HLT);
        machine.write(HANDLER + 0x30 * 16, 0xe6, 0x55, 0xeb, 0xfe);
        cpu.rip = CODE;
        Thread thread = new Thread(machine.vcpu::run);
        thread.start();
        while (machine.vcpu.exits().byReason().getOrDefault("hlt", 0L) == 0) {
            Thread.onSpinWait();
        }

        apic.vector = 0x30;
        machine.vcpu.interruptChanged();
        while (machine.vcpu.exits().byReason().getOrDefault("pio-out", 0L) == 0) {
            Thread.onSpinWait();
        }
        machine.vcpu.kick();
        thread.join();

        assertEquals(List.of("out1 55=0"), machine.host.log);
    }

    @Test
    void interruptComesOneInstructionAfterItIsEnabled() throws InterruptedException {
        longMode();
        gate(0x30);
        OneInterrupt apic = new OneInterrupt();
        machine.vcpu.connect(apic);
        // sti; nop; cli; jmp $: the only place is behind the nop. The handler writes the low byte of the saved RIP.
        machine.write(CODE, 0xfb, 0x90, 0xfa, 0xeb, 0xfe);
        machine.write(HANDLER + 0x30 * 16, 0x48, 0x8b, 0x04, 0x24, 0xe6, 0x55, 0xeb, 0xfe);
        apic.vector = 0x30;
        machine.vcpu.interruptChanged();
        cpu.rip = CODE;
        Thread thread = new Thread(machine.vcpu::run);
        thread.start();
        while (machine.vcpu.exits().byReason().getOrDefault("pio-out", 0L) == 0 && cpu.rip != CODE + 3) {
            Thread.onSpinWait();
        }
        machine.vcpu.kick();
        thread.join();

        assertEquals(List.of("out1 55=" + Long.toHexString(CODE + 2 & 0xff)), machine.host.log);
    }

    @Test
    void savedStateGoesOnWhereItWas() {
        longMode();
        machine.write(CODE, 0x48, 0xff, 0xc0, HLT, 0x48, 0xff, 0xc0, HLT);
        machine.run(CODE);
        var saved = machine.vcpu.saveState();
        machine.vcpu.reset();

        machine.vcpu.restoreState(saved);
        machine.vcpu.run();

        assertEquals(2, cpu.r[Cpu.RAX]);
        assertEquals(CODE + 8, cpu.rip);
    }

    @Test
    void codeWithoutMemoryIsReportedNotThrown() {
        longMode();
        machine.map(0x20_0000, 0xfed0_0000L, 4096, 3);
        machine.write(CODE, 0xff, 0xe0);
        cpu.r[Cpu.RAX] = 0x20_0000;

        VcpuExit exit = machine.run(CODE);

        VcpuExit.Failed failed = assertInstanceOf(VcpuExit.Failed.class, exit);
        assertTrue(failed.reason().contains("0x200000"), failed.reason());
    }

    @Test
    void cpuidOffersOnlyWhatTheModelHas() {
        longMode();
        cpu.r[Cpu.RAX] = 7;

        runToHalt(0x31, 0xc9, 0x0f, 0xa2, HLT);

        assertEquals(0, cpu.r[Cpu.RBX] & 1 << 16, "avx512f");
        assertEquals(1 << 7, cpu.r[Cpu.RBX] & 1 << 7, "smep");
    }
}
