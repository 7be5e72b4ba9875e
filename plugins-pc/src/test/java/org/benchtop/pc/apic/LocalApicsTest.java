package org.benchtop.pc.apic;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.benchtop.spi.cpu.LocalApic;
import org.benchtop.spi.state.SavedState;
import org.benchtop.testkit.DeviceContract;
import org.junit.jupiter.api.Test;

class LocalApicsTest implements DeviceContract {
    private static final long BSP = 1 << 8;
    private static final long EXTD = 1 << 10;
    private static final long ENABLED = 1 << 11;
    private static final int MASKED = 1 << 16;

    @Override
    public Subject subject() {
        ApicMachine machine = new ApicMachine(3);
        return Subject.of(machine.apics, machine.context);
    }

    /** The ID is the processor's; the boot processor's LINT0 is as firmware would leave it. */
    @Override
    public Set<String> variableRegisters() {
        Set<String> names = new HashSet<>();
        for (int i = 0; i < 3; i++) {
            names.add("local APIC " + i + ".ID");
        }
        names.add("local APIC 0.LVT_LINT0");
        return names;
    }

    @Test
    void registersTellIdVersionAndPowerOnValues() {
        ApicMachine m = new ApicMachine(2);
        m.attach();

        assertEquals(1 << 24, m.read(1, ApicMachine.ID));
        assertEquals(0x0105_0014, m.read(1, 0x30));
        assertEquals(0xff, m.read(1, ApicMachine.SVR));
        assertEquals(-1, m.read(1, ApicMachine.DFR));
        assertEquals(MASKED, m.read(1, ApicMachine.LVT_LINT0));
        assertEquals(0x700, m.read(0, ApicMachine.LVT_LINT0), "the boot processor takes the 8259s' interrupts");
        assertEquals(ApicMachine.APIC | ENABLED | BSP, m.apic(0).base());
        assertEquals(ApicMachine.APIC | ENABLED, m.apic(1).base());
    }

    @Test
    void interruptIsRequestedThenInServiceThenEnded() {
        ApicMachine m = ApicMachine.started(1);
        m.ipi(0, 0, 0x4061);
        assertEquals(2, m.read(0, 0x230));
        assertTrue(m.vcpus.getFirst().interruptChanges() > 0);

        assertEquals(0x61, m.take(0));
        assertEquals(0, m.read(0, 0x230));
        assertEquals(2, m.read(0, 0x130));
        assertEquals(0x60, m.read(0, ApicMachine.PPR));
        m.eoi(0);

        assertEquals(0, m.read(0, 0x130));
        assertEquals(-1, m.take(0));
    }

    @Test
    void higherPriorityInterruptsAndLowerWaitsForTheEnd() {
        ApicMachine m = ApicMachine.started(1);
        m.ipi(0, 0, 0x4050);
        assertEquals(0x50, m.take(0));

        m.ipi(0, 0, 0x405f);
        assertEquals(-1, m.take(0), "the same class waits");
        m.ipi(0, 0, 0x4060);
        assertEquals(0x60, m.take(0));
        m.eoi(0);
        assertEquals(-1, m.take(0));
        m.eoi(0);

        assertEquals(0x5f, m.take(0));
    }

    @Test
    void taskPriorityHoldsBackAndCr8IsItsHighHalf() {
        ApicMachine m = ApicMachine.started(1);
        m.apic(0).cr8(4);
        assertEquals(0x40, m.read(0, ApicMachine.TPR));
        m.ipi(0, 0, 0x404f);
        assertFalse(m.apic(0).interruptPending());
        long told = m.vcpus.getFirst().interruptChanges();

        m.write(0, ApicMachine.TPR, 0x3f);

        assertTrue(m.vcpus.getFirst().interruptChanges() > told, "the vCPU has to look again");
        assertEquals(3, m.apic(0).cr8());
        assertEquals(0x4f, m.take(0));
    }

    @Test
    void softwareDisabledApicTakesNoFixedInterruptButNmiAndKeepsEntriesMasked() {
        ApicMachine m = ApicMachine.started(2);
        m.write(1, ApicMachine.LVT_TIMER, 0x40);
        m.write(1, ApicMachine.SVR, 0xff);

        m.ipi(0, 1, 0x4060);
        m.ipi(0, 1, 0x4400);
        m.write(1, ApicMachine.LVT_ERROR, 0x55);

        assertFalse(m.apic(1).interruptPending());
        assertEquals(List.of("nmi"), m.vcpus.get(1).signals());
        assertEquals(0x40 | MASKED, m.read(1, ApicMachine.LVT_TIMER));
        assertEquals(0x55 | MASKED, m.read(1, ApicMachine.LVT_ERROR));
    }

    @Test
    void initAndStartupReachTheTargetOnly() {
        ApicMachine m = ApicMachine.started(3);
        m.write(1, ApicMachine.TPR, 0x20);
        m.ipi(0, 1, 0xc500);
        m.ipi(0, 1, 0x8500);
        m.ipi(0, 1, 0x4607);

        assertEquals(List.of("init", "startup 7"), m.vcpus.get(1).signals());
        assertEquals(List.of(), m.vcpus.get(0).signals());
        assertEquals(List.of(), m.vcpus.get(2).signals());
        assertEquals(0, m.read(1, ApicMachine.TPR), "INIT clears the registers");
        assertEquals(0xff, m.read(1, ApicMachine.SVR));
        assertEquals(1 << 24, m.read(1, ApicMachine.ID));
    }

    @Test
    void shorthandsReachSelfAllAndOthers() {
        ApicMachine m = ApicMachine.started(3);
        m.write(1, ApicMachine.ICR, 0x44040);
        assertEquals(-1, m.take(0));
        assertEquals(0x40, m.take(1));
        m.eoi(1);

        m.write(1, ApicMachine.ICR, 0x84041);
        assertEquals(0x41, m.take(0));
        assertEquals(0x41, m.take(1));
        assertEquals(0x41, m.take(2));

        m.write(1, ApicMachine.ICR, 0xc4051);
        assertEquals(0x51, m.take(0));
        assertEquals(-1, m.take(1));
        assertEquals(0x51, m.take(2));
    }

    @Test
    void physicalBroadcastReachesEveryProcessor() {
        ApicMachine m = ApicMachine.started(3);

        m.ipi(2, 0xff, 0x4042);

        for (int i = 0; i < 3; i++) {
            assertEquals(0x42, m.take(i), "vCPU " + i);
        }
    }

    @Test
    void flatLogicalDestinationIsASetOfBits() {
        ApicMachine m = ApicMachine.started(3);

        m.ipi(0, 0b101, 0x4843);

        assertEquals(0x43, m.take(0));
        assertEquals(-1, m.take(1));
        assertEquals(0x43, m.take(2));
    }

    @Test
    void clusterLogicalDestinationIsAClusterAndASet() {
        ApicMachine m = ApicMachine.started(3);
        int[] ids = {0x11, 0x12, 0x21};
        for (int i = 0; i < 3; i++) {
            m.write(i, ApicMachine.DFR, 0x0fff_ffff);
            m.write(i, ApicMachine.LDR, ids[i] << 24);
        }

        m.ipi(0, 0x13, 0x4844);
        m.ipi(0, 0x21, 0x4845);

        assertEquals(0x44, m.take(0));
        assertEquals(0x44, m.take(1));
        assertEquals(0x45, m.take(2));
    }

    @Test
    void lowestPriorityGoesToTheLeastBusyAndRotatesAmongEquals() {
        ApicMachine m = ApicMachine.started(3);
        m.write(0, ApicMachine.TPR, 0x50);

        m.ipi(0, 7, 0x4946);
        m.ipi(0, 7, 0x4956);

        assertEquals(-1, m.take(0));
        assertEquals(Set.of(0x46, 0x56), Set.of(m.take(1), m.take(2)), "one for each idle processor");
    }

    @Test
    void illegalVectorsAreErrorsOfSenderAndReceiver() {
        ApicMachine m = ApicMachine.started(2);
        m.write(0, ApicMachine.LVT_ERROR, 0x77);
        m.write(1, ApicMachine.LVT_ERROR, 0x78);

        m.ipi(0, 1, 0x4005);
        m.msi(0xfee0_1000L, 3).signal();

        assertEquals(0, m.read(0, ApicMachine.ESR), "errors show after a write only");
        m.write(0, ApicMachine.ESR, 0);
        m.write(1, ApicMachine.ESR, 0);
        assertEquals(0x20, m.read(0, ApicMachine.ESR));
        assertEquals(0x40, m.read(1, ApicMachine.ESR));
        assertEquals(0x77, m.take(0));
        assertEquals(0x78, m.take(1));
    }

    @Test
    void oneShotTimerInterruptsOnce() {
        ApicMachine m = ApicMachine.started(1);
        m.write(0, ApicMachine.DIVIDE, 3);
        m.write(0, ApicMachine.LVT_TIMER, 0x31);
        m.write(0, ApicMachine.INITIAL_COUNT, 1_000);
        m.context.advance(15_999);
        assertEquals(-1, m.take(0));
        assertEquals(1, m.read(0, ApicMachine.CURRENT_COUNT));

        m.context.advance(1);
        assertEquals(0x31, m.take(0));
        m.eoi(0);
        assertEquals(0, m.read(0, ApicMachine.CURRENT_COUNT));
        m.context.advance(1_000_000_000);

        assertEquals(-1, m.take(0));
    }

    @Test
    void periodicTimerKeepsItsPaceAndMergesWhatIsLate() {
        ApicMachine m = ApicMachine.started(1);
        m.write(0, ApicMachine.DIVIDE, 0xb);
        m.write(0, ApicMachine.LVT_TIMER, 0x2_0032);
        m.write(0, ApicMachine.INITIAL_COUNT, 1_000_000);
        for (int i = 0; i < 3; i++) {
            m.context.advance(1_000_000);
            assertEquals(0x32, m.take(0), "period " + i);
            m.eoi(0);
        }

        m.context.clock().advance(10_500_000);
        m.context.runPending();
        assertEquals(0x32, m.take(0));
        m.eoi(0);
        assertEquals(-1, m.take(0));
        m.context.advance(500_000);

        assertEquals(0x32, m.take(0), "the pace is that of the first period");
        assertEquals(1_000_000, m.read(0, ApicMachine.CURRENT_COUNT));
    }

    @Test
    void periodicTimerOfANanosecondDoesNotFloodTheHost() {
        ApicMachine m = ApicMachine.started(1);
        m.write(0, ApicMachine.DIVIDE, 0xb);
        m.write(0, ApicMachine.LVT_TIMER, 0x2_0032);
        m.write(0, ApicMachine.INITIAL_COUNT, 1);

        assertTrue(
                m.context.eventLoop().nextDeadlineNanos() >= m.context.clock().nanoTime() + 100_000);
    }

    @Test
    void tscDeadlineFiresWhenTheCounterIsThereAndReadsZeroThen() {
        ApicMachine m = ApicMachine.started(1);
        LocalApic apic = m.apic(0);
        m.context.advance(500);
        assertTrue(apic.writeMsr(0x6e0, 700));
        assertEquals(OptionalLong.of(0), apic.readMsr(0x6e0), "ignored in other modes");
        m.write(0, ApicMachine.LVT_TIMER, 0x4_0033);

        assertTrue(apic.writeMsr(0x6e0, 2_000));
        assertEquals(OptionalLong.of(2_000), apic.readMsr(0x6e0));
        m.context.advance(1_499);
        assertEquals(-1, m.take(0));
        m.context.advance(2);

        assertEquals(0x33, m.take(0));
        assertEquals(OptionalLong.of(0), apic.readMsr(0x6e0));
    }

    @Test
    void tscDeadlineInThePastFiresAtOnceAndZeroDisarms() {
        ApicMachine m = ApicMachine.started(1);
        m.context.advance(10_000);
        m.write(0, ApicMachine.LVT_TIMER, 0x4_0034);
        m.apic(0).writeMsr(0x6e0, 5);
        m.context.runPending();
        assertEquals(0x34, m.take(0));
        m.eoi(0);

        m.apic(0).writeMsr(0x6e0, 20_000);
        m.apic(0).writeMsr(0x6e0, 0);
        m.context.advance(100_000);

        assertEquals(-1, m.take(0));
    }

    @Test
    void tscDeadlineInTheFarFutureNeverFires() {
        ApicMachine m = ApicMachine.started(1);
        m.write(0, ApicMachine.LVT_TIMER, 0x4_0034);

        m.apic(0).writeMsr(0x6e0, -1);
        m.context.advance(Long.MAX_VALUE / 8);

        assertEquals(-1, m.take(0));
    }

    @Test
    void maskedTimerDoesNotInterruptEvenWhenUnmaskedLater() {
        ApicMachine m = ApicMachine.started(1);
        m.write(0, ApicMachine.LVT_TIMER, MASKED | 0x35);
        m.write(0, ApicMachine.INITIAL_COUNT, 1_000);
        m.context.advance(1_000_000);

        m.write(0, ApicMachine.LVT_TIMER, 0x35);
        m.context.advance(1_000_000);

        assertEquals(-1, m.take(0));
    }

    @Test
    void x2apicIsEnteredFromXapicOnlyAndLeftToDisabledOnly() {
        ApicMachine m = ApicMachine.started(1);
        LocalApic apic = m.apic(0);

        assertFalse(apic.base(ApicMachine.APIC | EXTD), "extended without enabled");
        assertFalse(apic.base(ApicMachine.APIC | ENABLED | 1), "a reserved bit");
        assertTrue(apic.base(ApicMachine.APIC | ENABLED | EXTD));
        assertFalse(apic.base(ApicMachine.APIC | ENABLED), "back to xAPIC");
        assertTrue(apic.base(ApicMachine.APIC));
        assertFalse(apic.base(ApicMachine.APIC | ENABLED | EXTD), "straight from disabled");
        assertTrue(apic.base(ApicMachine.APIC | ENABLED));
    }

    private static ApicMachine x2apic(int cpus) {
        ApicMachine m = ApicMachine.started(cpus);
        for (int i = 0; i < cpus; i++) {
            assertTrue(m.apic(i).base(m.apic(i).base() | EXTD));
        }
        return m;
    }

    @Test
    void x2apicRegistersAreMsrsAndTheMemoryPageIsGone() {
        ApicMachine m = x2apic(2);
        LocalApic apic = m.apic(1);

        assertEquals(OptionalLong.of(1), apic.readMsr(0x802));
        assertEquals(OptionalLong.of(2), apic.readMsr(0x80d), "cluster 0, bit 1");
        assertEquals(OptionalLong.of(0x1ff), apic.readMsr(0x80f));
        assertTrue(apic.writeMsr(0x808, 0x20));
        assertEquals(OptionalLong.of(0x20), apic.readMsr(0x808));
        assertEquals(-1, m.read(1, ApicMachine.ID), "nobody answers at the page");
    }

    @Test
    void x2apicFaultsForWhatItDoesNotHave() {
        LocalApic apic = x2apic(1).apic(0);

        for (int missing : new int[] {0x800, 0x80e, 0x809, 0x80c, 0x831, 0x83f, 0x80b, 0x8ff}) {
            assertTrue(apic.readMsr(missing).isEmpty(), "read of " + Integer.toHexString(missing));
        }
        assertFalse(apic.writeMsr(0x802, 1), "read-only");
        assertFalse(apic.writeMsr(0x80d, 1), "read-only in x2APIC mode");
        assertFalse(apic.writeMsr(0x80b, 1), "only 0 ends an interrupt");
        assertFalse(apic.writeMsr(0x828, 1), "only 0 clears errors");
        assertFalse(apic.writeMsr(0x808, 0x100), "reserved bits");
        assertFalse(apic.writeMsr(0x83f, 0x100), "reserved bits");
        assertTrue(apic.writeMsr(0x80b, 0));
    }

    @Test
    void xapicHasNoMsrs() {
        LocalApic apic = ApicMachine.started(1).apic(0);

        assertTrue(apic.readMsr(0x802).isEmpty());
        assertFalse(apic.writeMsr(0x808, 0));
    }

    @Test
    void x2apicCommandsTakeWideDestinations() {
        ApicMachine m = x2apic(3);

        assertTrue(m.apic(0).writeMsr(0x830, 2L << 32 | 0x4060));
        assertTrue(m.apic(0).writeMsr(0x830, 2L << 32 | 0x4861));
        assertTrue(m.apic(0).writeMsr(0x83f, 0x62));
        assertTrue(m.apic(0).writeMsr(0x830, 0xffff_ffffL << 32 | 0x4071));

        assertEquals(0x71, m.take(0));
        m.apic(0).writeMsr(0x80b, 0);
        assertEquals(0x62, m.take(0));
        assertEquals(0x71, m.take(1));
        m.apic(1).writeMsr(0x80b, 0);
        assertEquals(0x61, m.take(1), "logical destination: bit 1 of cluster 0");
        assertEquals(0x71, m.take(2));
        m.apic(2).writeMsr(0x80b, 0);
        assertEquals(0x60, m.take(2));
    }

    @Test
    void registersFollowTheApicBase() {
        ApicMachine m = ApicMachine.started(2);

        assertTrue(m.apic(1).base(0xfed0_0000L | ENABLED));

        assertEquals(1 << 24, (int) m.context.mmioRead(1, 0xfed0_0020L, 4));
        assertEquals(-1, m.read(1, ApicMachine.ID), "the old page is gone for this processor");
        assertEquals(0, m.read(0, ApicMachine.ID), "and stays for the other");
    }

    @Test
    void disabledApicTakesOnlyTheLegacyInterrupt() {
        ApicMachine m = ApicMachine.started(1);
        m.initialisePics();
        assertTrue(m.apic(0).base(ApicMachine.APIC | BSP));

        m.context.irqLine(3).raise();

        assertEquals(0x23, m.take(0));
        assertEquals(-1, m.read(0, ApicMachine.ID));
    }

    @Test
    void virtualWireDeliversTheLegacyInterruptThroughLint0() {
        ApicMachine m = ApicMachine.started(2);
        m.initialisePics();

        m.context.irqLine(4).raise();

        assertFalse(m.apic(1).interruptPending(), "LINT0 of the other processor is masked");
        assertEquals(0x24, m.take(0));
        m.context.pioWrite(0x20, 1, 0x20);
        m.write(0, ApicMachine.LVT_LINT0, MASKED | 0x700);
        m.context.irqLine(5).raise();
        assertEquals(-1, m.take(0));
        m.write(0, ApicMachine.LVT_LINT0, 0x700);
        assertEquals(0x25, m.take(0));
    }

    @Test
    void lint0CanBeAFixedInterruptOrAnNmi() {
        ApicMachine m = ApicMachine.started(2);
        m.initialisePics();
        m.write(0, ApicMachine.LVT_LINT0, 0x48);
        m.write(1, ApicMachine.LVT_LINT0, 0x400);

        m.context.irqLine(3).raise();

        assertEquals(0x48, m.take(0));
        assertEquals(List.of("nmi"), m.vcpus.get(1).signals());
    }

    @Test
    void savedStateKeepsTheTimeLeft() {
        ApicMachine first = ApicMachine.started(1);
        first.write(0, ApicMachine.DIVIDE, 0xb);
        first.write(0, ApicMachine.LVT_TIMER, 0x36);
        first.write(0, ApicMachine.INITIAL_COUNT, 1_000_000);
        first.ipi(0, 0, 0x4070);
        first.context.advance(400_000);
        first.apics.pause();
        SavedState saved = first.apics.saveState();
        ApicMachine second = new ApicMachine(1);
        second.attach();
        second.context.advance(5_000_000);

        second.apics.restoreState(saved);

        assertEquals(0x70, second.take(0));
        second.eoi(0);
        second.context.advance(599_999);
        assertEquals(-1, second.take(0));
        second.context.advance(1);
        assertEquals(0x36, second.take(0));
    }

    @Test
    void hostileRegistersAndMessagesNeverThrow() {
        long seed = seed();
        Random random = new Random(seed);
        ApicMachine m = ApicMachine.started(3);
        for (int i = 0; i < 100_000; i++) {
            int cpu = random.nextInt(3);
            try {
                hostileStep(m, random, cpu);
            } catch (RuntimeException e) {
                throw new AssertionError("seed " + seed + " step " + i, e);
            }
        }
    }

    private static void hostileStep(ApicMachine m, Random random, int cpu) {
        long value = random.nextBoolean() ? random.nextLong() : random.nextInt(256);
        int size = 1 << random.nextInt(4);
        long gpa = m.apic(cpu).base() & ~0xfffL | random.nextInt(0x1000 - 8);
        switch (random.nextInt(8)) {
            case 0, 1 -> m.context.mmioWrite(cpu, gpa & -16, 4, value & 0xffff_ffffL);
            case 2 -> m.context.mmioWrite(cpu, gpa, size, value);
            case 3 -> m.context.mmioRead(cpu, gpa, size);
            case 4 -> {
                m.apic(cpu).readMsr(0x800 + random.nextInt(0x100));
                m.apic(cpu).writeMsr(random.nextBoolean() ? 0x6e0 : 0x800 + random.nextInt(0x40), value);
            }
            case 5 -> m.apic(cpu).base(random.nextBoolean() ? ApicMachine.APIC | ENABLED : value);
            case 6 -> m.msi(0xfee0_0000L | random.nextInt(1 << 20), (int) value).signal();
            default -> {
                m.take(cpu);
                m.context.advance(random.nextInt(1_000_000));
            }
        }
    }

    @Test
    void noInterruptIsLostBetweenSendersAndTheVcpu() throws InterruptedException {
        ApicMachine m = ApicMachine.started(1);
        int rounds = 20_000;
        int senders = 2;
        AtomicIntegerArray handled = new AtomicIntegerArray(256);
        AtomicBoolean stop = new AtomicBoolean();
        LocalApic apic = m.apic(0);
        Thread vcpu = Thread.ofPlatform().daemon().start(() -> {
            while (!stop.get()) {
                int vector = apic.interruptPending() ? apic.acknowledge() : -1;
                if (vector >= 0) {
                    m.eoi(0);
                    handled.incrementAndGet(vector);
                } else {
                    Thread.onSpinWait();
                }
            }
        });
        Thread[] threads = new Thread[senders];
        for (int t = 0; t < senders; t++) {
            int vector = 0x40 + 0x11 * t;
            var msi = m.msi(0xfee0_0000L, vector);
            threads[t] = Thread.ofPlatform().daemon().start(() -> {
                for (int i = 1; i <= rounds; i++) {
                    msi.signal();
                    while (handled.get(vector) < i) {
                        Thread.onSpinWait();
                    }
                }
            });
        }

        for (Thread thread : threads) {
            thread.join(60_000);
            assertFalse(thread.isAlive(), "an interrupt was lost");
        }
        stop.set(true);
        vcpu.join();

        assertEquals(rounds, handled.get(0x40));
        assertEquals(rounds, handled.get(0x51));
    }
}
