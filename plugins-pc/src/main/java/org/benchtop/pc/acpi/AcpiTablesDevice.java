package org.benchtop.pc.acpi;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.pc.chipset.I440Fx;
import org.benchtop.pc.common.AcpiNamespace;
import org.benchtop.pc.common.DeviceEntry;
import org.benchtop.pc.common.IsaDescription;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.device.Acpi;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.device.FwCfg;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.state.SavedState;

/**
 * Brings the ACPI tables into the guest: at each reset into RAM below 1 MiB, or through the configuration device where
 * firmware places them.
 */
public final class AcpiTablesDevice implements Device, Acpi, AcpiNamespace {
    private static final long BASE = 0xe0000;
    private static final long END = 0x100000;

    private final List<IsaDescription> descriptions = new ArrayList<>();
    private Optional<DeviceContext> context = Optional.empty();

    private AcpiTablesDevice(NoOptions options, CreateContext context) {}

    /** The type {@code acpi-tables}. */
    public static DeviceType<NoOptions> type() {
        return new DeviceEntry<>(
                "acpi-tables",
                "ACPI tables that describe the board to the guest",
                NoOptions.class,
                AcpiTablesDevice::new);
    }

    @Override
    public void attach(DeviceContext deviceContext) {
        context = Optional.of(deviceContext);
        deviceContext.services().provide(AcpiNamespace.class, this);
        if (!deviceContext.machine().firmware()) {
            deviceContext.services().provide(Acpi.class, this);
        }
        deviceContext.services().find(FwCfg.class).ifPresent(fwCfg -> {
            fwCfg.addFile(TableLoader.TABLES_FILE, () -> tables(deviceContext).block());
            fwCfg.addFile(TableLoader.RSDP_FILE, () -> tables(deviceContext).rsdp());
            fwCfg.addFile(TableLoader.SCRIPT_FILE, () -> TableLoader.script(tables(deviceContext)));
        });
    }

    @Override
    public void add(IsaDescription description) {
        synchronized (descriptions) {
            descriptions.add(description);
        }
    }

    @Override
    public void remove(IsaDescription description) {
        synchronized (descriptions) {
            descriptions.remove(description);
        }
    }

    private AcpiTables tables(DeviceContext of) {
        List<IsaDescription> devices;
        synchronized (descriptions) {
            devices = List.copyOf(descriptions);
        }
        return new AcpiTables(
                new AcpiBoard(of.machine().cpus(), I440Fx.windows(of.memory().regions()), devices));
    }

    @Override
    public long rsdpGpa() {
        return BASE;
    }

    @Override
    public void reset() {
        if (context.isEmpty() || context.get().machine().firmware()) {
            return;
        }
        byte[] bytes = tables(context.get()).placeAt(BASE);
        if (BASE + bytes.length > END) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    "the ACPI tables of " + context.get().machine().cpus() + " vCPUs take " + bytes.length
                            + " bytes, but there is room for " + (END - BASE));
        }
        try {
            context.get().memory().write(BASE, bytes, 0, bytes.length);
        } catch (GuestFault e) {
            throw BenchtopException.of(
                    ErrorKind.CONFIG,
                    "the ACPI tables need RAM at 0xe0000: give the machine at least 1 MiB of memory",
                    e);
        }
    }

    @Override
    public void pause() {}

    @Override
    public void resume() {}

    @Override
    public SavedState saveState() {
        return SavedState.EMPTY;
    }

    @Override
    public void restoreState(SavedState state) {}

    @Override
    public Map<String, Object> inspect() {
        synchronized (descriptions) {
            return Map.of("rsdp", "0x" + Long.toHexString(BASE), "devices", List.copyOf(descriptions));
        }
    }

    @Override
    public void close() {}
}
