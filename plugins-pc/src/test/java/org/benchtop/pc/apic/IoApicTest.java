package org.benchtop.pc.apic;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.irq.IrqLine;
import org.benchtop.spi.irq.Msi;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.FakeDeviceContext;
import org.junit.jupiter.api.Test;

class IoApicTest implements DeviceContract {
    private static final int LEVEL = 1 << 15;
    private static final int REMOTE_IRR = 1 << 14;
    private static final int MASKED = 1 << 16;
    private static final int LOGICAL = 1 << 11;

    @Override
    public Subject subject() {
        FakeDeviceContext own = new FakeDeviceContext();
        own.services().provide(ApicBus.class, new ApicBus(List.of()));
        return Subject.of(IoApic.type().create(new NoOptions(), own), own);
    }

    @Test
    void versionTellsTwentyFourEntriesAndAnEoiRegister() {
        ApicMachine m = ApicMachine.started(1);

        assertEquals(0x0017_0020, m.readIoApic(1));
        assertEquals(MASKED, m.entry(5));
        m.writeIoApic(0, 0xffff_ffff);
        assertEquals(0x0f00_0000, m.readIoApic(0));
        assertEquals(0, m.readIoApic(0x99), "there is no such register");
    }

    @Test
    void edgeInterruptsOncePerRise() {
        ApicMachine m = ApicMachine.started(2);
        m.redirect(7, 0x47, 1);
        IrqLine line = m.context.irqLine(7);

        line.raise();
        assertEquals(0x47, m.take(1));
        m.eoi(1);
        assertEquals(-1, m.take(1));
        line.lower();
        line.raise();

        assertEquals(0x47, m.take(1));
        assertEquals(-1, m.take(0));
    }

    @Test
    void edgeOfAMaskedEntryIsLost() {
        ApicMachine m = ApicMachine.started(1);
        m.redirect(7, MASKED | 0x47, 0);
        m.context.irqLine(7).raise();

        m.redirect(7, 0x47, 0);

        assertEquals(-1, m.take(0));
    }

    @Test
    void levelInterruptsAgainAfterTheEndWhileAsserted() {
        ApicMachine m = ApicMachine.started(1);
        m.redirect(10, LEVEL | 0x4a, 0);
        IrqLine line = m.context.irqLine(10);
        line.raise();
        assertEquals(0x4a, m.take(0));
        assertEquals(LEVEL | REMOTE_IRR | 0x4a, m.entry(10));
        assertEquals(1 << 10, m.read(0, 0x1a0), "the trigger mode register knows");

        m.eoi(0);
        assertEquals(0x4a, m.take(0), "still asserted");
        line.lower();
        m.eoi(0);

        assertEquals(-1, m.take(0));
        assertEquals(LEVEL | 0x4a, m.entry(10));
    }

    @Test
    void levelIsSeenWhenItsEntryIsUnmasked() {
        ApicMachine m = ApicMachine.started(1);
        m.redirect(10, MASKED | LEVEL | 0x4a, 0);
        m.context.irqLine(10).raise();
        assertEquals(-1, m.take(0));

        m.redirect(10, LEVEL | 0x4a, 0);

        assertEquals(0x4a, m.take(0));
    }

    @Test
    void sharedLineStaysAssertedUntilTheLastSourceLetsGo() {
        ApicMachine m = ApicMachine.started(1);
        m.redirect(11, LEVEL | 0x4b, 0);
        IrqLine one = m.context.irqLine(11);
        IrqLine two = m.context.irqLine(11);
        one.raise();
        two.raise();
        assertEquals(0x4b, m.take(0));

        one.lower();
        m.eoi(0);
        assertEquals(0x4b, m.take(0));
        two.lower();
        m.eoi(0);

        assertEquals(-1, m.take(0));
    }

    @Test
    void eoiRegisterEndsWhatTheLocalApicDoesNotBroadcast() {
        ApicMachine m = ApicMachine.started(1);
        m.write(0, ApicMachine.SVR, 0x11ff);
        m.redirect(10, LEVEL | 0x4a, 0);
        m.context.irqLine(10).raise();
        assertEquals(0x4a, m.take(0));
        m.eoi(0);
        assertEquals(-1, m.take(0), "broadcasts are suppressed");

        m.eoiRegister(0x4a);

        assertEquals(0x4a, m.take(0));
    }

    @Test
    void switchingToEdgeAndBackClearsRemoteIrr() {
        ApicMachine m = ApicMachine.started(1);
        m.redirect(10, LEVEL | 0x4a, 0);
        IrqLine line = m.context.irqLine(10);
        line.raise();
        line.lower();

        m.redirect(10, MASKED | 0x4a, 0);
        m.redirect(10, LEVEL | 0x4a, 0);

        assertEquals(LEVEL | 0x4a, m.entry(10));
    }

    @Test
    void timerReachesPinTwoAndTheFirst8259() {
        ApicMachine m = ApicMachine.started(1);
        m.initialisePics();
        m.redirect(2, 0x52, 0);

        m.context.irqLine(0).raise();

        assertEquals(0x20, m.take(0), "the 8259s come first");
        assertEquals(0x52, m.take(0));
    }

    @Test
    void deliveryModesReachTheProcessor() {
        ApicMachine m = ApicMachine.started(2);
        m.redirect(16, 0x400, 1);
        m.redirect(17, 0x500, 1);
        m.redirect(18, 0x100 | LOGICAL | 0x48, 3);
        m.write(0, ApicMachine.TPR, 0x30);

        m.context.irqLine(16).raise();
        m.context.irqLine(18).raise();
        assertEquals(0x48, m.take(1), "the lower priority of both");
        m.context.irqLine(17).raise();

        assertEquals(List.of("nmi", "init"), m.vcpus.get(1).signals());
        assertEquals(-1, m.take(0));
    }

    @Test
    void extIntThroughPinZeroAsksThe8259s() {
        ApicMachine m = ApicMachine.started(1);
        m.initialisePics();
        m.write(0, ApicMachine.LVT_LINT0, MASKED);
        m.redirect(0, 0x700, 0);

        m.context.irqLine(6).raise();

        assertEquals(0x26, m.take(0));
    }

    @Test
    void messageGoesWhereItsAddressSays() {
        ApicMachine m = ApicMachine.started(3);

        m.msi(0xfee0_2000L, 0x55).signal();
        m.msi(0xfee0_3004L, 0x56).signal();
        m.msi(0xfeef_f000L, 0x67).signal();

        assertEquals(0x67, m.take(0));
        m.eoi(0);
        assertEquals(0x56, m.take(0), "logical: bit 0");
        assertEquals(0x67, m.take(1));
        m.eoi(1);
        assertEquals(0x56, m.take(1), "logical: bit 1");
        assertEquals(0x67, m.take(2));
        m.eoi(2);
        assertEquals(0x55, m.take(2));
    }

    @Test
    void messageWithoutATargetOrElsewhereDoesNothing() {
        ApicMachine m = ApicMachine.started(1);

        m.context.irqChip().newMsi().signal();
        m.msi(0x1000, 0x55).signal();
        m.msi(0x1_fee0_0000L, 0x55).signal();
        Msi closed = m.msi(0xfee0_0000L, 0x55);
        closed.close();
        closed.signal();

        assertEquals(-1, m.take(0));
    }

    @Test
    void lineOutsideTheTableIsRefused() {
        ApicMachine m = ApicMachine.started(1);

        BenchtopException e = assertThrows(BenchtopException.class, () -> m.context.irqLine(24));

        assertTrue(String.valueOf(e.getMessage()).contains("24"), e.getMessage());
    }

    @Test
    void restoredLevelInterruptIsNotDeliveredTwice() {
        ApicMachine first = ApicMachine.started(1);
        first.redirect(10, LEVEL | 0x4a, 0);
        first.context.irqLine(10).raise();
        assertEquals(0x4a, first.take(0));
        var saved = first.ioapic.saveState();
        var savedApics = first.apics.saveState();
        ApicMachine second = ApicMachine.started(1);
        IrqLine line = second.context.irqLine(10);

        second.apics.restoreState(savedApics);
        second.ioapic.restoreState(saved);
        line.raise();

        assertEquals(-1, second.take(0));
        line.lower();
        second.eoi(0);
        assertEquals(-1, second.take(0));
        assertEquals(LEVEL | 0x4a, second.entry(10));
    }
}
