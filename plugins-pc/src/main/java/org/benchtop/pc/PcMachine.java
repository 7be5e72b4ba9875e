package org.benchtop.pc;

import java.util.List;
import java.util.Map;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.device.MachineType;

/**
 * The board {@code pc}: an Intel 440FX with PIIX3, as most guests and firmwares know it.
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
        if (!request.cpuFeatures().irqChip() || !request.cpuFeatures().pit()) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    "machine pc: this CPU engine has no "
                            + (request.cpuFeatures().irqChip() ? "timer (8254)" : "interrupt controllers")
                            + " of its own, and the board does not emulate them yet; use accel: kvm");
        }
        return List.of(
                device("fw-cfg"),
                device("acpi-tables"),
                device("i440fx"),
                device("piix3"),
                device("piix4-pm"),
                device("rtc"),
                device("i8042"),
                device("post-port"),
                device("debugcon"),
                device("debug-exit"));
    }

    private static PlatformDevice device(String type) {
        return new PlatformDevice(type, type, Map.of());
    }
}
