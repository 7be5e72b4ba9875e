package org.benchtop.pc.legacy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Set;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.state.SavedState;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakeGuestMemory;
import org.junit.jupiter.api.Test;

class RtcTest implements DeviceContract {
    private static final RtcOptions UTC = new RtcOptions(RtcOptions.Base.UTC);

    @Override
    public Subject subject() {
        FakeDeviceContext own = new FakeDeviceContext();
        return Subject.of(Rtc.type().create(UTC, own), own);
    }

    /** All but the control registers are behind the battery, or show the time. */
    @Override
    public Set<String> variableRegisters() {
        Set<String> names = new HashSet<>();
        for (CmosRegister register : CmosRegister.values()) {
            if (register != CmosRegister.REGISTER_C && register != CmosRegister.REGISTER_D) {
                names.add("MC146818A and CMOS." + register);
            }
        }
        return names;
    }

    private static FakeDeviceContext machine(FakeGuestMemory memory, int cpus) {
        FakeDeviceContext context = new FakeDeviceContext("rtc", memory);
        context.machine().cpus(cpus);
        Device device = Rtc.type().create(UTC, context);
        device.attach(context);
        device.reset();
        return context;
    }

    private static int cell(FakeDeviceContext context, int index) {
        context.pioWrite(0x70, 1, index);
        return (int) context.pioRead(0x71, 1);
    }

    @Test
    void cmosTellsMemoryBelowFourGibibytes() {
        FakeDeviceContext context = machine(FakeGuestMemory.ofSize(48 << 20), 4);

        assertEquals(640, cell(context, 0x15) | cell(context, 0x16) << 8);
        assertEquals(47 * 1024, cell(context, 0x17) | cell(context, 0x18) << 8);
        assertEquals(47 * 1024, cell(context, 0x30) | cell(context, 0x31) << 8);
        assertEquals(32 * 16, cell(context, 0x34) | cell(context, 0x35) << 8);
        assertEquals(0, cell(context, 0x5b) | cell(context, 0x5c) | cell(context, 0x5d));
        assertEquals(3, cell(context, 0x5f));
    }

    @Test
    void cmosTellsMemoryAboveFourGibibytes() {
        FakeDeviceContext context = machine(FakeGuestMemory.withHole(32 << 20, 48 << 20), 1);

        assertEquals(48 * 16, cell(context, 0x5b) | cell(context, 0x5c) << 8 | cell(context, 0x5d) << 16);
    }

    @Test
    void nmiBitIsNotPartOfTheIndex() {
        FakeDeviceContext context = machine(FakeGuestMemory.ofSize(16 << 20), 1);

        assertEquals(0x80, cell(context, 0x8d));
        assertEquals(0xff, context.pioRead(0x70, 1), "the index port cannot be read");
    }

    @Test
    void nmiMaskSurvivesSaveAndRestore() {
        FakeDeviceContext context = new FakeDeviceContext();
        Device device = Rtc.type().create(UTC, context);
        device.attach(context);
        device.reset();
        context.pioWrite(0x70, 1, 0x8a);
        device.pause();
        SavedState saved = device.saveState();
        device.reset();

        device.restoreState(saved);

        assertEquals(true, device.inspect().get("nmi-off"));
        assertEquals(0x0a, device.inspect().get("index"));
    }

    @Test
    void wordWriteSelectsAndStores() {
        FakeDeviceContext context = machine(FakeGuestMemory.ofSize(16 << 20), 1);
        context.pioWrite(0x70, 2, 0x5a40);

        assertEquals(0x5a, cell(context, 0x40));
    }

    @Test
    void periodicInterruptReachesTheLineAndStopsWhenRead() {
        FakeDeviceContext context = machine(FakeGuestMemory.ofSize(16 << 20), 1);
        context.pioWrite(0x70, 2, 0x420b);
        assertFalse(context.irqs().asserted(8));

        context.advance(1_000_000);
        assertTrue(context.irqs().asserted(8));
        cell(context, 0x0c);
        assertFalse(context.irqs().asserted(8));
        context.advance(10_000_000);

        assertTrue(context.irqs().asserted(8));
        assertEquals(2, context.irqs().raises(8), "an unread interrupt does not repeat");
    }

    @Test
    void timeSetByTheGuestSurvivesReset() {
        FakeDeviceContext context = new FakeDeviceContext();
        Device device = Rtc.type().create(UTC, context);
        device.attach(context);
        device.reset();
        context.pioWrite(0x70, 2, 0x9909);

        device.reset();

        assertEquals(0x99, cell(context, 0x09));
    }
}
