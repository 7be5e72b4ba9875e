package org.benchtop.scsi.lsi;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.bus.RegisterAccess;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.pci.Bar;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.spi.pci.PciFunctionSpec;
import org.benchtop.spi.scsi.ScsiHost;
import org.benchtop.spi.scsi.ScsiHosts;
import org.benchtop.spi.scsi.ScsiPort;
import org.benchtop.spi.scsi.ScsiTarget;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.stats.Stats;
import org.benchtop.spi.time.Clock;
import org.jspecify.annotations.Nullable;

/**
 * The LSI 53C895A (1000:0012): a SCSI host adapter whose driver is a program for its SCRIPTS processor.
 *
 * <p>Registers are accessed on vCPU threads; scripts run on the adapter's event loop, or on the vCPU's thread where the
 * loop lends its turn. One lock guards chip and bus; targets and interrupt line are called without it.
 */
public final class Lsi53c895a implements Device, ScsiHost {
    private static final int LSI_LOGIC = 0x1000;
    private static final int DEVICE_ID = 0x0012;
    private static final int CLASS_SCSI = 0x010000;
    private static final int IO_BAR = 0;
    private static final int MEMORY_BAR = 1;
    private static final int RAM_BAR = 2;
    private static final int REGISTERS_BYTES = 256;
    private static final int MEMORY_BYTES = 1024;
    private static final int RAM_BYTES = 8192;
    private static final int INITIATOR = 7;
    private static final long SPIN_PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(500);
    private static final long RECHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final Runnable NOTHING = () -> {};

    private final String id;
    private final LsiOptions options;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition quiet = lock.newCondition();
    private final SpiBus bus = new SpiBus();
    private final @Nullable ScsiTarget[] targets = new ScsiTarget[SpiBus.TARGETS];
    private final @Nullable ScsiPort[] ports = new ScsiPort[SpiBus.TARGETS];
    private final boolean[] toKick = new boolean[SpiBus.TARGETS];
    private final AtomicBoolean wantedLevel = new AtomicBoolean();
    private final Runnable turn = this::turn;
    private volatile @Nullable Attached attached;
    private boolean paused;
    private int managing;
    private boolean inTurn;

    /** What exists while the device is attached. */
    private record Attached(
            ScriptsProcessor chip,
            ChipMemory memory,
            PciFunction function,
            EventLoop loop,
            Clock clock,
            Doorbell doorbell,
            Timer spinTimer,
            Timer generalTimer,
            Pins pins,
            RegisterMap<LsiRegister> registers,
            ScsiHosts hosts) {}

    public Lsi53c895a(String id, LsiOptions options) {
        this.id = id;
        this.options = options;
    }

    @Override
    public void attach(DeviceContext context) {
        EventLoop loop = options.iothread().map(context::eventLoop).orElseGet(context::eventLoop);
        ChipMemory memory = new ChipMemory(context.memory(), context.memoryMap().allocate(id + "-ram", RAM_BYTES));
        Pins pins = new Pins();
        ScriptsProcessor chip = new ScriptsProcessor(bus, memory, pins);
        Registers access = new Registers(chip);
        PciFunction function = context.pci()
                .add(new PciFunctionSpec(LSI_LOGIC, DEVICE_ID)
                        .classCode(CLASS_SCSI)
                        .subsystem(LSI_LOGIC, LSI_LOGIC)
                        .interruptPin(1)
                        .address(options.addr().map(PciAddress::parse))
                        .bar(Bar.io(IO_BAR, REGISTERS_BYTES, access))
                        .bar(Bar.memory32(MEMORY_BAR, MEMORY_BYTES, access))
                        .bar(new Bar(
                                RAM_BAR,
                                Bar.Kind.MEMORY_32,
                                false,
                                RAM_BYTES,
                                Optional.empty(),
                                Optional.of(memory.ram()))));
        Attached now = new Attached(
                chip,
                memory,
                function,
                loop,
                context.clock(),
                loop.doorbell(id, turn),
                loop.timer(context.clock(), turn),
                loop.timer(context.clock(), this::generalTimerExpired),
                pins,
                new RegisterMap<>("lsi53c895a", LsiRegister.class, new Inspection(chip)),
                ScsiHosts.add(context, this));
        pins.attached = now;
        attached = now;
        gauges(context.stats(), chip);
    }

    private void gauges(Stats stats, ScriptsProcessor chip) {
        stats.gauge("commands", "", bus::commands);
        stats.gauge("reselections", "", bus::reselections);
        stats.gauge("negotiations", "", bus::negotiations);
        stats.gauge("scripts-instructions", "", chip::instructions);
        stats.gauge("phase-mismatches", "", chip::phaseMismatches);
    }

    private Attached attached() {
        Attached now = attached;
        if (now == null) {
            throw new IllegalStateException(id + " is not attached");
        }
        return now;
    }

    /** The chip's outputs; called with the lock held. */
    private static final class Pins implements ScriptsProcessor.Pins {
        private @Nullable Attached attached;
        private long deadline = -1;

        @Override
        public void generalTimer(long nanos) {
            Attached now = attached;
            if (now == null) {
                return;
            }
            if (nanos == 0) {
                deadline = -1;
                now.generalTimer.cancel();
            } else {
                deadline = now.clock.nanoTime() + nanos;
                now.generalTimer.armAt(deadline);
            }
        }

        /** What is left of the timer, at least 1 ns; -1 while it does not run. */
        long generalTimerLeft() {
            Attached now = attached;
            return now == null || deadline < 0 ? -1 : Math.max(deadline - now.clock.nanoTime(), 1);
        }

        @Override
        public int base(int which) {
            Attached now = attached;
            return now == null ? 0 : (int) now.function.barAddress(which == 0 ? MEMORY_BAR : RAM_BAR);
        }
    }

    /** Registers for people. */
    private final class Inspection implements RegisterMap.Handler<LsiRegister> {
        private final ScriptsProcessor chip;

        Inspection(ScriptsProcessor chip) {
            this.chip = chip;
        }

        @Override
        public long read(LsiRegister register) {
            return peek(register);
        }

        @Override
        public void write(LsiRegister register, long value) {}

        @Override
        public long peek(LsiRegister register) {
            lock.lock();
            try {
                long value = 0;
                for (int i = 0; i < register.size(); i++) {
                    value |= (long) chip.peek(register.offset() + i) << 8 * i;
                }
                return value;
            } finally {
                lock.unlock();
            }
        }
    }

    /** Registers for the guest: bytes, in ascending order. */
    private final class Registers implements RegisterAccess {
        private final ScriptsProcessor chip;

        Registers(ScriptsProcessor chip) {
            this.chip = chip;
        }

        @Override
        public long read(long offset, int size) {
            long value = 0;
            lock.lock();
            try {
                for (int i = 0; i < size; i++) {
                    value |= (long) chip.read((int) (offset + i) & REGISTERS_BYTES - 1) << 8 * i;
                }
                chip.accessed();
                wantedLevel.set(chip.interrupt());
            } finally {
                lock.unlock();
            }
            publish();
            return value;
        }

        @Override
        public void write(long offset, int size, long value) {
            boolean runs;
            lock.lock();
            try {
                for (int i = 0; i < size; i++) {
                    chip.write((int) (offset + i) & REGISTERS_BYTES - 1, (int) (value >>> 8 * i) & 0xff);
                }
                runs = chip.runnable() || bus.hasWork();
                wantedLevel.set(chip.interrupt());
            } finally {
                lock.unlock();
            }
            publish();
            if (runs) {
                kick();
            }
        }
    }

    private void kick() {
        Attached now = attached;
        if (now != null && !now.loop.tryRun(turn)) {
            now.doorbell.ring();
        }
    }

    /** Brings the interrupt line to where the chip wants it; whoever sets it looks again, so the last level wins. */
    private void publish() {
        Attached now = attached;
        if (now == null) {
            return;
        }
        boolean level;
        do {
            level = wantedLevel.get();
            now.function.intx().set(level);
        } while (level != wantedLevel.get());
    }

    private void generalTimerExpired() {
        Attached now = attached;
        if (now == null) {
            return;
        }
        lock.lock();
        try {
            now.pins.deadline = -1;
            now.chip.generalTimerExpired();
            wantedLevel.set(now.chip.interrupt());
        } finally {
            lock.unlock();
        }
        publish();
    }

    // Scripts and commands, on the event loop.

    private void turn() {
        Attached now = attached;
        if (now == null || inTurn) {
            return;
        }
        inTurn = true;
        try {
            boolean more = true;
            while (more) {
                more = part(now);
            }
        } finally {
            inTurn = false;
        }
        for (int target = 0; target < SpiBus.TARGETS; target++) {
            ScsiPort port = ports[target];
            if (toKick[target] && port != null) {
                toKick[target] = false;
                port.kick();
            }
        }
    }

    /** Runs scripts and does one piece of work that they ask for. Returns whether to go on. */
    private boolean part(Attached now) {
        ScriptsProcessor.Turn result;
        SpiBus.Work work;
        now.memory.placed(now.function.barAddress(RAM_BAR), now.function.busMaster());
        lock.lock();
        try {
            result = paused ? ScriptsProcessor.Turn.IDLE : now.chip.run();
            // Commands wait until what was aborted before them has ended.
            work = bus.takeWork(paused || managing > 0);
            wantedLevel.set(now.chip.interrupt());
        } finally {
            lock.unlock();
        }
        publish();
        if (work != null) {
            switch (work) {
                case SpiBus.Work.Prepare prepare -> prepare(prepare.task());
                case SpiBus.Work.Execute execute -> execute(execute.task());
                case SpiBus.Work.Manage manage -> manage(manage);
            }
            return true;
        }
        switch (result) {
            case MORE -> now.doorbell.ring();
            case SPINNING -> now.spinTimer.armAt(now.clock.nanoTime() + SPIN_PAUSE_NANOS);
            case IDLE, WORK -> {}
        }
        return false;
    }

    private void prepare(SpiTask task) {
        ScsiPort port = ports[task.target];
        if (port != null) {
            port.prepare(task.command);
        }
        boolean execute;
        lock.lock();
        try {
            execute = bus.prepared(task) && port != null;
            attached().chip.busChanged();
        } finally {
            lock.unlock();
        }
        if (execute && port != null) {
            start(task, port);
        }
    }

    private void execute(SpiTask task) {
        ScsiPort port = ports[task.target];
        boolean execute;
        lock.lock();
        try {
            execute = port != null && bus.executing(task);
        } finally {
            lock.unlock();
        }
        if (execute && port != null) {
            start(task, port);
        }
    }

    private void start(SpiTask task, ScsiPort port) {
        if (task.completion == null) {
            task.completion = command -> answered(task);
        }
        toKick[task.target] = true;
        port.execute(task.command, task.completion);
        lock.lock();
        try {
            bus.started(task);
            attached().chip.busChanged();
        } finally {
            lock.unlock();
        }
    }

    private void answered(SpiTask task) {
        Attached now = attached();
        lock.lock();
        try {
            if (bus.answered(task)) {
                now.chip.busChanged();
            }
            wantedLevel.set(now.chip.interrupt());
            quiet.signalAll();
        } finally {
            lock.unlock();
        }
        if (!inTurn) {
            turn();
        }
    }

    private void manage(SpiBus.Work.Manage asked) {
        ScsiPort port = ports[asked.target()];
        if (port == null) {
            return;
        }
        lock.lock();
        try {
            managing++;
        } finally {
            lock.unlock();
        }
        long tag = asked.tag() < 0 ? SpiBus.MAX_TASKS : asked.tag();
        port.manage(asked.function(), asked.lun(), tag, 0, result -> managed());
    }

    private void managed() {
        lock.lock();
        try {
            managing--;
            quiet.signalAll();
        } finally {
            lock.unlock();
        }
        if (!inTurn) {
            turn();
        }
    }

    /**
     * Waits until targets have nothing to do for this adapter. Any thread that holds no lock; returns early on the event
     * loop, which must not wait.
     */
    private void awaitQuiet(Attached now) {
        boolean interrupted = false;
        while (!isQuiet()) {
            if (now.loop.inLoop()) {
                break;
            }
            now.doorbell.ring();
            // Moves loops on that have no thread of their own.
            now.loop.call(NOTHING);
            interrupted |= awaitChange();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean isQuiet() {
        lock.lock();
        try {
            return bus.working() == 0 && managing == 0 && !bus.hasManagement();
        } finally {
            lock.unlock();
        }
    }

    private boolean awaitChange() {
        lock.lock();
        try {
            if (bus.working() != 0 || managing != 0 || bus.hasManagement()) {
                long unused = quiet.awaitNanos(RECHECK_NANOS);
            }
            return false;
        } catch (InterruptedException e) {
            return true;
        } finally {
            lock.unlock();
        }
    }

    // Targets.

    @Override
    public String id() {
        return id;
    }

    @Override
    public Optional<PciAddress> pciAddress() {
        return Optional.of(attached().function.address());
    }

    @Override
    public int targets() {
        return SpiBus.TARGETS;
    }

    @Override
    public int luns() {
        return SpiBus.LUNS;
    }

    @Override
    public boolean reserved(int target) {
        return target == INITIATOR;
    }

    @Override
    public Optional<ScsiTarget> target(int target) {
        return Optional.ofNullable(targets[target]);
    }

    @Override
    public void attach(int target, ScsiTarget what) {
        ScsiPort port = what.open(attached().loop);
        lock.lock();
        try {
            targets[target] = what;
            ports[target] = port;
            bus.present(target, true);
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void detach(int target) {
        Attached now = attached;
        lock.lock();
        try {
            bus.present(target, false);
            bus.lost(target);
            if (now != null) {
                now.chip.busChanged();
            }
        } finally {
            lock.unlock();
        }
        if (now != null) {
            awaitQuiet(now);
        }
        ScsiPort port = ports[target];
        ports[target] = null;
        targets[target] = null;
        if (port != null) {
            port.close();
        }
    }

    // Life.

    @Override
    public void reset() {
        Attached now = attached();
        forget(now);
        now.function.reset();
        now.memory.ram().fill((byte) 0);
        publish();
    }

    /** The chip as after power-on and the bus reset; nothing is in flight when it returns. */
    private void forget(Attached now) {
        lock.lock();
        try {
            bus.reset();
            now.chip.softReset();
            wantedLevel.set(false);
        } finally {
            lock.unlock();
        }
        now.spinTimer.cancel();
        awaitQuiet(now);
    }

    @Override
    public void pause() {
        Attached now = attached();
        lock.lock();
        try {
            paused = true;
        } finally {
            lock.unlock();
        }
        now.loop.call(() -> {
            for (ScsiPort port : ports) {
                if (port != null) {
                    port.drain();
                }
            }
        });
        awaitQuiet(now);
    }

    @Override
    public void resume() {
        Attached now = attached();
        List<SpiTask> again;
        lock.lock();
        try {
            paused = false;
            again = bus.takeParked();
        } finally {
            lock.unlock();
        }
        now.loop.execute(() -> {
            again.forEach(this::execute);
            turn();
        });
    }

    /** Saved state; {@code generalTimerNanos} is what is left of the general purpose timer, or -1. */
    record State(
            ScriptsProcessor.Saved chip, SpiBus.State bus, byte[] ram, SavedState function, long generalTimerNanos) {}

    @Override
    public SavedState saveState() {
        Attached now = attached();
        lock.lock();
        try {
            return new SavedState(
                    1,
                    new State(
                            now.chip.save(),
                            bus.save(),
                            now.memory.ram().toArray(java.lang.foreign.ValueLayout.JAVA_BYTE),
                            now.function.saveState(),
                            now.pins.generalTimerLeft()));
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void restoreState(SavedState state) {
        if (state.version() != 1) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    id + ": saved state has version " + state.version() + ", this build reads version 1");
        }
        if (!(state.content() instanceof State saved)) {
            throw BenchtopException.config(id + ": saved state is of another device: "
                    + state.content().getClass().getSimpleName());
        }
        Attached now = attached();
        now.function.restoreState(saved.function);
        lock.lock();
        try {
            bus.restore(saved.bus);
            now.chip.restore(saved.chip);
            java.lang.foreign.MemorySegment.copy(
                    java.lang.foreign.MemorySegment.ofArray(saved.ram), 0, now.memory.ram(), 0, RAM_BYTES);
            now.pins.generalTimer(Math.max(saved.generalTimerNanos, 0));
            wantedLevel.set(now.chip.interrupt());
        } finally {
            lock.unlock();
        }
        publish();
    }

    @Override
    public List<RegisterMap<?>> registers() {
        Attached now = attached;
        return now == null ? List.of() : List.of(now.registers);
    }

    @Override
    public Map<String, Object> inspect() {
        Attached now = attached;
        if (now == null) {
            return Map.of();
        }
        Map<String, Object> map = new LinkedHashMap<>();
        lock.lock();
        try {
            map.put(
                    "scripts",
                    now.chip.state().name().toLowerCase(java.util.Locale.ROOT).replace('_', '-'));
            map.put("connected", bus.connected() < 0 ? "bus free" : "target " + bus.connected());
            map.put("tasks", bus.tasks());
        } finally {
            lock.unlock();
        }
        return map;
    }

    @Override
    public void close() {
        Attached now = attached;
        if (now == null) {
            return;
        }
        now.hosts.remove(this);
        forget(now);
        for (int target = 0; target < SpiBus.TARGETS; target++) {
            detach(target);
        }
        attached = null;
        now.doorbell.close();
        now.spinTimer.close();
        now.generalTimer.close();
        now.function.close();
    }
}
