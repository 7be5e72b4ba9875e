package org.benchtop.pc.chipset;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.pc.common.ConfigRegisters;
import org.benchtop.pc.common.DeviceEntry;
import org.benchtop.pc.common.LegacyInterrupts;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.pc.common.ResetControl;
import org.benchtop.pc.common.SavedStates;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.bus.PioDevice;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.device.MachineControl;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.spi.pci.PciBus;
import org.benchtop.spi.pci.PciConfigHook;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.spi.pci.PciFunctionSpec;
import org.benchtop.spi.state.SavedState;

/**
 * The PIIX3 ISA bridge at 00:01.0: routes PCI interrupt pins to ISA interrupts, resets the machine, keeps the
 * edge/level register.
 *
 * <p>A machine without firmware comes out of reset with the routes that firmware would set: PIRQA and B to 10, C and D
 * to 11.
 */
public final class Piix3 implements Device, ResetControl {
    private static final int PIRQS = 4;
    private static final int ROUTE_DISABLED = 0x80;
    private static final int ROUTE_MASK = 0x8f;
    /** ISA interrupts that a PIRQ may be routed to; the other values are reserved. */
    private static final int ROUTABLE = 0xdef8;

    private static final int[] FIRMWARE_ROUTES = {10, 10, 11, 11};
    private static final int FIRMWARE_ELCR = 1 << 9 | 1 << 10 | 1 << 11;
    private static final int ELCR_PORT = 0x4d0;
    private static final int ELCR_WRITABLE = ROUTABLE;
    private static final int RESET_CPU = 0x04;
    private static final int RESET_KEPT = 0x02;

    private final Object lock = new Object();
    private volatile int routes;
    private int resetControl;
    private int elcr;
    private Optional<Attached> attached = Optional.empty();

    private record Attached(
            PciBus bus,
            PciFunction function,
            RegisterMap<Piix3Register> table,
            MachineControl machine,
            Optional<LegacyInterrupts> controllers) {}

    private Piix3(NoOptions options, CreateContext context) {}

    /** The type {@code piix3}. */
    public static DeviceType<NoOptions> type() {
        return new DeviceEntry<>(
                "piix3", "Intel PIIX3 ISA bridge: interrupt routing and reset", NoOptions.class, Piix3::new);
    }

    /** The PIRQ (0 to 3) that a device's pin (0 to 3) is wired to. */
    public static int pirq(int device, int pin) {
        return device - 1 + pin & PIRQS - 1;
    }

    @Override
    public void attach(DeviceContext context) {
        PciBus bus = context.pci();
        PciFunction function = bus.add(new PciFunctionSpec(0x8086, 0x7000)
                .classCode(0x060100)
                .subsystem(0x1af4, 0x1100)
                .address(new PciAddress(1, 0))
                .multifunction(true)
                .hook(new Hook()));
        function.writable(Piix3Register.IORT.offset(), 1, 0xff);
        function.writable(Piix3Register.XBCS.offset(), 2, 0xffff);
        function.writable(Piix3Register.TOM.offset(), 1, 0xfe);
        for (int i = 0; i < PIRQS; i++) {
            function.writable(Piix3Register.PIRQRCA.offset() + i, 1, ROUTE_MASK);
        }
        attached = Optional.of(new Attached(
                bus,
                function,
                ConfigRegisters.table("82371SB ISA bridge", Piix3Register.class, function),
                context.machine(),
                context.services().find(LegacyInterrupts.class)));
        readRoutes();
        context.pio(ELCR_PORT, 2, new Elcr());
        context.services().provide(ResetControl.class, this);
        bus.intxRouter(this::route);
    }

    private int route(int device, int pin) {
        int register = routes >>> 8 * pirq(device, pin) & 0xff;
        boolean routed = (register & ROUTE_DISABLED) == 0 && (ROUTABLE >>> (register & 0x0f) & 1) != 0;
        return routed ? register & 0x0f : -1;
    }

    private final class Hook implements PciConfigHook {
        @Override
        public void afterWrite(int offset, int size, long value) {
            int first = Piix3Register.PIRQRCA.offset();
            if (offset < first + PIRQS && offset + size > first) {
                readRoutes();
                attached.ifPresent(a -> a.bus.intxRoutesChanged());
            }
        }
    }

    private void readRoutes() {
        routes = attached.map(a -> (int) a.function.config(Piix3Register.PIRQRCA.offset(), PIRQS))
                .orElse(0);
    }

    private final class Elcr implements PioDevice {
        @Override
        public long read(long offset, int size) {
            synchronized (lock) {
                return elcr >>> 8 * (int) offset;
            }
        }

        @Override
        public void write(long offset, int size, long value) {
            synchronized (lock) {
                int shift = 8 * (int) offset;
                int mask = (size >= 2 ? 0xffff : 0xff) << shift & ELCR_WRITABLE;
                elcr = elcr & ~mask | (int) value << shift & mask;
            }
            tellControllers();
        }
    }

    /** Emulated interrupt controllers follow the edge/level register; those of a CPU engine have one of their own. */
    private void tellControllers() {
        int now;
        synchronized (lock) {
            now = elcr;
        }
        attached.flatMap(Attached::controllers).ifPresent(controllers -> controllers.edgeLevel(now));
    }

    @Override
    public int resetControl() {
        synchronized (lock) {
            return resetControl;
        }
    }

    @Override
    public void resetControl(int value) {
        boolean reset;
        synchronized (lock) {
            reset = (value & RESET_CPU) != 0 && (resetControl & RESET_CPU) == 0;
            resetControl = value & (RESET_CPU | RESET_KEPT);
        }
        if (reset) {
            attached.ifPresent(a -> a.machine.requestReset());
        }
    }

    @Override
    public void reset() {
        boolean firmware = attached.map(a -> a.machine.firmware()).orElse(true);
        synchronized (lock) {
            resetControl = 0;
            elcr = firmware ? 0 : FIRMWARE_ELCR;
        }
        tellControllers();
        attached.ifPresent(a -> {
            a.function.reset();
            // An ISA bridge always decodes: I/O, memory and bus mastering are hard-wired on.
            a.function.config(4, 2, 0x0007);
            ConfigRegisters.reset(a.table, a.function);
            for (int i = 0; !firmware && i < PIRQS; i++) {
                a.function.config(Piix3Register.PIRQRCA.offset() + i, 1, FIRMWARE_ROUTES[i]);
            }
        });
        readRoutes();
        attached.ifPresent(a -> a.bus.intxRoutesChanged());
    }

    @Override
    public void pause() {}

    @Override
    public void resume() {}

    /**
     * Saved state.
     *
     * @param resetControl port 0xCF9
     * @param elcr ports 0x4D0 and 0x4D1
     * @param function configuration space
     */
    record State(int resetControl, int elcr, SavedState function) {}

    @Override
    public SavedState saveState() {
        SavedState function = attached.map(a -> a.function.saveState()).orElse(SavedState.EMPTY);
        synchronized (lock) {
            return new SavedState(1, new State(resetControl, elcr, function));
        }
    }

    @Override
    public void restoreState(SavedState state) {
        State content = SavedStates.content(state, State.class, "piix3");
        synchronized (lock) {
            resetControl = content.resetControl & (RESET_CPU | RESET_KEPT);
            elcr = content.elcr & ELCR_WRITABLE;
        }
        tellControllers();
        attached.ifPresent(a -> a.function.restoreState(content.function));
        readRoutes();
        attached.ifPresent(a -> a.bus.intxRoutesChanged());
    }

    @Override
    public List<RegisterMap<?>> registers() {
        return attached.<List<RegisterMap<?>>>map(a -> List.of(a.table)).orElse(List.of());
    }

    @Override
    public Map<String, Object> inspect() {
        List<String> shown = new ArrayList<>();
        for (int i = 0; i < PIRQS; i++) {
            int register = routes >>> 8 * i & 0xff;
            shown.add("PIRQ" + (char) ('A' + i) + " -> "
                    + ((register & ROUTE_DISABLED) != 0 ? "off" : "IRQ " + (register & 0x0f)));
        }
        synchronized (lock) {
            return Map.of("routes", shown, "elcr", "0x" + Integer.toHexString(elcr));
        }
    }

    @Override
    public void close() {
        attached.ifPresent(a -> a.function.close());
        attached = Optional.empty();
    }
}
