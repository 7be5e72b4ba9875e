package org.benchtop.pc;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.benchtop.spi.device.MachineType;

/**
 * The board {@code pc}: an Intel 440FX with PIIX3, as most guests and firmwares know it.
 *
 * <p>Interrupt controllers and timer are the CPU engine's own where it has them, and emulated otherwise.
 *
 * <p>The order matters: services come before their users, and the ISA bridge's routes before anything that raises an
 * interrupt pin.
 */
final class PcMachine implements MachineType {
    private static final long MEMORY_HOLE_BASE = 0xc000_0000L;

    @Override
    public String name() {
        return "pc";
    }

    @Override
    public String summary() {
        return "PC with Intel 440FX host bridge, PIIX3 and ACPI";
    }

    @Override
    public long memoryHoleBase() {
        return MEMORY_HOLE_BASE;
    }

    @Override
    public List<PlatformDevice> platformDevices(Request request) {
        List<PlatformDevice> devices = new ArrayList<>();
        if (!request.cpuFeatures().irqChip()) {
            devices.addAll(List.of(device("i8259"), device("local-apic"), device("ioapic")));
        }
        if (!request.cpuFeatures().pit()) {
            devices.add(device("i8254"));
        }
        devices.addAll(List.of(
                device("fw-cfg"),
                device("acpi-tables"),
                device("i440fx"),
                device("piix3"),
                device("piix4-pm"),
                device("rtc"),
                device("i8042"),
                device("post-port"),
                device("debugcon"),
                device("debug-exit")));
        return devices;
    }

    private static PlatformDevice device(String type) {
        return new PlatformDevice(type, type, Map.of());
    }
}
