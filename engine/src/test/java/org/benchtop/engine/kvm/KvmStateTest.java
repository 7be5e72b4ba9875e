package org.benchtop.engine.kvm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.cpu.DescriptorTable;
import org.benchtop.spi.cpu.Registers;
import org.benchtop.spi.cpu.SegmentRegister;
import org.benchtop.spi.cpu.SpecialRegisters;
import org.benchtop.spi.cpu.VcpuExit;
import org.benchtop.spi.state.SavedState;
import org.junit.jupiter.api.Test;

class KvmStateTest {
    private static final String PROGRAM = """
            90               # nop
            83 c0 01         # add eax,1
            83 c0 01         # add eax,1
            90               # nop
            e6 f4            # out 0xf4,al
            """;

    private static final int MSR_LSTAR = 0xc000_0082;
    private static final Registers DISTINCT =
            new Registers(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0xfedc_ba98_7654_3210L, 0x1234, 0x202);

    @Test
    void newVcpuStandsAtTheResetVector() {
        try (KvmGuest guest = new KvmGuest(2)) {
            KvmVcpu second = guest.vcpus.get(1);

            SpecialRegisters special = second.specialRegisters();

            assertEquals(0xfff0, second.registers().rip());
            assertEquals(0xffff_0000L, special.cs().base());
            assertEquals(0xf000, special.cs().selector());
        }
    }

    @Test
    void generalRegistersRoundTrip() {
        try (KvmGuest guest = new KvmGuest()) {
            guest.vcpu().registers(DISTINCT);

            assertEquals(DISTINCT, guest.vcpu().registers());
        }
    }

    @Test
    void specialRegistersRoundTrip() {
        try (KvmGuest guest = new KvmGuest()) {
            SpecialRegisters old = guest.vcpu().specialRegisters();
            SegmentRegister data =
                    new SegmentRegister(0x23, 0x1_2345, 0xf_ffff, 3, true, 0, true, false, false, false, true, false);
            SpecialRegisters changed = new SpecialRegisters(
                    old.cs(),
                    data,
                    old.es(),
                    old.fs(),
                    old.gs(),
                    old.ss(),
                    old.tr(),
                    old.ldt(),
                    new DescriptorTable(0x1111_0000L, 0x7f),
                    new DescriptorTable(0x2222_0000L, 0xff),
                    old.cr0(),
                    0x3333,
                    0x4000,
                    old.cr4(),
                    old.cr8(),
                    old.efer(),
                    old.apicBase());

            guest.vcpu().specialRegisters(changed);

            assertEquals(changed, guest.vcpu().specialRegisters());
        }
    }

    @Test
    void msrRoundTripsAndUnknownOneIsRefused() {
        try (KvmGuest guest = new KvmGuest()) {
            assertTrue(guest.vcpu().msr(MSR_LSTAR, 0xffff_8000_0000_1000L));

            assertEquals(OptionalLong.of(0xffff_8000_0000_1000L), guest.vcpu().msr(MSR_LSTAR));
            assertEquals(OptionalLong.empty(), guest.vcpu().msr(0x12345));
            assertEquals(false, guest.vcpu().msr(0x12345, 1));
        }
    }

    @Test
    void savedStateRestoresEverything() {
        try (KvmGuest guest = new KvmGuest()) {
            guest.flat64(guest.vcpu());
            guest.vcpu().registers(DISTINCT);
            guest.vcpu().msr(MSR_LSTAR, 0x1111);
            SpecialRegisters special = guest.vcpu().specialRegisters();
            SavedState saved = guest.vcpu().saveState();
            KvmGuest.flat32(guest.vcpu());
            guest.vcpu().msr(MSR_LSTAR, 0x2222);

            guest.vcpu().restoreState(saved);

            assertEquals(DISTINCT, guest.vcpu().registers());
            assertEquals(special, guest.vcpu().specialRegisters());
            assertEquals(OptionalLong.of(0x1111), guest.vcpu().msr(MSR_LSTAR));
        }
    }

    /** A guest that counts is stopped, moved into another VM with its memory, and goes on counting there. */
    @Test
    void guestGoesOnInAnotherVmAfterRestore() {
        String counting = """
                83 c0 01         # add eax,1
                e6 48            # out 0x48,al
                eb f9            # jmp back
                """;
        SavedState cpu;
        SavedState controllers;
        byte[] memory;
        List<Long> first = new ArrayList<>();
        try (KvmGuest guest = new KvmGuest()) {
            guest.code(KvmGuest.CODE, counting);
            guest.ports.put(0x48, value -> {
                first.add(value);
                if (value == 3) {
                    guest.stopped = true;
                    guest.vcpu().kick();
                }
            });
            guest.run();
            cpu = guest.vcpu().saveState();
            controllers = guest.vm.saveState();
            memory = guest.ram.toArray(ValueLayout.JAVA_BYTE);
        }
        List<Long> second = new ArrayList<>();
        try (KvmGuest guest = new KvmGuest()) {
            guest.ram.copyFrom(java.lang.foreign.MemorySegment.ofArray(memory));
            guest.vm.restoreState(controllers);
            guest.vcpu().restoreState(cpu);
            guest.ports.put(0x48, value -> {
                second.add(value);
                if (value == 5) {
                    guest.stopped = true;
                    guest.vcpu().kick();
                }
            });
            guest.run();
        }

        assertEquals(List.of(1L, 2L, 3L), first);
        assertEquals(List.of(4L, 5L), second);
    }

    @Test
    void foreignStateIsRefused() {
        try (KvmGuest guest = new KvmGuest()) {
            SavedState newer = new SavedState(99, guest.vcpu().saveState().content());

            assertThrows(BenchtopException.class, () -> guest.vcpu().restoreState(newer));
            assertThrows(BenchtopException.class, () -> guest.vcpu().restoreState(SavedState.EMPTY));
            assertThrows(BenchtopException.class, () -> guest.vm.restoreState(SavedState.EMPTY));
        }
    }

    @Test
    void stateOfAnotherSizeIsRefusedAndNamesTheStructure() {
        try (KvmGuest guest = new KvmGuest()) {
            VcpuState old = (VcpuState) guest.vcpu().saveState().content();
            VcpuState damaged = new VcpuState(
                    old.mpState(),
                    old.registers(),
                    old.special(),
                    old.floatingPoint(),
                    old.xcrs(),
                    old.debugRegisters(),
                    new byte[3],
                    old.events(),
                    old.msrIndices(),
                    old.msrValues());

            BenchtopException e = assertThrows(
                    BenchtopException.class,
                    () -> guest.vcpu().restoreState(new SavedState(VcpuState.VERSION, damaged)));

            assertEquals(
                    "saved state does not fit this host's KVM: KVM_SET_LAPIC has 3 bytes, expected 1024",
                    e.getMessage());
        }
    }

    @Test
    void resetGivesThePowerOnState() {
        try (KvmGuest guest = new KvmGuest(2)) {
            KvmVcpu second = guest.vcpus.get(1);
            Registers powerOn = second.registers();
            SpecialRegisters powerOnSpecial = second.specialRegisters();
            int waiting = ((VcpuState) second.saveState().content()).mpState();
            guest.flat64(second);
            second.registers(DISTINCT);
            second.msr(MSR_LSTAR, 0x1111);

            second.reset();

            assertEquals(powerOn, second.registers());
            assertEquals(powerOnSpecial, second.specialRegisters());
            assertEquals(OptionalLong.of(0), second.msr(MSR_LSTAR));
            assertEquals(waiting, ((VcpuState) second.saveState().content()).mpState());
            assertEquals(1, waiting, "KVM_MP_STATE_UNINITIALIZED");
        }
    }

    @Test
    void resetOfTheVmResetsTheInterruptControllers() {
        try (KvmGuest guest = new KvmGuest()) {
            byte[] before = ((VmState) guest.vm.saveState().content()).ioapic();
            guest.code(KvmGuest.CODE, """
                    c7 05 00 00 c0 fe 34 00 00 00     # mov dword [0xfec00000],0x34
                    c7 05 10 00 c0 fe 50 80 00 00     # mov dword [0xfec00010],0x8050
                    c7 05 00 00 c0 fe 00 00 00 00     # mov dword [0xfec00000],0
                    e6 f4                             # out 0xf4,al
                    """);
            guest.run();
            boolean changed = !java.util.Arrays.equals(
                    before, ((VmState) guest.vm.saveState().content()).ioapic());

            guest.vm.reset();

            assertTrue(changed);
            assertArrayEquals(before, ((VmState) guest.vm.saveState().content()).ioapic());
        }
    }

    @Test
    void translateWalksThePageTables() {
        try (KvmGuest guest = new KvmGuest()) {
            guest.flat64(guest.vcpu());
            guest.ram.set(ValueLayout.JAVA_LONG, 0xa008, 0xc003); // page directory entry 1: a table at 0xc000
            guest.ram.set(ValueLayout.JAVA_LONG, 0xc000 + 8 * 5, 0x7003);

            assertEquals(OptionalLong.of(0x1_2345), guest.vcpu().translate(0x1_2345));
            assertEquals(OptionalLong.of(0x7123), guest.vcpu().translate(0x20_5123));
            assertEquals(OptionalLong.empty(), guest.vcpu().translate(0x20_6000));
            assertEquals(OptionalLong.empty(), guest.vcpu().translate(0xffff_8000_0000_0000L));
        }
    }

    @Test
    void singleStepStopsAfterEachInstruction() {
        try (KvmGuest guest = new KvmGuest()) {
            guest.code(KvmGuest.CODE, "90 40 90 e6 f4"); // nop; inc eax; nop; out 0xf4,al
            guest.vcpu().singleStep(true);

            List<Long> stops = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                stops.add(assertInstanceOf(VcpuExit.Debug.class, guest.run()).rip());
            }
            guest.vcpu().singleStep(false);
            guest.run();

            assertEquals(List.of(KvmGuest.CODE + 1, KvmGuest.CODE + 2, KvmGuest.CODE + 3), stops);
            assertTrue(guest.stopped);
        }
    }

    @Test
    void breakpointsStopBeforeTheirInstructionAndLetItRunAfterwards() {
        try (KvmGuest guest = new KvmGuest()) {
            guest.code(KvmGuest.CODE, """
                    90               # nop
                    83 c0 01         # add eax,1
                    83 c0 01         # add eax,1
                    90               # nop
                    e6 f4            # out 0xf4,al
                    """);
            guest.vcpu().breakpoints(new long[] {KvmGuest.CODE + 1, KvmGuest.CODE + 7});

            long first = assertInstanceOf(VcpuExit.Debug.class, guest.run()).rip();
            long before = guest.vcpu().registers().rax();
            long second = assertInstanceOf(VcpuExit.Debug.class, guest.run()).rip();
            guest.run();

            assertEquals(KvmGuest.CODE + 1, first);
            assertEquals(0, before);
            assertEquals(KvmGuest.CODE + 7, second);
            assertEquals(2, guest.vcpu().registers().rax());
            assertTrue(guest.stopped);
        }
    }

    @Test
    void programsStopAtBreakpointsOrTheyAreRefused() {
        try (KvmGuest guest = new KvmGuest()) {
            guest.program64(guest.vcpu());
            guest.code(KvmGuest.CODE, PROGRAM);
            long[] addresses = {KvmGuest.CODE + 1, KvmGuest.CODE + 7};
            if (!DebugCheck.of(KvmOptions.DEFAULTS.device()).breakpoints()) {
                BenchtopException e =
                        assertThrows(BenchtopException.class, () -> guest.vcpu().breakpoints(addresses));
                assertTrue(e.getMessage().contains("accel: soft"), e.getMessage());
                return;
            }
            guest.vcpu().breakpoints(addresses);

            long first = assertInstanceOf(VcpuExit.Debug.class, guest.run()).rip();
            long before = guest.vcpu().registers().rax();
            long second = assertInstanceOf(VcpuExit.Debug.class, guest.run()).rip();
            guest.run();

            assertEquals(addresses[0], first);
            assertEquals(0, before);
            assertEquals(addresses[1], second);
            assertTrue(guest.stopped);
        }
    }

    @Test
    void programsStepAfterEachInstruction() {
        try (KvmGuest guest = new KvmGuest()) {
            guest.program64(guest.vcpu());
            guest.code(KvmGuest.CODE, PROGRAM);
            DescriptorTable idt = guest.vcpu().specialRegisters().idt();
            guest.vcpu().singleStep(true);

            List<Long> stops = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                stops.add(assertInstanceOf(VcpuExit.Debug.class, guest.run()).rip());
            }
            long sum = guest.vcpu().registers().rax();
            guest.vcpu().singleStep(false);
            guest.run();

            assertEquals(List.of(KvmGuest.CODE + 1, KvmGuest.CODE + 4, KvmGuest.CODE + 7, KvmGuest.CODE + 8), stops);
            assertEquals(2, sum);
            assertEquals(idt, guest.vcpu().specialRegisters().idt());
            assertTrue(guest.stopped);
        }
    }

    @Test
    void fifthBreakpointIsRefused() {
        try (KvmGuest guest = new KvmGuest()) {
            BenchtopException e =
                    assertThrows(BenchtopException.class, () -> guest.vcpu().breakpoints(new long[] {1, 2, 3, 4, 5}));

            assertEquals("test vCPU 0: KVM has 4 breakpoints, not 5", e.getMessage());
        }
    }

    @Test
    void pausedClockGoesOnWhereItStopped() throws InterruptedException {
        try (KvmGuest guest = new KvmGuest()) {
            guest.vm.paused(true);
            long stoppedAt = ((VmState) guest.vm.saveState().content()).clockNanos();
            Thread.sleep(300);
            long before = System.nanoTime();
            guest.vm.paused(false);

            long resumedAt = ((VmState) guest.vm.saveState().content()).clockNanos();

            long running = System.nanoTime() - before;
            assertTrue(
                    resumedAt - stoppedAt < running + 150_000_000L,
                    "clock went on by " + (resumedAt - stoppedAt) + " ns in " + running + " ns");
        }
    }
}
