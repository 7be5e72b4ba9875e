package org.benchtop.pc.chipset;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Set;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.PowerButton;
import org.benchtop.testkit.AllocationMeter;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.FakeDeviceContext;
import org.junit.jupiter.api.Test;

class Piix4PmTest implements DeviceContract {
    private static final int DEVFN = 1 << 3 | 3;
    private static final int PM = 0x600;
    private static final int SCI = 9;
    private static final int SCI_ENABLED = 0x0001;

    private final FakeDeviceContext context = new FakeDeviceContext();

    private Device attached() {
        Device device = Piix4Pm.type().create(new NoOptions(), context);
        device.attach(context);
        device.reset();
        return device;
    }

    @Override
    public Subject subject() {
        FakeDeviceContext own = new FakeDeviceContext();
        return Subject.of(Piix4Pm.type().create(new NoOptions(), own), own);
    }

    @Override
    public Set<String> variableRegisters() {
        return Set.of(
                "PIIX4 power management.PMTMR", "82371AB power management.PMBA", "82371AB power management.PMREGMISC");
    }

    private int in16(int offset) {
        return (int) context.pioRead(PM + offset, 2);
    }

    private void out16(int offset, int value) {
        context.pioWrite(PM + offset, 2, value);
    }

    @Test
    void smiCommandTurnsAcpiOnAndOff() {
        attached();
        assertEquals(0, in16(4));
        context.pioWrite(0xb2, 1, 0xf1);
        assertEquals(SCI_ENABLED, in16(4));

        context.pioWrite(0xb2, 1, 0xf0);

        assertEquals(0, in16(4));
        assertEquals(0xf0, context.pioRead(0xb2, 1));
    }

    @Test
    void firmwareIsToldThatSmiIsSetUp() {
        // smm_setup of SeaBIOS waits for ever for an SMI otherwise.
        context.machine().firmware(true);
        attached();

        assertEquals(1 << 25, context.pci().configRead(0, DEVFN, 0x58, 4) & 1 << 25);
        assertEquals(0x7113_8086L, context.pci().configRead(0, DEVFN, 0, 4));
    }

    @Test
    void softOffPowersTheMachineOff() {
        attached();
        out16(4, 0x2000);

        assertEquals(List.of("power-off"), context.machine().requests());
    }

    @Test
    void otherSleepStateWakesUpAtOnce() {
        attached();
        out16(4, 0x2400);

        assertEquals(List.of(), context.machine().requests());
        assertEquals(AcpiPm.WAK_STS, in16(0) & AcpiPm.WAK_STS);
        out16(0, AcpiPm.WAK_STS);
        assertEquals(0, in16(0) & AcpiPm.WAK_STS);
    }

    @Test
    void powerButtonRaisesTheSciWhenEnabled() {
        attached();
        PowerButton button = context.services().find(PowerButton.class).orElseThrow();
        context.pioWrite(0xb2, 1, 0xf1);
        out16(2, AcpiPm.PWRBTN_STS);
        button.press();
        assertTrue(context.irqs().asserted(SCI));

        out16(0, AcpiPm.PWRBTN_STS);

        assertFalse(context.irqs().asserted(SCI));
    }

    @Test
    void eventsWaitSilentlyWhileAcpiIsOff() {
        attached();
        out16(2, AcpiPm.PWRBTN_STS);
        context.services().find(PowerButton.class).orElseThrow().press();
        assertFalse(context.irqs().asserted(SCI));

        context.pioWrite(0xb2, 1, 0xf1);

        assertTrue(context.irqs().asserted(SCI));
    }

    @Test
    void narrowStatusWriteClearsOnlyItsOwnBits() {
        attached();
        context.services().find(PowerButton.class).orElseThrow().press();
        context.advance(3_000_000_000L);
        assertEquals(AcpiPm.PWRBTN_STS | AcpiPm.TMR_STS, in16(0));

        context.pioWrite(PM, 1, 0xff);

        assertEquals(AcpiPm.PWRBTN_STS, in16(0));
    }

    @Test
    void timerRunsAtItsFrequencyAndWraps() {
        attached();
        assertEquals(0, context.pioRead(PM + 8, 4));
        context.advance(1_000_000_000L);
        assertEquals(3_579_545, context.pioRead(PM + 8, 4));

        context.advance(4_000_000_000L);

        assertEquals(5L * 3_579_545 & 0xff_ffff, context.pioRead(PM + 8, 4));
    }

    @Test
    void timerOverflowInterruptsWhenEnabled() {
        attached();
        context.pioWrite(0xb2, 1, 0xf1);
        out16(2, AcpiPm.TMR_STS);
        context.advance(2_343_400_000L);
        assertFalse(context.irqs().asserted(SCI));

        context.advance(200_000L);
        assertTrue(context.irqs().asserted(SCI));
        out16(0, AcpiPm.TMR_STS);
        assertFalse(context.irqs().asserted(SCI));
        context.advance(2_400_000_000L);

        assertTrue(context.irqs().asserted(SCI));
    }

    @Test
    void timerReadAllocatesNothing() {
        attached();

        assertEquals(0, AllocationMeter.bytesPerRound(20_000, () -> context.pioRead(PM + 8, 4)));
    }

    @Test
    void portsMoveWithTheBaseRegister() {
        context.machine().firmware(true);
        attached();
        assertEquals(0xffff_ffffL, context.pioRead(PM + 8, 4), "hidden until firmware places them");
        context.pci().configWrite(0, DEVFN, 0x40, 4, 0xb001);
        context.pci().configWrite(0, DEVFN, 0x80, 1, 1);

        context.pioWrite(0xb004, 2, 1);

        assertEquals(1, context.pioRead(0xb004, 2));
        assertEquals(0xb001, context.pci().configRead(0, DEVFN, 0x40, 4));
    }

    @Test
    void basePlacedOnAnotherDeviceHidesThePorts() {
        attached();
        context.pio(0xb000, 16, new NoPorts());
        context.pci().configWrite(0, DEVFN, 0x40, 4, 0xb001);

        assertEquals(0, context.pioRead(0xb004, 2), "the other device answers");
        context.pci().configWrite(0, DEVFN, 0x40, 4, 0x601);
        context.pioWrite(PM + 4, 2, 1);
        assertEquals(1, in16(4));
    }

    private static final class NoPorts implements org.benchtop.spi.bus.PioDevice {
        @Override
        public long read(long offset, int size) {
            return 0;
        }

        @Override
        public void write(long offset, int size, long value) {}
    }
}
