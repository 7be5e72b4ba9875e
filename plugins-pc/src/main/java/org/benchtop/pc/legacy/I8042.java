package org.benchtop.pc.legacy;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.pc.common.AcpiNamespace;
import org.benchtop.pc.common.DeviceEntry;
import org.benchtop.pc.common.IrqOutput;
import org.benchtop.pc.common.IsaDescription;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.pc.common.SavedStates;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.bus.PioDevice;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.device.MachineControl;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.irq.IrqLine;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.stats.Counter;

/**
 * Plugs a {@link KeyboardController} into ports 0x60 and 0x64 and interrupts 1 and 12, with port 0x92 beside it.
 *
 * <p>Both reset the whole machine where hardware resets only the processor. The A20 gate is a bit without effect:
 * address line 20 is always on.
 */
public final class I8042 implements Device {
    private static final int DATA_PORT = 0x60;
    private static final int KEYBOARD_IRQ = 1;
    private static final int AUX_IRQ = 12;
    private static final int PORT92_RESET = 0x01;
    private static final int PORT92_A20 = 0x02;
    private static final IrqLine NOWHERE = asserted -> {};

    private final Object lock = new Object();
    private final KeyboardController controller = new KeyboardController();
    private final RegisterMap<I8042Register> map = new RegisterMap<>("8042", I8042Register.class, new Registers());
    private final Counter interrupts;
    private IrqOutput keyboardIrq = new IrqOutput(NOWHERE);
    private IrqOutput auxIrq = new IrqOutput(NOWHERE);
    private Optional<MachineControl> machine = Optional.empty();
    private boolean port92Reset;
    private boolean resetRequested;

    private I8042(NoOptions options, CreateContext context) {
        interrupts = context.stats().counter("interrupts");
    }

    /** The type {@code i8042}. */
    public static DeviceType<NoOptions> type() {
        return new DeviceEntry<>(
                "i8042", "keyboard controller (no keys) with reset and A20 ports", NoOptions.class, I8042::new);
    }

    @Override
    public void attach(DeviceContext context) {
        machine = Optional.of(context.machine());
        keyboardIrq = new IrqOutput(context.irqLine(KEYBOARD_IRQ));
        auxIrq = new IrqOutput(context.irqLine(AUX_IRQ));
        for (I8042Register register : I8042Register.values()) {
            context.pio(DATA_PORT + register.offset(), 1, new Port(register.offset()));
        }
        context.services()
                .find(AcpiNamespace.class)
                .ifPresent(acpi -> acpi.add(new IsaDescription(
                        "KBD0",
                        "PNP0303",
                        0,
                        List.of(
                                new IsaDescription.Ports(DATA_PORT, 1),
                                new IsaDescription.Ports(DATA_PORT + I8042Register.STATUS_COMMAND.offset(), 1)),
                        KEYBOARD_IRQ)));
    }

    private final class Port implements PioDevice {
        private final int base;

        Port(int base) {
            this.base = base;
        }

        @Override
        public long read(long offset, int size) {
            long value;
            synchronized (lock) {
                value = map.read(base + offset, size);
            }
            update(base == I8042Register.DATA.offset());
            return value;
        }

        @Override
        public void write(long offset, int size, long value) {
            boolean reset;
            synchronized (lock) {
                map.write(base + offset, size, value);
                reset = controller.takeResetRequest() | resetRequested;
                resetRequested = false;
            }
            update(false);
            if (reset) {
                machine.ifPresent(MachineControl::requestReset);
            }
        }
    }

    /** Each byte gives an edge of its own, so a line that stays up after a read drops for a moment. */
    private void update(boolean dataRead) {
        boolean keyboardChanged;
        boolean auxChanged;
        synchronized (lock) {
            keyboardChanged = keyboardIrq.want(controller.keyboardInterrupt());
            auxChanged = auxIrq.want(controller.auxInterrupt());
        }
        publish(keyboardIrq, keyboardChanged, dataRead);
        publish(auxIrq, auxChanged, dataRead);
    }

    private void publish(IrqOutput irq, boolean changed, boolean dataRead) {
        boolean again = dataRead && !changed && irq.level();
        if (again) {
            irq.publishAfterGap();
        } else if (changed) {
            irq.publish();
        }
        if (again || changed && irq.level()) {
            interrupts.increment();
        }
    }

    private final class Registers implements RegisterMap.Handler<I8042Register> {
        @Override
        public long read(I8042Register register) {
            return register == I8042Register.DATA ? controller.readData() : peek(register);
        }

        @Override
        public void write(I8042Register register, long value) {
            int v = (int) value;
            switch (register) {
                case DATA -> controller.writeData(v);
                case STATUS_COMMAND -> controller.writeCommand(v);
                case PORT92 -> {
                    controller.a20((v & PORT92_A20) != 0);
                    boolean reset = (v & PORT92_RESET) != 0;
                    resetRequested |= reset && !port92Reset;
                    port92Reset = reset;
                }
            }
        }

        @Override
        public long peek(I8042Register register) {
            return switch (register) {
                case DATA -> 0;
                case STATUS_COMMAND -> controller.readStatus();
                case PORT92 -> (controller.a20() ? PORT92_A20 : 0) | (port92Reset ? PORT92_RESET : 0);
            };
        }
    }

    @Override
    public void reset() {
        synchronized (lock) {
            controller.reset();
            port92Reset = false;
            resetRequested = false;
        }
        update(false);
    }

    @Override
    public void pause() {}

    @Override
    public void resume() {}

    /**
     * Saved state.
     *
     * @param controller the 8042
     * @param port92Reset the reset bit of port 0x92
     */
    record State(KeyboardController.State controller, boolean port92Reset) {}

    @Override
    public SavedState saveState() {
        synchronized (lock) {
            return new SavedState(1, new State(controller.save(), port92Reset));
        }
    }

    @Override
    public void restoreState(SavedState state) {
        State content = SavedStates.content(state, State.class, "i8042");
        synchronized (lock) {
            controller.restore(content.controller);
            port92Reset = content.port92Reset;
        }
        update(false);
    }

    @Override
    public List<RegisterMap<?>> registers() {
        return List.of(map);
    }

    @Override
    public Map<String, Object> inspect() {
        synchronized (lock) {
            return Map.of(
                    "status", "0x" + Integer.toHexString(controller.readStatus()),
                    "control", "0x" + Integer.toHexString(controller.control()),
                    "a20", controller.a20());
        }
    }

    @Override
    public void close() {
        synchronized (lock) {
            controller.reset();
        }
        update(false);
    }
}
