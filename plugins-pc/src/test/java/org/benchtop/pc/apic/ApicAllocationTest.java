package org.benchtop.pc.apic;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.benchtop.spi.irq.IrqLine;
import org.benchtop.spi.irq.Msi;
import org.benchtop.testkit.AllocationMeter;
import org.junit.jupiter.api.Test;

/** Interrupts cost no allocation once warm. */
final class ApicAllocationTest {
    private static final int INTERRUPTS = 2_000;
    private static final long SLACK_BYTES = INTERRUPTS / 4;

    private static void assertAllocatesNothing(Runnable action) {
        long bytes = AllocationMeter.bytesPerRound(INTERRUPTS, action);

        assertTrue(bytes < SLACK_BYTES, INTERRUPTS + " times allocate " + bytes + " bytes");
    }

    @Test
    void messageFromDeviceToEndAllocatesNothing() {
        ApicMachine m = ApicMachine.started(4);
        Msi msi = m.msi(0xfee0_2000L, 0x55);

        assertAllocatesNothing(() -> {
            msi.signal();
            assertEquals(0x55, m.take(2));
            m.eoi(2);
        });
    }

    @Test
    void levelLineAllocatesNothing() {
        ApicMachine m = ApicMachine.started(1);
        m.redirect(10, 1 << 15 | 0x4a, 0);
        IrqLine line = m.context.irqLine(10);

        assertAllocatesNothing(() -> {
            line.raise();
            assertEquals(0x4a, m.take(0));
            line.lower();
            m.eoi(0);
        });
    }

    @Test
    void interprocessorInterruptAllocatesNothing() {
        ApicMachine m = ApicMachine.started(4);

        assertAllocatesNothing(() -> {
            m.ipi(0, 3, 0x4060);
            assertEquals(0x60, m.take(3));
            m.eoi(3);
        });
    }

    @Test
    void armingTheTimerAllocatesNothing() {
        ApicMachine m = ApicMachine.started(1);
        m.write(0, ApicMachine.LVT_TIMER, 0x31);

        assertAllocatesNothing(() -> m.write(0, ApicMachine.INITIAL_COUNT, 100_000));
    }
}
