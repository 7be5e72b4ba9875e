package org.benchtop.pc.chipset;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.spi.pci.PciFunctionSpec;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.FakeDeviceContext;
import org.junit.jupiter.api.Test;

class Piix3Test implements DeviceContract {
    private static final int DEVFN = 1 << 3;

    private final FakeDeviceContext context = new FakeDeviceContext();

    private Device attached() {
        Device bridge = I440Fx.type().create(new NoOptions(), context);
        bridge.attach(context.device("i440fx"));
        bridge.reset();
        Device device = Piix3.type().create(new NoOptions(), context);
        device.attach(context);
        device.reset();
        return device;
    }

    @Override
    public Subject subject() {
        FakeDeviceContext own = new FakeDeviceContext();
        own.machine().firmware(true);
        return Subject.of(Piix3.type().create(new NoOptions(), own), own);
    }

    private PciFunction functionWithPin(int device, int pin) {
        return context.pci()
                .add(new PciFunctionSpec(0x1234, 0x5678).interruptPin(pin).address(new PciAddress(device, 0)));
    }

    @Test
    void isAMultifunctionIsaBridge() {
        attached();

        assertEquals(0x7000_8086L, context.pci().configRead(0, DEVFN, 0, 4));
        assertEquals(0x0601, context.pci().configRead(0, DEVFN, 0x0a, 2));
        assertEquals(0x80, context.pci().configRead(0, DEVFN, 0x0e, 1));
    }

    @Test
    void withoutFirmwarePinsAreRoutedAsFirmwareWould() {
        attached();

        functionWithPin(2, 1).intx().raise();
        assertEquals(10, raisedGsi());
        functionWithPin(4, 1).intx().raise();
        assertEquals(
                List.of(true, true),
                List.of(context.irqs().asserted(10), context.irqs().asserted(11)));
    }

    private int raisedGsi() {
        for (int gsi = 0; gsi < 24; gsi++) {
            if (context.irqs().asserted(gsi)) {
                return gsi;
            }
        }
        return -1;
    }

    @Test
    void withFirmwareNothingIsRoutedUntilItSays() {
        context.machine().firmware(true);
        attached();
        PciFunction function = functionWithPin(3, 1);
        function.intx().raise();
        assertEquals(-1, raisedGsi());

        // Device 3, INTA is PIRQC.
        context.pci().configWrite(0, DEVFN, 0x62, 1, 5);

        assertEquals(5, raisedGsi());
        context.pci().configWrite(0, DEVFN, 0x62, 1, 0x85);
        assertEquals(-1, raisedGsi());
    }

    @Test
    void reservedInterruptNumbersRouteNowhere() {
        attached();
        functionWithPin(3, 1).intx().raise();
        for (int irq : new int[] {0, 1, 2, 8, 13}) {
            context.pci().configWrite(0, DEVFN, 0x60, 4, irq * 0x01010101L);
            assertEquals(-1, raisedGsi(), "IRQ " + irq);
        }
    }

    @Test
    void wiringRotatesPinsOverDevices() {
        assertEquals(0, Piix3.pirq(1, 0));
        assertEquals(1, Piix3.pirq(2, 0));
        assertEquals(2, Piix3.pirq(3, 0));
        assertEquals(0, Piix3.pirq(4, 1));
    }

    @Test
    void resetControlResetsOnARisingBitOnly() {
        attached();
        context.pioWrite(0xcf9, 1, 0x02);
        assertEquals(List.of(), context.machine().requests());
        context.pioWrite(0xcf9, 1, 0x06);
        context.pioWrite(0xcf9, 1, 0x06);

        assertEquals(List.of("reset"), context.machine().requests());
        assertEquals(0x06, context.pioRead(0xcf9, 1));
    }

    @Test
    void wordAtResetControlDoesNotReset() {
        attached();
        context.pioWrite(0xcf8, 4, 0x0000_0600L);

        assertEquals(List.of(), context.machine().requests());
    }

    @Test
    void edgeLevelRegisterKeepsFixedInterruptsAtEdge() {
        attached();
        context.pioWrite(0x4d0, 1, 0xff);
        context.pioWrite(0x4d1, 1, 0xff);

        assertEquals(0xf8, context.pioRead(0x4d0, 1));
        assertEquals(0xde, context.pioRead(0x4d1, 1));
        assertEquals(0xdef8, context.pioRead(0x4d0, 2));
    }
}
