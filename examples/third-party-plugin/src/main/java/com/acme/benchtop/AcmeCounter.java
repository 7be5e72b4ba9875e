package com.acme.benchtop;

import java.util.List;
import java.util.Map;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.pci.Bar;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.spi.pci.PciFunctionSpec;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.stats.Counter;

/**
 * The device: counts, interrupts at a limit, writes the count to guest memory when its doorbell rings.
 *
 * <p>Registers are read and written on vCPU threads, the timer and the doorbell run on the machine's loop. One lock
 * guards the state; it is free whenever something outside the device is called.
 */
final class AcmeCounter implements Device, RegisterMap.Handler<AcmeRegister> {
    private static final int VENDOR = 0xacce;
    private static final int DEVICE = 0x0001;
    private static final int BAR_BYTES = 0x1000;
    private static final int MSIX_TABLE = 0x800;
    private static final int MSIX_PENDING = 0xc00;

    private static final int RUN = 1;
    private static final int INTERRUPTS = 2;
    private static final int LIMIT_REACHED = 1;
    private static final int WRITTEN = 2;
    private static final int FAULT = 4;
    private static final long MIN_PERIOD_NANOS = 10_000;

    private final Object lock = new Object();
    private final RegisterMap<AcmeRegister> registers = new RegisterMap<>("counter", AcmeRegister.class, this);
    private final AcmeCounterOptions options;

    // Set by attach; a device that was never attached has nothing to close.
    private DeviceContext context;
    private PciFunction pci;
    private Timer timer;
    private Doorbell doorbell;
    private Counter ticks;
    private Counter snapshots;

    private int control;
    private int periodMicros;
    private int status;
    private long count;
    private long limit;
    private long target;
    private long nextTickNanos;
    private boolean paused;
    private boolean closed;

    AcmeCounter(AcmeCounterOptions options) {
        this.options = options;
    }

    @Override
    public void attach(DeviceContext newContext) {
        context = newContext;
        ticks = newContext.stats().counter("ticks");
        snapshots = newContext.stats().counter("snapshots");
        timer = newContext.timer(this::tick);
        doorbell = newContext.eventLoop().doorbell(newContext.id(), this::writeCount);
        pci = newContext
                .pci()
                .add(new PciFunctionSpec(VENDOR, DEVICE)
                        .classCode(0xff0000)
                        .interruptPin(1)
                        .address(options.address())
                        .bar(Bar.memory32(0, BAR_BYTES, registers))
                        .msix(1, 0, MSIX_TABLE, MSIX_PENDING));
        // The write need not stop the vCPU: KVM wakes the loop by itself.
        pci.ioEvent(0, AcmeRegister.DOORBELL.offset(), IoEventMatch.anyValue(4), doorbell);
    }

    @Override
    public long read(AcmeRegister register) {
        return peek(register);
    }

    @Override
    public long peek(AcmeRegister register) {
        synchronized (lock) {
            return switch (register) {
                case ID -> AcmeRegister.ID.resetValue();
                case CONTROL -> control;
                case PERIOD -> periodMicros;
                case STATUS -> status;
                case COUNT -> count;
                case LIMIT -> limit;
                case TARGET -> target;
                case DOORBELL -> 0;
            };
        }
    }

    @Override
    public void write(AcmeRegister register, long value) {
        synchronized (lock) {
            if (closed) {
                return;
            }
            switch (register) {
                case CONTROL -> {
                    boolean ran = (control & RUN) != 0;
                    control = (int) value & (RUN | INTERRUPTS);
                    if (!ran) {
                        nextTickNanos = context.clock().nanoTime() + periodNanos();
                    }
                }
                case PERIOD -> periodMicros = (int) value;
                case STATUS -> status &= (int) ~value;
                case LIMIT -> limit = value;
                case TARGET -> target = value;
                case DOORBELL, ID, COUNT -> {}
            }
        }
        switch (register) {
            case CONTROL -> armTimer();
            case DOORBELL -> doorbell.ring();
            case STATUS, PERIOD, LIMIT, TARGET, ID, COUNT -> {}
        }
        updateInterrupt();
    }

    private long periodNanos() {
        return periodMicros == 0
                ? options.period()
                : Math.max(MIN_PERIOD_NANOS, Integer.toUnsignedLong(periodMicros) * 1000);
    }

    private void armTimer() {
        boolean runs;
        long at;
        synchronized (lock) {
            runs = (control & RUN) != 0 && !paused && !closed;
            at = nextTickNanos;
        }
        if (runs) {
            timer.armAt(at);
        } else {
            timer.cancel();
        }
    }

    /** On the loop. */
    private void tick() {
        boolean signal = false;
        synchronized (lock) {
            if ((control & RUN) == 0 || paused || closed) {
                return;
            }
            count++;
            nextTickNanos += periodNanos();
            if (limit != 0 && Long.compareUnsigned(count, limit) >= 0) {
                count = 0;
                status |= LIMIT_REACHED;
                signal = (control & INTERRUPTS) != 0;
            }
        }
        ticks.increment();
        armTimer();
        interrupt(signal);
    }

    /** On the loop. */
    private void writeCount() {
        long where;
        long what;
        synchronized (lock) {
            if (paused || closed) {
                return;
            }
            where = target;
            what = count;
        }
        boolean done = false;
        if (pci.busMaster()) {
            try {
                context.memory().writeLong(where, what);
                done = true;
            } catch (GuestFault e) {
                context.logger().log(System.Logger.Level.DEBUG, "guest gave a bad target: {0}", e.getMessage());
            }
        }
        snapshots.increment();
        boolean signal;
        synchronized (lock) {
            status |= done ? WRITTEN : FAULT;
            signal = (control & INTERRUPTS) != 0;
        }
        interrupt(signal);
    }

    /** An edge for MSI-X, a level for INTx. */
    private void interrupt(boolean signal) {
        if (signal && pci.msix().enabled()) {
            pci.msix().signal(0);
        }
        updateInterrupt();
    }

    private void updateInterrupt() {
        boolean asserted;
        synchronized (lock) {
            asserted = status != 0 && (control & INTERRUPTS) != 0 && !closed;
        }
        pci.intx().set(asserted);
    }

    @Override
    public void reset() {
        context.eventLoop().call(() -> {
            synchronized (lock) {
                control = 0;
                periodMicros = 0;
                status = 0;
                count = 0;
                limit = 0;
                target = 0;
                nextTickNanos = 0;
            }
            timer.cancel();
        });
        pci.reset();
        updateInterrupt();
    }

    @Override
    public void pause() {
        synchronized (lock) {
            paused = true;
        }
        // What the loop is doing for this device now ends before this returns.
        context.eventLoop().call(timer::cancel);
    }

    @Override
    public void resume() {
        synchronized (lock) {
            paused = false;
        }
        armTimer();
        doorbell.ring();
    }

    /** Version 1; the time to the next tick, because another machine's clock shows another time. */
    private record State(
            int control,
            int periodMicros,
            int status,
            long count,
            long limit,
            long target,
            long nanosToTick,
            SavedState pci) {}

    @Override
    public SavedState saveState() {
        SavedState function = pci.saveState();
        synchronized (lock) {
            boolean runs = (control & RUN) != 0;
            long nanosToTick = runs ? Math.max(0, nextTickNanos - context.clock().nanoTime()) : 0;
            return new SavedState(
                    1, new State(control, periodMicros, status, count, limit, target, nanosToTick, function));
        }
    }

    @Override
    public void restoreState(SavedState saved) {
        if (saved.version() != 1 || !(saved.content() instanceof State state)) {
            throw BenchtopException.config("acme-counter cannot restore state version " + saved.version());
        }
        pci.restoreState(state.pci);
        synchronized (lock) {
            control = state.control;
            periodMicros = state.periodMicros;
            status = state.status;
            count = state.count;
            limit = state.limit;
            target = state.target;
            nextTickNanos = context.clock().nanoTime() + state.nanosToTick;
        }
        armTimer();
        updateInterrupt();
    }

    @Override
    public List<RegisterMap<?>> registers() {
        return List.of(registers);
    }

    @Override
    public Map<String, Object> inspect() {
        synchronized (lock) {
            return Map.of("running", (control & RUN) != 0, "period-nanos", periodNanos());
        }
    }

    @Override
    public void close() {
        synchronized (lock) {
            if (closed) {
                return;
            }
            closed = true;
        }
        if (pci != null) {
            context.eventLoop().call(timer::close);
            doorbell.close();
            pci.close();
        }
    }
}
