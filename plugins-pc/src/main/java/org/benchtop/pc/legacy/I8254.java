package org.benchtop.pc.legacy;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.pc.common.DeviceEntry;
import org.benchtop.pc.common.IrqOutput;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.pc.common.SavedStates;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.bus.PioDevice;
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
 * The 8254 at ports 0x40 to 0x43 with the system control port 0x61, for CPU engines that have none. Counter 0 is
 * interrupt 0.
 *
 * <p>Interrupts that come too late are not caught up: the guest sees one, as behind KVM without reinjection. A guest
 * cannot ask for more than {@value #MAX_INTERRUPTS_HZ} interrupts a second.
 */
public final class I8254 implements Device {
    static final long HZ = 1_193_182;
    static final long MAX_INTERRUPTS_HZ = 20_000;

    private static final int PORT = 0x40;
    private static final int SYSTEM_CONTROL_PORT = 0x61;
    private static final int COUNTERS = 3;
    private static final long SECOND = 1_000_000_000L;
    private static final int READ_BACK = 3;
    private static final int NOT_COUNT = 0x20;
    private static final int NOT_STATUS = 0x10;

    private static final int GATE2 = 0x01;
    private static final int CONTROL_WRITABLE = 0x0f;
    private static final int REFRESH = 0x10;
    private static final int OUT2 = 0x20;
    /** The refresh request toggles with every memory refresh. */
    private static final long REFRESH_NANOS = 15_085;

    private final Object lock = new Object();
    private final PitCounter[] counters = {new PitCounter(), new PitCounter(), new PitCounter()};
    private final RegisterMap<PitRegister> ports = new RegisterMap<>("8254", PitRegister.class, new PortHandler());
    private final RegisterMap<SystemControlRegister> systemControl =
            new RegisterMap<>("system control", SystemControlRegister.class, new SystemControlHandler());
    private final Counter interrupts;
    private Optional<Attached> attached = Optional.empty();
    private int control;
    private long now;
    /** When the output of counter 0 goes up next, in ticks. */
    private long nextRise = PitCounter.NEVER;

    private record Attached(Clock clock, IrqLine line, IrqOutput irq, Timer timer) {}

    private I8254(NoOptions options, CreateContext context) {
        interrupts = context.stats().counter("ticks");
    }

    /** The type {@code i8254}. */
    public static DeviceType<NoOptions> type() {
        return new DeviceEntry<>(
                "i8254", "8254 programmable interval timer and port 0x61", NoOptions.class, I8254::new);
    }

    @Override
    public void attach(DeviceContext context) {
        IrqLine line = context.irqLine(0);
        attached = Optional.of(
                new Attached(context.clock(), line, new IrqOutput(line), context.timer(this::timerExpired)));
        context.pio(PORT, COUNTERS + 1, new Ports(ports));
        context.pio(SYSTEM_CONTROL_PORT, 1, new Ports(systemControl));
    }

    /** Ticks of the 1.193182 MHz clock. */
    static long ticks(long nanos) {
        return Math.floorDiv(nanos, SECOND) * HZ + Math.floorMod(nanos, SECOND) * HZ / SECOND;
    }

    /** The first nanosecond of a tick. */
    static long nanos(long tick) {
        return Math.floorDiv(tick, HZ) * SECOND + (Math.floorMod(tick, HZ) * SECOND + HZ - 1) / HZ;
    }

    private long tick() {
        return ticks(now);
    }

    private final class Ports implements PioDevice {
        private final RegisterMap<?> map;

        Ports(RegisterMap<?> map) {
            this.map = map;
        }

        @Override
        public long read(long offset, int size) {
            synchronized (lock) {
                now = clockNow();
                return map.read(offset, size);
            }
        }

        @Override
        public void write(long offset, int size, long value) {
            boolean rise;
            synchronized (lock) {
                now = clockNow();
                rise = tick() >= nextRise;
                map.write(offset, size, value);
                schedule();
            }
            drive(rise);
        }
    }

    private long clockNow() {
        return attached.isPresent() ? attached.get().clock.nanoTime() : now;
    }

    private final class PortHandler implements RegisterMap.Handler<PitRegister> {
        @Override
        public long read(PitRegister register) {
            return counters[register.ordinal()].read(tick());
        }

        @Override
        public void write(PitRegister register, long value) {
            if (register == PitRegister.CONTROL) {
                command((int) value);
            } else {
                counters[register.ordinal()].write((int) value, tick());
            }
        }

        @Override
        public long peek(PitRegister register) {
            return register == PitRegister.CONTROL ? 0 : counters[register.ordinal()].peek(tick());
        }
    }

    private void command(int value) {
        int selected = value >> 6;
        if (selected != READ_BACK) {
            if ((value >> 4 & 3) == 0) {
                counters[selected].latchCount(tick());
            } else {
                counters[selected].control(value, tick());
            }
            return;
        }
        for (int i = 0; i < COUNTERS; i++) {
            if ((value >> i & 2) != 0) {
                if ((value & NOT_COUNT) == 0) {
                    counters[i].latchCount(tick());
                }
                if ((value & NOT_STATUS) == 0) {
                    counters[i].latchStatus(tick());
                }
            }
        }
    }

    private final class SystemControlHandler implements RegisterMap.Handler<SystemControlRegister> {
        @Override
        public long read(SystemControlRegister register) {
            return peek(register);
        }

        @Override
        public void write(SystemControlRegister register, long value) {
            control = (int) value & CONTROL_WRITABLE;
            counters[2].gate((control & GATE2) != 0, tick());
        }

        @Override
        public long peek(SystemControlRegister register) {
            long refresh = (now / REFRESH_NANOS & 1) != 0 ? REFRESH : 0;
            return control | refresh | (counters[2].out(tick()) ? OUT2 : 0);
        }
    }

    /** Notes the level of interrupt 0 and arms the timer for its next rise. Locked: two threads must not reorder it. */
    private void schedule() {
        nextRise = counters[0].nextRise(tick());
        if (attached.isEmpty()) {
            return;
        }
        attached.get().irq.want(counters[0].out(tick()));
        if (nextRise == PitCounter.NEVER) {
            attached.get().timer.cancel();
        } else {
            attached.get().timer.armAt(nanos(nextRise));
        }
    }

    private void timerExpired() {
        boolean rise;
        synchronized (lock) {
            now = clockNow();
            rise = tick() >= nextRise;
            schedule();
            if (rise && nextRise != PitCounter.NEVER && attached.isPresent()) {
                long soonest = now + SECOND / MAX_INTERRUPTS_HZ;
                attached.get().timer.armAt(Math.max(nanos(nextRise), soonest));
            }
        }
        drive(rise);
    }

    /** Brings interrupt 0 to the level of the output, after an edge if there was one. */
    private void drive(boolean rise) {
        if (attached.isEmpty()) {
            return;
        }
        if (rise) {
            interrupts.increment();
            attached.get().line.set(false);
            attached.get().line.set(true);
        }
        attached.get().irq.publish();
    }

    @Override
    public void reset() {
        synchronized (lock) {
            now = clockNow();
            control = 0;
            for (int i = 0; i < COUNTERS; i++) {
                counters[i].reset(i != 2, tick());
            }
            schedule();
        }
        drive(false);
    }

    @Override
    public void pause() {}

    @Override
    public void resume() {}

    /**
     * Saved state.
     *
     * @param counters by number
     * @param control port 0x61
     */
    record State(List<PitCounter.State> counters, int control) {}

    @Override
    public SavedState saveState() {
        synchronized (lock) {
            now = clockNow();
            long tick = tick();
            return new SavedState(
                    1,
                    new State(
                            java.util.Arrays.stream(counters)
                                    .map(counter -> counter.save(tick))
                                    .toList(),
                            control));
        }
    }

    @Override
    public void restoreState(SavedState state) {
        State content = SavedStates.content(state, State.class, "i8254");
        synchronized (lock) {
            now = clockNow();
            control = content.control & CONTROL_WRITABLE;
            for (int i = 0; i < COUNTERS && i < content.counters.size(); i++) {
                counters[i].restore(content.counters.get(i), tick());
            }
            schedule();
        }
        drive(false);
    }

    @Override
    public List<RegisterMap<?>> registers() {
        return List.of(ports, systemControl);
    }

    @Override
    public Map<String, Object> inspect() {
        synchronized (lock) {
            now = clockNow();
            return Map.of(
                    "counter0", counters[0].describe(tick()),
                    "counter1", counters[1].describe(tick()),
                    "counter2", counters[2].describe(tick()));
        }
    }

    @Override
    public void close() {
        attached.ifPresent(a -> {
            a.timer.close();
            a.line.set(false);
        });
        attached = Optional.empty();
    }
}
