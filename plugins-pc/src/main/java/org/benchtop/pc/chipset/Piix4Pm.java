package org.benchtop.pc.chipset;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.pc.common.ConfigRegisters;
import org.benchtop.pc.common.DeviceEntry;
import org.benchtop.pc.common.IrqOutput;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.pc.common.SavedStates;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.bus.BusRange;
import org.benchtop.spi.bus.PioDevice;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.device.MachineControl;
import org.benchtop.spi.device.PowerButton;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.spi.pci.PciConfigHook;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.spi.pci.PciFunctionSpec;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.time.Clock;

/**
 * PIIX4 power management at 00:01.3: the ACPI fixed hardware behind movable ports, the SCI, and the SMI command port.
 *
 * <p>There is no system management mode. Commands that an SMI handler would serve (ACPI on and off) are served here, and
 * the function says that SMIs are set up already, so that firmware does not wait for one.
 */
public final class Piix4Pm implements Device, PowerButton {
    /** Where the ports lie in a machine without firmware; SeaBIOS moves them to the same place. */
    public static final int DEFAULT_BASE = 0x600;
    /** The interrupt of power management events. */
    public static final int SCI_IRQ = 9;
    /** The SMI command port. */
    public static final int SMI_COMMAND_PORT = 0xb2;
    /** SMI command: ACPI mode on. */
    public static final int ACPI_ENABLE = 0xf1;
    /** SMI command: ACPI mode off. */
    public static final int ACPI_DISABLE = 0xf0;

    private static final int PORTS = 64;
    private static final int PMBA_WRITABLE = 0xffc0;
    private static final int PMIOSE = 0x01;

    private final Object lock = new Object();
    private final AcpiPm pm = new AcpiPm();
    private final System.Logger logger;
    private final Counter interrupts;
    private int smiCommand;
    private int smiStatus;
    private Optional<Attached> attached = Optional.empty();

    private record Attached(
            PciFunction function,
            RegisterMap<PmConfigRegister> table,
            BusRange ports,
            IrqOutput sci,
            Timer timer,
            Clock clock,
            MachineControl machine) {}

    private Piix4Pm(NoOptions options, CreateContext context) {
        logger = context.logger();
        interrupts = context.stats().counter("interrupts");
    }

    /** The type {@code piix4-pm}. */
    public static DeviceType<NoOptions> type() {
        return new DeviceEntry<>(
                "piix4-pm",
                "PIIX4 ACPI power management: power off, power button, timer",
                NoOptions.class,
                Piix4Pm::new);
    }

    @Override
    public void attach(DeviceContext context) {
        PciFunction function = context.pci()
                .add(new PciFunctionSpec(0x8086, 0x7113)
                        .revision(3)
                        .classCode(0x068000)
                        .subsystem(0x1af4, 0x1100)
                        .interruptPin(1)
                        .address(new PciAddress(1, 3))
                        .hook(new Hook()));
        function.writable(PmConfigRegister.PMBA.offset(), 4, PMBA_WRITABLE);
        function.writable(PmConfigRegister.DEVACTB.offset(), 4, 0x0300_0000);
        function.writable(PmConfigRegister.PMREGMISC.offset(), 1, PMIOSE);
        function.writable(PmConfigRegister.SMBBA.offset(), 4, 0xfff0);
        function.writable(PmConfigRegister.SMBHSTCFG.offset(), 1, 0x0f);
        BusRange ports = context.pio(DEFAULT_BASE, PORTS, new Ports());
        ports.enable(false);
        attached = Optional.of(new Attached(
                function,
                ConfigRegisters.table("82371AB power management", PmConfigRegister.class, function),
                ports,
                new IrqOutput(context.irqLine(SCI_IRQ)),
                context.timer(this::timerExpired),
                context.clock(),
                context.machine()));
        context.pio(SMI_COMMAND_PORT, 2, new SmiPorts());
        context.services().provide(PowerButton.class, this);
    }

    private final class Hook implements PciConfigHook {
        @Override
        public void afterWrite(int offset, int size, long value) {
            placePorts();
        }
    }

    /** Ports follow the base register; a place that is taken by another device hides them, as a guest's mistake. */
    private void placePorts() {
        if (attached.isEmpty()) {
            return;
        }
        PciFunction function = attached.get().function;
        BusRange ports = attached.get().ports;
        int base = (int) function.config(PmConfigRegister.PMBA.offset(), 4) & PMBA_WRITABLE;
        boolean wanted = (function.config(PmConfigRegister.PMREGMISC.offset(), 1) & PMIOSE) != 0 && base != 0;
        try {
            if (!wanted) {
                ports.enable(false);
                return;
            }
            if (ports.base() != base) {
                ports.enable(false);
                ports.move(base);
            }
            ports.enable(true);
        } catch (BenchtopException e) {
            logger.log(System.Logger.Level.WARNING, "power management ports stay hidden: {0}", e.getMessage());
        }
    }

    private final class Ports implements PioDevice {
        @Override
        public long read(long offset, int size) {
            synchronized (lock) {
                return pm.read(offset, size, now());
            }
        }

        @Override
        public void write(long offset, int size, long value) {
            AcpiPm.Request request;
            synchronized (lock) {
                pm.write(offset, size, value, now());
                request = pm.takeRequest();
            }
            update();
            if (request == AcpiPm.Request.POWER_OFF) {
                attached.ifPresent(a -> a.machine.requestPowerOff());
            }
        }
    }

    private final class SmiPorts implements PioDevice {
        @Override
        public long read(long offset, int size) {
            synchronized (lock) {
                return (smiCommand | smiStatus << 8) >>> 8 * (int) offset;
            }
        }

        @Override
        public void write(long offset, int size, long value) {
            synchronized (lock) {
                if (offset == 1 || size >= 2) {
                    smiStatus = (int) (offset == 1 ? value : value >> 8) & 0xff;
                }
                if (offset == 0) {
                    smiCommand = (int) value & 0xff;
                    if (smiCommand == ACPI_ENABLE) {
                        pm.acpiMode(true);
                    } else if (smiCommand == ACPI_DISABLE) {
                        pm.acpiMode(false);
                    }
                }
            }
            update();
        }
    }

    private long now() {
        return attached.isPresent() ? attached.get().clock.nanoTime() : 0;
    }

    private void timerExpired() {
        synchronized (lock) {
            pm.catchUp(now());
        }
        update();
    }

    /** Brings the interrupt and the timer in line with the registers. */
    private void update() {
        if (attached.isEmpty()) {
            return;
        }
        Attached a = attached.get();
        long next;
        boolean changed;
        synchronized (lock) {
            next = pm.nextEventNanos();
            changed = a.sci.want(pm.sci());
        }
        if (next == Long.MAX_VALUE) {
            a.timer.cancel();
        } else {
            a.timer.armAt(next);
        }
        if (changed) {
            if (a.sci.level()) {
                interrupts.increment();
            }
            a.sci.publish();
        }
    }

    @Override
    public void press() {
        synchronized (lock) {
            pm.catchUp(now());
            pm.pressPowerButton();
        }
        update();
    }

    @Override
    public void reset() {
        synchronized (lock) {
            pm.reset(now());
            smiCommand = 0;
            smiStatus = 0;
        }
        attached.ifPresent(a -> {
            a.function.reset();
            a.function.config(4, 2, 0x0001);
            a.function.config(0x3c, 1, SCI_IRQ);
            ConfigRegisters.reset(a.table, a.function);
            if (!a.machine.firmware()) {
                a.function.config(PmConfigRegister.PMBA.offset(), 4, DEFAULT_BASE | 1);
                a.function.config(PmConfigRegister.PMREGMISC.offset(), 1, PMIOSE);
            }
        });
        placePorts();
        update();
    }

    @Override
    public void pause() {}

    @Override
    public void resume() {}

    /**
     * Saved state.
     *
     * @param pm the ports
     * @param smiCommand port 0xB2
     * @param smiStatus port 0xB3
     * @param function configuration space
     */
    record State(AcpiPm.State pm, int smiCommand, int smiStatus, SavedState function) {}

    @Override
    public SavedState saveState() {
        SavedState function = attached.map(a -> a.function.saveState()).orElse(SavedState.EMPTY);
        synchronized (lock) {
            pm.catchUp(now());
            return new SavedState(1, new State(pm.save(), smiCommand, smiStatus, function));
        }
    }

    @Override
    public void restoreState(SavedState state) {
        State content = SavedStates.content(state, State.class, "piix4-pm");
        synchronized (lock) {
            pm.restore(content.pm, now());
            smiCommand = content.smiCommand & 0xff;
            smiStatus = content.smiStatus & 0xff;
        }
        attached.ifPresent(a -> a.function.restoreState(content.function));
        placePorts();
        update();
    }

    @Override
    public List<RegisterMap<?>> registers() {
        return attached.<List<RegisterMap<?>>>map(a -> List.of(pm.registers(), a.table))
                .orElse(List.of(pm.registers()));
    }

    @Override
    public Map<String, Object> inspect() {
        synchronized (lock) {
            pm.catchUp(now());
            return Map.of("pm", pm.save(), "sci", pm.sci());
        }
    }

    @Override
    public void close() {
        attached.ifPresent(a -> {
            a.timer.close();
            a.function.close();
            if (a.sci.want(false)) {
                a.sci.publish();
            }
        });
        attached = Optional.empty();
    }
}
