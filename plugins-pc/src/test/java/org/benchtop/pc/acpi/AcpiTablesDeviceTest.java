package org.benchtop.pc.acpi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.benchtop.pc.common.NoOptions;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.device.Device;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakeGuestMemory;
import org.junit.jupiter.api.Test;

class AcpiTablesDeviceTest implements DeviceContract {
    @Override
    public Subject subject() {
        FakeDeviceContext own = new FakeDeviceContext();
        return Subject.of(AcpiTablesDevice.type().create(new NoOptions(), own), own);
    }

    private static Device attached(FakeDeviceContext context) {
        Device device = AcpiTablesDevice.type().create(new NoOptions(), context);
        device.attach(context);
        return device;
    }

    @Test
    void resetWritesTheTablesAgain() {
        FakeDeviceContext context = new FakeDeviceContext();
        Device device = attached(context);
        device.reset();
        byte[] first = context.memory().bytes(0xe0000, 4096);
        context.memory().poke(0xe0000, new byte[4096]);

        device.reset();

        assertEquals(
                java.util.HexFormat.of().formatHex(first),
                java.util.HexFormat.of().formatHex(context.memory().bytes(0xe0000, 4096)));
    }

    @Test
    void manyProcessorsFit() {
        FakeDeviceContext context = new FakeDeviceContext();
        context.machine().cpus(1024);

        attached(context).reset();

        assertEquals('R', context.memory().bytes(0xe0000, 1)[0]);
    }

    @Test
    void tooManyProcessorsAreAClearError() {
        FakeDeviceContext context = new FakeDeviceContext();
        context.machine().cpus(4095);
        Device device = attached(context);

        BenchtopException e = assertThrows(BenchtopException.class, device::reset);

        assertTrue(String.valueOf(e.getMessage()).contains("4095 vCPUs"), e.getMessage());
    }

    @Test
    void machineWithoutRoomForTablesIsAClearError() {
        Device device = attached(new FakeDeviceContext("tiny", FakeGuestMemory.ofSize(64 << 10)));

        BenchtopException e = assertThrows(BenchtopException.class, device::reset);

        assertTrue(String.valueOf(e.getMessage()).contains("1 MiB"), e.getMessage());
    }
}
