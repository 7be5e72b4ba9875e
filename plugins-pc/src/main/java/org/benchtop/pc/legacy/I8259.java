package org.benchtop.pc.legacy;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.benchtop.pc.common.DeviceEntry;
import org.benchtop.pc.common.LegacyInterrupts;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.pc.common.SavedStates;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.bus.PioDevice;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.state.SavedState;

/**
 * The pair of 8259s at ports 0x20 and 0xA0, for CPU engines that have none: the second hangs on input 2 of the first.
 *
 * <p>Their edge/level registers at 0x4D0 belong to the ISA bridge.
 */
public final class I8259 implements Device, LegacyInterrupts {
    private static final int MASTER_PORT = 0x20;
    private static final int SLAVE_PORT = 0xa0;
    private static final int CASCADE = 2;
    private static final int CASCADES = 1 << CASCADE;
    private static final int INPUTS = 8;

    private final Object lock = new Object();
    private final Pic8259 master = new Pic8259();
    private final Pic8259 slave = new Pic8259();
    private final RegisterMap<PicRegister> masterMap =
            new RegisterMap<>("8259 first", PicRegister.class, new Handler(master, CASCADES));
    private final RegisterMap<PicRegister> slaveMap =
            new RegisterMap<>("8259 second", PicRegister.class, new Handler(slave, 0));
    private final List<Consumer<Boolean>> listeners = new CopyOnWriteArrayList<>();
    private volatile boolean output;

    private I8259(NoOptions options, CreateContext context) {}

    /** The type {@code i8259}. */
    public static DeviceType<NoOptions> type() {
        return new DeviceEntry<>("i8259", "pair of 8259A interrupt controllers", NoOptions.class, I8259::new);
    }

    @Override
    public void attach(DeviceContext context) {
        context.pio(MASTER_PORT, 2, new Ports(masterMap));
        context.pio(SLAVE_PORT, 2, new Ports(slaveMap));
        context.services().provide(LegacyInterrupts.class, this);
    }

    private final class Ports implements PioDevice {
        private final RegisterMap<PicRegister> map;

        Ports(RegisterMap<PicRegister> map) {
            this.map = map;
        }

        @Override
        public long read(long offset, int size) {
            long value;
            synchronized (lock) {
                value = map.read(offset, size);
                settle();
            }
            publish();
            return value;
        }

        @Override
        public void write(long offset, int size, long value) {
            synchronized (lock) {
                map.write(offset, size, value);
                settle();
            }
            publish();
        }
    }

    private record Handler(Pic8259 chip, int cascades) implements RegisterMap.Handler<PicRegister> {
        @Override
        public long read(PicRegister register) {
            return chip.read(register.offset(), cascades);
        }

        @Override
        public void write(PicRegister register, long value) {
            chip.write(register.offset(), (int) value);
        }

        @Override
        public long peek(PicRegister register) {
            return chip.peek(register.offset());
        }
    }

    /** Brings the cascade and the output up to date. Locked. */
    private void settle() {
        master.input(CASCADE, slave.pending(0) >= 0);
        output = master.pending(CASCADES) >= 0;
    }

    /** Tells the listeners the level; whoever tells it looks again, so the last level wins. */
    private void publish() {
        boolean level;
        do {
            level = output;
            for (int i = 0; i < listeners.size(); i++) {
                listeners.get(i).accept(level);
            }
        } while (level != output);
    }

    @Override
    public boolean output() {
        return output;
    }

    @Override
    public int acknowledge() {
        int vector;
        synchronized (lock) {
            vector = takeInterrupt();
            settle();
        }
        publish();
        return vector;
    }

    private int takeInterrupt() {
        int number = master.pending(CASCADES);
        if (number < 0) {
            return master.spuriousVector();
        }
        master.acknowledge(number);
        if (number != CASCADE) {
            return master.vector(number);
        }
        int behind = slave.pending(0);
        // The partner's output drops for a moment, so that its next request is an edge again.
        master.input(CASCADE, false);
        if (behind < 0) {
            return slave.spuriousVector();
        }
        slave.acknowledge(behind);
        return slave.vector(behind);
    }

    @Override
    public void input(int irq, boolean asserted) {
        boolean changed;
        synchronized (lock) {
            if (irq < INPUTS && irq != CASCADE) {
                master.input(irq, asserted);
            } else if (irq >= INPUTS) {
                slave.input(irq - INPUTS, asserted);
            }
            boolean before = output;
            settle();
            changed = output != before;
        }
        if (changed) {
            publish();
        }
    }

    @Override
    public void edgeLevel(int elcr) {
        synchronized (lock) {
            master.edgeLevel(elcr & 0xff & ~CASCADES);
            slave.edgeLevel(elcr >> INPUTS & 0xff);
            settle();
        }
        publish();
    }

    @Override
    public void onOutput(Consumer<Boolean> listener) {
        listeners.add(listener);
    }

    @Override
    public void reset() {
        synchronized (lock) {
            slave.reset();
            master.reset();
            settle();
        }
        publish();
    }

    @Override
    public void pause() {}

    @Override
    public void resume() {}

    /** Saved state of both controllers. */
    record State(Pic8259.State master, Pic8259.State slave) {}

    @Override
    public SavedState saveState() {
        synchronized (lock) {
            return new SavedState(1, new State(master.save(), slave.save()));
        }
    }

    @Override
    public void restoreState(SavedState state) {
        State content = SavedStates.content(state, State.class, "i8259");
        synchronized (lock) {
            slave.restore(content.slave);
            master.restore(content.master);
            output = master.pending(CASCADES) >= 0;
        }
        publish();
    }

    @Override
    public List<RegisterMap<?>> registers() {
        return List.of(masterMap, slaveMap);
    }

    @Override
    public Map<String, Object> inspect() {
        synchronized (lock) {
            return Map.of("first", describe(master), "second", describe(slave), "output", output);
        }
    }

    private static String describe(Pic8259 chip) {
        return String.format(
                "requests %02x, mask %02x, in service %02x", chip.requests(), chip.mask(), chip.inService());
    }

    @Override
    public void close() {
        listeners.clear();
    }
}
