package org.benchtop.pc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.pc.firmware.FwCfgOptions;
import org.benchtop.pc.legacy.DebugExitOptions;
import org.benchtop.pc.legacy.DebugconOptions;
import org.benchtop.pc.legacy.RtcOptions;
import org.benchtop.pc.serial.IsaSerialOptions;
import org.benchtop.spi.Plugin;
import org.benchtop.spi.cpu.CpuVmFeatures;
import org.benchtop.spi.device.Acpi;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.device.MachineType;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakeVcpu;
import org.junit.jupiter.api.Test;

/** The whole board. */
class PcMachineTest {
    private static final CpuVmFeatures KVM = new CpuVmFeatures(true, true, true, true);

    /** What the board's devices are created with; the engine binds these from the (empty) options. */
    private static final Map<String, Record> OPTIONS = Map.of(
            "rtc", new RtcOptions(RtcOptions.Base.UTC),
            "fw-cfg", new FwCfgOptions(Map.of()),
            "debugcon", new DebugconOptions(Optional.empty(), 0x402),
            "debug-exit", new DebugExitOptions(0x501),
            "isa-serial",
                    new IsaSerialOptions(
                            Optional.empty(), 1, Optional.empty(), Optional.empty(), IsaSerialOptions.Carrier.ALWAYS));

    private final FakeDeviceContext context = new FakeDeviceContext();
    private final List<Device> devices = new ArrayList<>();

    private static Plugin plugin() {
        return ServiceLoader.load(Plugin.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(candidate -> candidate.name().equals("pc"))
                .findFirst()
                .orElseThrow();
    }

    private static MachineType machine() {
        return plugin().machineTypes().getFirst();
    }

    private static <O extends Record> Device create(DeviceType<O> type, FakeDeviceContext context) {
        Record options = OPTIONS.getOrDefault(type.name(), new NoOptions());
        return type.create(type.optionsType().cast(options), context);
    }

    private void boot(boolean firmware) {
        boot(firmware, KVM);
    }

    private void boot(boolean firmware, CpuVmFeatures features) {
        context.machine().firmware(firmware);
        List<String> types = new ArrayList<>();
        machine()
                .platformDevices(new MachineType.Request(1, 16 << 20, features, firmware))
                .forEach(device -> types.add(device.type()));
        types.add("isa-serial");
        for (String name : types) {
            DeviceType<?> type = plugin().deviceTypes().stream()
                    .filter(candidate -> candidate.name().equals(name))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError("no type " + name));
            FakeDeviceContext own = context.device(name);
            Device device = create(type, own);
            device.attach(own);
            devices.add(device);
        }
        devices.forEach(Device::reset);
    }

    @Test
    void allTypesHaveUniqueNamesAndSummaries() {
        List<String> names = new ArrayList<>();
        plugin().deviceTypes().forEach(type -> {
            names.add(type.name());
            assertFalse(type.summary().isBlank());
        });
        plugin().chardevTypes().forEach(type -> names.add(type.name()));

        assertEquals(names.size(), names.stream().distinct().count());
        assertTrue(
                names.containsAll(List.of("isa-serial", "i440fx", "stdio", "file", "pty", "socket", "memory", "null")));
    }

    @Test
    void boardAttachesAndShowsItsPciFunctions() {
        boot(false);

        assertEquals(
                List.of("00:00.0", "00:01.0", "00:01.3"),
                context.pci().functions().stream()
                        .map(PciFunction::address)
                        .map(Object::toString)
                        .toList());
    }

    @Test
    void tablesAreInRamWithoutFirmwareAndNameTheSerialPort() {
        boot(false);
        long rsdp = context.services().find(Acpi.class).orElseThrow().rsdpGpa();

        String memory = new String(context.memory().bytes(rsdp, 0x2000), StandardCharsets.ISO_8859_1);

        assertEquals(0xe0000, rsdp);
        assertTrue(memory.startsWith("RSD PTR "));
        for (String expected : List.of("DSDT", "FACP", "APIC", "XSDT", "COM1", "RTC0", "KBD0")) {
            assertTrue(memory.contains(expected), expected);
        }
    }

    @Test
    void tablesGoThroughTheConfigurationDeviceWithFirmware() {
        boot(true);

        assertTrue(context.services().find(Acpi.class).isEmpty());
        assertEquals(0, context.memory().bytes(0xe0000, 1)[0], "firmware places the tables");
        String directory = fwCfg(0x19, 1024);
        assertTrue(directory.contains("etc/table-loader"));
        assertTrue(directory.contains("etc/acpi/rsdp"));
        assertTrue(directory.contains("etc/e820"));
    }

    private String fwCfg(int key, int length) {
        context.pioWrite(0x510, 2, key);
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < length; i++) {
            out.append((char) context.pioRead(0x511, 1));
        }
        return out.toString();
    }

    @Test
    void closingADeviceTakesItsDescriptionAway() {
        boot(false);
        Device serial = devices.getLast();
        serial.close();
        devices.remove(serial);
        devices.forEach(Device::reset);

        String memory = new String(context.memory().bytes(0xe0000, 0x2000), StandardCharsets.ISO_8859_1);

        assertFalse(memory.contains("COM1"));
        assertTrue(memory.contains("RTC0"));
    }

    @Test
    void interruptControllersAndTimerAreEmulatedWhereTheCpuEngineHasNone() {
        CpuVmFeatures bare = new CpuVmFeatures(false, false, false, false);
        context.machine().cpuFeatures(bare).vcpu(new FakeVcpu(0, context.clock()));

        boot(false, bare);

        assertEquals(
                List.of("i8259", "local-apic", "ioapic", "i8254"),
                machine().platformDevices(new MachineType.Request(1, 16 << 20, bare, false)).stream()
                        .map(MachineType.PlatformDevice::type)
                        .limit(4)
                        .toList());
        assertEquals(0x0017_0020L, ioApic(1));
        assertEquals(0x0e, context.pioRead(0x4d1, 1), "as firmware would set it");
    }

    private long ioApic(int register) {
        context.mmioWrite(0xfec0_0000L, 4, register);
        return context.mmioRead(0xfec0_0010L, 4);
    }

    /** The SCI is level-triggered in the edge/level register: the 8259s follow the input without an edge. */
    @Test
    void edgeLevelRegisterReachesTheEmulatedControllers() {
        CpuVmFeatures bare = new CpuVmFeatures(false, false, false, false);
        context.machine().cpuFeatures(bare).vcpu(new FakeVcpu(0, context.clock()));
        boot(false, bare);
        var line = context.irqLine(9);

        line.raise();
        context.pioWrite(0xa0, 1, 0x0a);
        assertEquals(2, context.pioRead(0xa0, 1) & 2);
        line.lower();

        assertEquals(0, context.pioRead(0xa0, 1) & 2);
    }
}
