package org.benchtop.pc.chipset;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.memory.MemoryAccess;
import org.benchtop.spi.pci.PciWindows;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakeGuestMemory;
import org.benchtop.testkit.FakeMemoryMap;
import org.junit.jupiter.api.Test;

class I440FxTest implements DeviceContract {
    private static Device device(FakeDeviceContext context) {
        Device device = I440Fx.type().create(new NoOptions(), context);
        device.attach(context);
        device.reset();
        return device;
    }

    private static FakeDeviceContext firmwareMachine() {
        FakeDeviceContext context = new FakeDeviceContext();
        context.machine().firmware(true);
        return context;
    }

    @Override
    public Subject subject() {
        FakeDeviceContext own = firmwareMachine();
        return Subject.of(I440Fx.type().create(new NoOptions(), own), own);
    }

    private static long configRead(FakeDeviceContext context, int offset, int size) {
        context.pioWrite(0xcf8, 4, 0x8000_0000L | offset & 0xfc);
        return context.pioRead(0xcfc + (offset & 3), size);
    }

    private static void configWrite(FakeDeviceContext context, int offset, int size, long value) {
        context.pioWrite(0xcf8, 4, 0x8000_0000L | offset & 0xfc);
        context.pioWrite(0xcfc + (offset & 3), size, value);
    }

    @Test
    void mechanismOneIsFoundAsLinuxProbesIt() {
        // pci_check_type1: a byte at 0xCFB must not disturb, a dword at 0xCF8 must read back.
        FakeDeviceContext context = new FakeDeviceContext();
        device(context);
        context.pioWrite(0xcfb, 1, 0x01);
        context.pioWrite(0xcf8, 4, 0x8000_0000L);

        assertEquals(0x8000_0000L, context.pioRead(0xcf8, 4));
        assertEquals(0x1237_8086L, context.pioRead(0xcfc, 4));
        assertEquals(0x1237, context.pioRead(0xcfe, 2));
        assertEquals(0x12, context.pioRead(0xcff, 1));
        assertEquals(0x1af4, configRead(context, 0x2c, 2));
        assertEquals(0x1100, configRead(context, 0x2e, 2));
        assertEquals(2, configRead(context, 0x08, 1));
        assertEquals(0x0600, configRead(context, 0x0a, 2));
    }

    @Test
    void reservedAddressBitsReadAsZero() {
        FakeDeviceContext context = new FakeDeviceContext();
        device(context);
        context.pioWrite(0xcf8, 4, 0xffff_ffffL);

        assertEquals(0x80ff_fffcL, context.pioRead(0xcf8, 4));
    }

    @Test
    void absentFunctionsAndDisabledMechanismReadAsOnes() {
        FakeDeviceContext context = new FakeDeviceContext();
        device(context);
        context.pioWrite(0xcf8, 4, 0x8000_f800L);
        assertEquals(0xffff_ffffL, context.pioRead(0xcfc, 4));
        context.pioWrite(0xcf8, 4, 0x8001_0000L);
        assertEquals(0xffff, context.pioRead(0xcfc, 2));

        context.pioWrite(0xcf8, 4, 0);

        assertEquals(0xff, context.pioRead(0xcfc, 1));
    }

    @Test
    void shadowRamFollowsTheRegistersAsSeaBiosWritesThem() {
        FakeDeviceContext context = firmwareMachine();
        device(context);
        FakeMemoryMap map = context.memoryMap();
        assertEquals(List.of(), map.mappings());

        configWrite(context, 0x58, 4, configRead(context, 0x58, 4) & 0xff | 0x33333000L);
        configWrite(context, 0x5c, 4, 0x33333333L);
        assertEquals(13, map.mappings().size());
        assertEquals(MemoryAccess.READ_WRITE, map.at(0xf0000).orElseThrow().access());
        assertEquals(MemoryAccess.READ_WRITE, map.at(0xc0000).orElseThrow().access());
        configWrite(context, 0x59, 1, 0x10);
        configWrite(context, 0x5a, 1, 0x31);

        assertEquals(MemoryAccess.READ_ONLY, map.at(0xfffff).orElseThrow().access());
        assertEquals(MemoryAccess.READ_ONLY, map.at(0xc3fff).orElseThrow().access());
        assertEquals(MemoryAccess.READ_WRITE, map.at(0xc4000).orElseThrow().access());
        configWrite(context, 0x5a, 1, 0x00);
        assertTrue(map.at(0xc0000).isEmpty(), "the ROM must show again");
    }

    @Test
    void mappedShadowIsGuestRamInPlace() {
        FakeDeviceContext context = firmwareMachine();
        device(context);
        configWrite(context, 0x59, 1, 0x30);

        context.mmioWrite(0xf1234, 1, 0x5a);

        assertEquals(0x5a, context.memory().bytes(0xf1234, 1)[0]);
    }

    @Test
    void writesReachRamWhileReadsStillComeFromRom() {
        FakeDeviceContext context = firmwareMachine();
        device(context);
        context.mmioWrite(0xf0000, 1, 0x11);
        assertEquals(0, context.memory().bytes(0xf0000, 1)[0], "writes are off");
        configWrite(context, 0x59, 1, 0x20);

        context.mmioWrite(0xf0000, 4, 0x04030201);

        assertEquals(0x01, context.memory().bytes(0xf0000, 4)[0]);
        assertEquals(0x04, context.memory().bytes(0xf0000, 4)[3]);
        assertTrue(context.memory().wasWritten(0xf0000, 4));
    }

    @Test
    void machineWithoutFirmwareKeepsItsRam() {
        FakeDeviceContext context = new FakeDeviceContext();
        device(context);
        configWrite(context, 0x59, 1, 0x10);

        assertEquals(List.of(), context.memoryMap().mappings());
    }

    @Test
    void lockedSmramRegisterStaysUntilReset() {
        FakeDeviceContext context = new FakeDeviceContext();
        Device device = device(context);
        configWrite(context, 0x72, 1, 0x4a);
        assertEquals(0x4a, configRead(context, 0x72, 1));
        configWrite(context, 0x72, 1, 0x5a);
        assertEquals(0x1a, configRead(context, 0x72, 1), "locking closes");

        configWrite(context, 0x72, 1, 0x4a);
        assertEquals(0x1a, configRead(context, 0x72, 1));
        device.reset();

        assertEquals(0x02, configRead(context, 0x72, 1));
    }

    @Test
    void windowsLieAroundRam() {
        PciWindows windows =
                I440Fx.windows(FakeGuestMemory.withHole(32 << 20, 48 << 20).regions());

        assertEquals(0xc000_0000L, windows.memory32Base());
        assertEquals(0xfec0_0000L, windows.memory32Base() + windows.memory32SizeBytes());
        assertEquals(0x1_4000_0000L, windows.memory64Base(), "the first GiB boundary above RAM");
    }

    @Test
    void smallMachineWithoutRamInTheShadowAreaSurvives() {
        FakeDeviceContext context = new FakeDeviceContext("tiny", FakeGuestMemory.ofSize(512 << 10));
        context.machine().firmware(true);
        device(context);
        configWrite(context, 0x59, 1, 0x30);

        context.mmioWrite(0xf0000, 1, 1);

        assertEquals(List.of(), context.memoryMap().mappings());
    }
}
