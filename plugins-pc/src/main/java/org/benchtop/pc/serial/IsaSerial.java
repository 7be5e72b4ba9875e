package org.benchtop.pc.serial;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.pc.common.AcpiNamespace;
import org.benchtop.pc.common.DeviceEntry;
import org.benchtop.pc.common.IrqOutput;
import org.benchtop.pc.common.IsaDescription;
import org.benchtop.pc.common.SavedStates;
import org.benchtop.spi.bus.PioDevice;
import org.benchtop.spi.chardev.Chardev;
import org.benchtop.spi.chardev.ChardevEvent;
import org.benchtop.spi.chardev.ChardevFrontend;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.irq.IrqLine;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.time.Clock;

/**
 * Plugs a {@link Uart16550} into ports, an interrupt and a chardev.
 *
 * <p>Output leaves on the vCPU's thread within the register write. When the chardev takes no more, the character stays
 * in the shift register and the FIFO fills up behind it, so the guest sees the transmitter busy: nothing is lost and no
 * vCPU waits. Writes by a guest that ignores the busy bit are lost as on hardware and counted as {@code tx-overruns}.
 */
public final class IsaSerial implements Device {
    private static final IrqLine NOWHERE = asserted -> {};

    private final IsaSerialOptions options;
    private final Object lock = new Object();
    private final Uart16550 uart = new Uart16550();

    private Optional<Chardev> chardev = Optional.empty();
    private Optional<AcpiNamespace> namespace = Optional.empty();
    private Optional<Timer> timer = Optional.empty();
    private Optional<Clock> clock = Optional.empty();
    private IrqOutput irq = new IrqOutput(NOWHERE);

    private boolean draining;
    private boolean drainAgain;
    private boolean paused;
    private boolean inputHeld;
    private boolean connected;
    private boolean timerArmed;
    private long receiveActivityNanos;

    private final Counter sentBytes;
    private final Counter receivedBytes;
    private final Counter interrupts;
    private final Counter stalls;

    private IsaSerial(IsaSerialOptions options, org.benchtop.spi.CreateContext context) {
        this.options = options;
        sentBytes = context.stats().counter("tx-bytes", "B");
        receivedBytes = context.stats().counter("rx-bytes", "B");
        interrupts = context.stats().counter("interrupts");
        stalls = context.stats().counter("tx-stalls");
        context.stats().gauge("tx-overruns", "", () -> {
            synchronized (lock) {
                return uart.overruns();
            }
        });
    }

    /** The type {@code isa-serial}. */
    public static DeviceType<IsaSerialOptions> type() {
        return new DeviceEntry<>(
                "isa-serial", "16550A serial port on the ISA bus", IsaSerialOptions.class, IsaSerial::new);
    }

    @Override
    public void attach(DeviceContext context) {
        irq = new IrqOutput(context.irqLine(options.interrupt()));
        clock = Optional.of(context.clock());
        timer = Optional.of(context.timer(this::timerExpired));
        context.pio(options.port(), 8, new Ports());
        namespace = context.services().find(AcpiNamespace.class);
        namespace.ifPresent(acpi -> acpi.add(description()));
        synchronized (lock) {
            uart.modemInputs(modemInputs());
        }
        if (options.chardev().isPresent()) {
            Chardev line = context.chardev(options.chardev().get());
            chardev = Optional.of(line);
            line.connect(new Frontend(), context.eventLoop());
        }
    }

    private IsaDescription description() {
        return new IsaDescription(
                "COM" + options.index(),
                "PNP0501",
                options.index(),
                List.of(new IsaDescription.Ports(options.port(), 8)),
                options.interrupt());
    }

    private int modemInputs() {
        boolean carrier = options.carrier() == IsaSerialOptions.Carrier.ALWAYS || connected;
        return Uart16550.MSR_CTS | Uart16550.MSR_DSR | (carrier ? Uart16550.MSR_DCD : 0);
    }

    private final class Ports implements PioDevice {
        @Override
        public long read(long offset, int size) {
            long value;
            boolean changed;
            boolean deliver;
            synchronized (lock) {
                int before = uart.receivable();
                value = uart.read(offset, size);
                deliver = noteReceiveActivity(before);
                changed = irq.want(uart.interrupt());
            }
            finish(changed, deliver);
            return value;
        }

        @Override
        public void write(long offset, int size, long value) {
            boolean changed;
            boolean deliver;
            boolean send;
            boolean gap = false;
            synchronized (lock) {
                int before = uart.receivable();
                uart.write(offset, size, value);
                deliver = noteReceiveActivity(before);
                send = uart.nextToTransmit() >= 0 && claimDrain();
                changed = !send && irq.want(uart.interrupt());
                if (!send) {
                    gap = uart.takeInterruptGap() && irq.level();
                }
            }
            if (send) {
                drain();
            } else if (gap) {
                irq.publishAfterGap();
                interrupts.increment();
            }
            finish(changed, deliver);
        }
    }

    /** Called under the lock when the guest may have read or the line settings may have changed. */
    private boolean noteReceiveActivity(int receivableBefore) {
        if (uart.receivable() != receivableBefore) {
            receiveActivityNanos = now();
        }
        armTimeout();
        boolean deliver = inputHeld && uart.receivable() > 0;
        if (deliver) {
            inputHeld = false;
        }
        return deliver;
    }

    private void armTimeout() {
        if (!timerArmed && uart.awaitsTimeout()) {
            timerArmed = true;
            timer.ifPresent(t -> t.armAt(receiveActivityNanos + uart.timeoutNanos()));
        }
    }

    private long now() {
        return clock.isPresent() ? clock.get().nanoTime() : 0;
    }

    private void timerExpired() {
        boolean changed;
        synchronized (lock) {
            timerArmed = false;
            if (uart.awaitsTimeout()) {
                if (now() - receiveActivityNanos >= uart.timeoutNanos()) {
                    uart.characterTimeout();
                } else {
                    armTimeout();
                }
            }
            changed = irq.want(uart.interrupt());
        }
        finish(changed, false);
    }

    private void finish(boolean irqChanged, boolean deliver) {
        if (irqChanged) {
            if (irq.level()) {
                interrupts.increment();
            }
            irq.publish();
        }
        if (deliver) {
            chardev.ifPresent(Chardev::resumeInput);
        }
    }

    /** Called under the lock: whether the caller is to move output now. */
    private boolean claimDrain() {
        if (draining) {
            drainAgain = true;
            return false;
        }
        if (paused) {
            return false;
        }
        draining = true;
        return true;
    }

    /** Moves output until there is none or the chardev is full; one thread at a time, without the lock outward. */
    private void drain() {
        boolean changed;
        boolean gap;
        while (true) {
            int next;
            synchronized (lock) {
                next = paused ? -1 : uart.nextToTransmit();
                if (next < 0) {
                    draining = false;
                    drainAgain = false;
                    changed = irq.want(uart.interrupt());
                    gap = uart.takeInterruptGap() && irq.level();
                    lock.notifyAll();
                    break;
                }
            }
            boolean taken = chardev.isEmpty() || chardev.get().write((byte) next);
            synchronized (lock) {
                if (taken) {
                    uart.transmitted();
                } else if (drainAgain) {
                    drainAgain = false;
                } else {
                    draining = false;
                    changed = irq.want(uart.interrupt());
                    gap = uart.takeInterruptGap() && irq.level();
                    lock.notifyAll();
                    stalls.increment();
                    break;
                }
            }
            if (taken) {
                sentBytes.increment();
            }
        }
        if (gap) {
            irq.publishAfterGap();
            interrupts.increment();
        } else {
            finish(changed, false);
        }
    }

    private final class Frontend implements ChardevFrontend {
        @Override
        public int receivable() {
            synchronized (lock) {
                int room = paused ? 0 : uart.receivable();
                if (room <= 0) {
                    inputHeld = true;
                    return 0;
                }
                return room;
            }
        }

        @Override
        public void receive(byte[] buffer, int offset, int lengthBytes) {
            boolean changed;
            synchronized (lock) {
                for (int i = 0; i < lengthBytes; i++) {
                    uart.receive(buffer[offset + i]);
                }
                receiveActivityNanos = now();
                armTimeout();
                changed = irq.want(uart.interrupt());
            }
            receivedBytes.add(lengthBytes);
            finish(changed, false);
        }

        @Override
        public void writable() {
            synchronized (lock) {
                if (uart.nextToTransmit() < 0 || !claimDrain()) {
                    return;
                }
            }
            drain();
        }

        @Override
        public void event(ChardevEvent event) {
            boolean changed;
            synchronized (lock) {
                switch (event) {
                    case OPENED -> connected = true;
                    case CLOSED -> connected = false;
                    case BREAK -> uart.receiveBreak();
                }
                uart.modemInputs(modemInputs());
                changed = irq.want(uart.interrupt());
            }
            finish(changed, false);
        }
    }

    @Override
    public void reset() {
        boolean changed;
        synchronized (lock) {
            uart.reset();
            changed = irq.want(uart.interrupt());
            inputHeld = false;
        }
        finish(changed, true);
    }

    @Override
    public void pause() {
        synchronized (lock) {
            paused = true;
            awaitDrain();
        }
    }

    private void awaitDrain() {
        boolean interrupted = false;
        while (draining) {
            try {
                lock.wait();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void resume() {
        boolean send;
        synchronized (lock) {
            paused = false;
            inputHeld = false;
            send = uart.nextToTransmit() >= 0 && claimDrain();
            armTimeout();
        }
        if (send) {
            drain();
        }
        chardev.ifPresent(Chardev::resumeInput);
    }

    @Override
    public SavedState saveState() {
        synchronized (lock) {
            return new SavedState(1, uart.save());
        }
    }

    @Override
    public void restoreState(SavedState state) {
        Uart16550.State content = SavedStates.content(state, Uart16550.State.class, "isa-serial");
        boolean changed;
        synchronized (lock) {
            uart.restore(content);
            uart.modemInputs(modemInputs());
            receiveActivityNanos = now();
            changed = irq.want(uart.interrupt());
        }
        finish(changed, false);
    }

    @Override
    public List<RegisterMap<?>> registers() {
        return uart.registers();
    }

    @Override
    public Map<String, Object> inspect() {
        synchronized (lock) {
            return Map.of(
                    "port", "0x" + Integer.toHexString(options.port()),
                    "irq", options.interrupt(),
                    "line", chardev.map(Chardev::describe).orElse("none"),
                    "baud", uart.baud(),
                    "received", uart.waitingInput(),
                    "to-transmit", uart.waitingOutput(),
                    "interrupt", uart.interrupt());
        }
    }

    @Override
    public void close() {
        chardev.ifPresent(Chardev::disconnect);
        timer.ifPresent(Timer::close);
        namespace.ifPresent(acpi -> acpi.remove(description()));
        if (irq.want(false)) {
            irq.publish();
        }
    }
}
