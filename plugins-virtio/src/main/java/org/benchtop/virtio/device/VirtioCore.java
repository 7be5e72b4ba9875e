package org.benchtop.virtio.device;

import static org.benchtop.virtio.device.VirtioFeatures.VIRTIO_F_EVENT_IDX;
import static org.benchtop.virtio.device.VirtioFeatures.VIRTIO_F_INDIRECT_DESC;
import static org.benchtop.virtio.device.VirtioFeatures.VIRTIO_F_RING_RESET;
import static org.benchtop.virtio.device.VirtioFeatures.VIRTIO_F_VERSION_1;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.stats.Counter;
import org.benchtop.virtio.queue.QueueError;
import org.benchtop.virtio.queue.QueueHandler;
import org.benchtop.virtio.queue.QueueOwner;
import org.benchtop.virtio.queue.QueuePump;
import org.benchtop.virtio.queue.QueueStats;
import org.benchtop.virtio.queue.QueueView;

/**
 * The state machine that every virtio device is (VIRTIO 1.2, 2 and 3): status, features, queues, reset. A transport
 * turns its registers into calls of this class.
 *
 * <p>Thread-safe. The lock guards registers only; it is not held while queues, device or transport are called, except
 * for handing tasks to event loops, whose order must be the order of the state changes. A reset or pause is a
 * <em>transition</em>: queues stop on their own loops, and the last one to come to rest finishes it.
 */
public final class VirtioCore implements QueueOwner {
    private static final int LOGGED_ERRORS = 16;
    private static final long RECHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final Runnable NOTHING = () -> {};

    private enum Transition {
        NONE,
        RESET,
        QUEUE_RESET,
        PAUSE,
    }

    private final String id;
    private final VirtioDevice device;
    private final System.Logger logger;
    private final Counter guestErrors;
    private final long offered;
    private final QueueRegisters[] queues;
    private final List<EventLoop> loops;
    private final long guestWaitNanos;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private VirtioTransport transport = new Detached();

    private int status;
    private volatile boolean broken;
    private long driverFeatures;
    private long negotiated;
    private volatile int deviceFeatureSelect;
    private volatile int driverFeatureSelect;
    private volatile int queueSelect;
    private int configGeneration;
    private boolean configChanged;

    private Transition transition = Transition.NONE;
    private int queuesToStop;
    private boolean resetRequested;
    /** Whether a queue was started since the last reset: otherwise there is nothing to stop. */
    private boolean queuesStarted;

    private boolean paused;
    private boolean closing;
    private int errors;

    /** Before the transport is there. */
    private static final class Detached implements VirtioTransport {
        @Override
        public boolean dmaEnabled() {
            return false;
        }

        @Override
        public void interruptQueue(int queue) {}

        @Override
        public void interruptConfig() {}

        @Override
        public void reset() {}

        @Override
        public void resetQueue(int queue) {}
    }

    /**
     * A device after power-on, its queues open.
     *
     * @param ringFeatures which of VIRTIO_F_EVENT_IDX and VIRTIO_F_INDIRECT_DESC are offered
     * @param guestWaitNanos how long a driver's reset may hold its vCPU while requests are in flight; after that the
     *     driver sees from the status when it is done
     */
    public VirtioCore(VirtioDevice device, DeviceContext context, long ringFeatures, long guestWaitNanos) {
        this.id = context.id();
        this.device = device;
        this.logger = context.logger();
        this.guestErrors = context.stats().counter("guest-errors");
        this.guestWaitNanos = guestWaitNanos;
        this.offered = device.features() | ringFeatures | VIRTIO_F_VERSION_1 | VIRTIO_F_RING_RESET;
        QueueStats stats = QueueStats.of(context.stats());
        queues = new QueueRegisters[device.queues()];
        for (int i = 0; i < queues.length; i++) {
            EventLoop loop = device.queueLoop(i);
            QueuePump pump =
                    new QueuePump(i, device.queueMaxSize(i), loop, context.memory(), this, stats, id + " queue " + i);
            queues[i] = new QueueRegisters(pump);
            QueueHandler handler = device.openQueue(i, pump);
            pump.handler(handler);
        }
        loops = Arrays.stream(queues).map(queue -> queue.pump.loop()).distinct().toList();
        context.stats().gauge("queue-depth", "", this::inFlight);
    }

    /** Connects the transport; before the first access of a driver. */
    public void transport(VirtioTransport value) {
        transport = value;
    }

    private long inFlight() {
        long sum = 0;
        for (QueueRegisters queue : queues) {
            sum += queue.pump.inFlight();
        }
        return sum;
    }

    /** The device type. */
    public VirtioDevice device() {
        return device;
    }

    /** The number of queues. */
    public int queues() {
        return queues.length;
    }

    /** What moves the chains of a queue. */
    public QueuePump pump(int queue) {
        return queues[queue].pump;
    }

    // What queues ask.

    @Override
    public boolean operational() {
        return !broken && transport.dmaEnabled();
    }

    @Override
    public void interruptQueue(int queue) {
        transport.interruptQueue(queue);
    }

    @Override
    public void failed(int queue, QueueError error) {
        boolean tell;
        boolean log;
        lock.lock();
        try {
            if (broken) {
                return;
            }
            broken = true;
            status |= DeviceStatus.DEVICE_NEEDS_RESET;
            tell = (status & DeviceStatus.DRIVER_OK) != 0;
            log = errors++ < LOGGED_ERRORS;
        } finally {
            lock.unlock();
        }
        guestErrors.increment();
        if (log) {
            logger.log(
                    System.Logger.Level.WARNING,
                    id + " needs a reset: driver error in queue " + queue + ": " + error.message());
        }
        if (tell) {
            transport.interruptConfig();
        }
    }

    // Status and features.

    /** The device status; not 0 before a reset is done. */
    public int status() {
        lock.lock();
        try {
            return status;
        } finally {
            lock.unlock();
        }
    }

    /**
     * A driver's write of the device status.
     *
     * @param mayWait whether the calling thread may wait for a reset to be done; only one that holds no lock may
     */
    public void status(int written, boolean mayWait) {
        if (written == 0) {
            guestReset(mayWait);
            return;
        }
        boolean accepted;
        lock.lock();
        try {
            if (transition != Transition.NONE) {
                return;
            }
            int before = status;
            status = DeviceStatus.afterWrite(before, written, this::featuresAccepted);
            accepted = (status & ~before & DeviceStatus.FEATURES_OK) != 0;
            if (accepted) {
                negotiated = driverFeatures;
            }
        } finally {
            lock.unlock();
        }
        if (accepted) {
            device.negotiated(driverFeatures());
        }
        startIfReady();
    }

    private boolean featuresAccepted() {
        return (driverFeatures & ~offered) == 0
                && (driverFeatures & VIRTIO_F_VERSION_1) != 0
                && device.accepts(driverFeatures);
    }

    private void startIfReady() {
        lock.lock();
        try {
            if ((status & DeviceStatus.DRIVER_OK) == 0 || transition != Transition.NONE || paused || closing) {
                return;
            }
            for (QueueRegisters queue : queues) {
                if (queue.enabled && !queue.resetting) {
                    start(queue);
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** Starts a queue that is not running; does nothing to one that is. */
    private void start(QueueRegisters queue) {
        boolean eventIdx = (negotiated & VIRTIO_F_EVENT_IDX) != 0;
        boolean indirect = (negotiated & VIRTIO_F_INDIRECT_DESC) != 0;
        var layout = queue.layout();
        int lastAvail = queue.lastAvail;
        int usedIndex = queue.usedIndex;
        List<Integer> parked = queue.parked;
        QueuePump pump = queue.pump;
        queuesStarted = true;
        pump.loop().execute(() -> pump.start(layout, eventIdx, indirect, lastAvail, usedIndex, parked));
    }

    /** The offered features. */
    public long offeredFeatures() {
        return offered;
    }

    /** The features that the driver has chosen so far. */
    public long driverFeatures() {
        lock.lock();
        try {
            return driverFeatures;
        } finally {
            lock.unlock();
        }
    }

    /** Sets 32 of the driver's features; ignored once they are settled. */
    public void driverFeatures(int select, int bits) {
        lock.lock();
        try {
            if ((status & DeviceStatus.FEATURES_OK) == 0 && (select == 0 || select == 1)) {
                int shift = 32 * select;
                driverFeatures = driverFeatures & ~(0xffff_ffffL << shift) | (bits & 0xffff_ffffL) << shift;
            }
        } finally {
            lock.unlock();
        }
    }

    // Selectors, which both transports have.

    /** Which half of the offered features is shown. */
    public int deviceFeatureSelect() {
        return deviceFeatureSelect;
    }

    /** Chooses it. */
    public void deviceFeatureSelect(int value) {
        deviceFeatureSelect = value;
    }

    /** Which half of the driver's features is shown. */
    public int driverFeatureSelect() {
        return driverFeatureSelect;
    }

    /** Chooses it. */
    public void driverFeatureSelect(int value) {
        driverFeatureSelect = value;
    }

    /** Which queue is shown; maybe one that does not exist. */
    public int queueSelect() {
        return queueSelect;
    }

    /** Chooses it. */
    public void queueSelect(int value) {
        queueSelect = value;
    }

    /** The 32 features of {@code bits} that a selector shows: none beyond 63. */
    public static int half(long bits, int select) {
        return select == 0 ? (int) bits : select == 1 ? (int) (bits >>> 32) : 0;
    }

    // Queues. Those that do not exist read as 0 and swallow writes.

    /** Which address of a queue. */
    public enum Ring {
        /** The descriptor table. */
        DESCRIPTOR,
        /** The available ring. */
        DRIVER,
        /** The used ring. */
        DEVICE,
    }

    private boolean exists(int queue) {
        return queue >= 0 && queue < queues.length;
    }

    /** The size of a queue; the largest one before the driver sets it. */
    public int queueSize(int queue) {
        lock.lock();
        try {
            return exists(queue) ? queues[queue].size : 0;
        } finally {
            lock.unlock();
        }
    }

    /** Sets a queue's size; ignored when it is enabled and where no power of two up to the largest size. */
    public void queueSize(int queue, int size) {
        lock.lock();
        try {
            if (exists(queue)
                    && !queues[queue].enabled
                    && Integer.bitCount(size) == 1
                    && size <= queues[queue].pump.maxSize()) {
                queues[queue].size = size;
            }
        } finally {
            lock.unlock();
        }
    }

    /** An address of a queue. */
    public long queueAddress(int queue, Ring ring) {
        lock.lock();
        try {
            if (!exists(queue)) {
                return 0;
            }
            return switch (ring) {
                case DESCRIPTOR -> queues[queue].descriptorGpa;
                case DRIVER -> queues[queue].driverGpa;
                case DEVICE -> queues[queue].deviceGpa;
            };
        } finally {
            lock.unlock();
        }
    }

    /** Sets the low or high half of an address of a queue; ignored when it is enabled. */
    public void queueAddress(int queue, Ring ring, boolean high, int value) {
        lock.lock();
        try {
            if (!exists(queue) || queues[queue].enabled) {
                return;
            }
            QueueRegisters registers = queues[queue];
            switch (ring) {
                case DESCRIPTOR -> registers.descriptorGpa = merge(registers.descriptorGpa, high, value);
                case DRIVER -> registers.driverGpa = merge(registers.driverGpa, high, value);
                case DEVICE -> registers.deviceGpa = merge(registers.deviceGpa, high, value);
            }
        } finally {
            lock.unlock();
        }
    }

    private static long merge(long address, boolean high, int value) {
        long bits = value & 0xffff_ffffL;
        return high ? address & 0xffff_ffffL | bits << 32 : address & 0xffff_ffff_0000_0000L | bits;
    }

    /** Whether the driver has enabled a queue. */
    public boolean queueEnabled(int queue) {
        lock.lock();
        try {
            return exists(queue) && queues[queue].enabled;
        } finally {
            lock.unlock();
        }
    }

    /** Enables a queue; it runs from DRIVER_OK on. */
    public void enableQueue(int queue) {
        lock.lock();
        try {
            if (!exists(queue) || queues[queue].resetting || transition == Transition.RESET) {
                return;
            }
            queues[queue].enabled = true;
        } finally {
            lock.unlock();
        }
        startIfReady();
    }

    /** Whether a queue's reset is under way. */
    public boolean queueResetting(int queue) {
        lock.lock();
        try {
            return exists(queue) && queues[queue].resetting;
        } finally {
            lock.unlock();
        }
    }

    /** Resets one queue (2.6.1); {@link #queueResetting} says when it is done. */
    public void resetQueue(int queue, boolean mayWait) {
        if (mayWait) {
            awaitNoTransition(guestWaitNanos);
        }
        lock.lock();
        try {
            if (!exists(queue)
                    || (negotiated & VIRTIO_F_RING_RESET) == 0
                    || transition != Transition.NONE
                    || !queues[queue].enabled) {
                return;
            }
            queues[queue].resetting = true;
            begin(Transition.QUEUE_RESET, 1);
            stop(queues[queue], true);
        } finally {
            lock.unlock();
        }
        if (mayWait) {
            awaitNoTransition(guestWaitNanos);
        }
    }

    /** A driver's notification that no doorbell has taken. */
    public void notified(int queue, boolean mayLend) {
        if (!exists(queue)) {
            return;
        }
        if (mayLend) {
            queues[queue].pump.notified();
        } else {
            queues[queue].pump.doorbell().ring();
        }
    }

    /** Lets all queues look for work, as if notified; does not wait. */
    public void lookAtAllQueues() {
        for (QueueRegisters queue : queues) {
            queue.pump.look();
        }
    }

    // Configuration space.

    /** Reads the device-specific configuration. */
    public long readConfig(long offset, int size) {
        lock.lock();
        try {
            if (configChanged) {
                configChanged = false;
                configGeneration = configGeneration + 1 & 0xff;
            }
        } finally {
            lock.unlock();
        }
        return device.config().read(offset, size);
    }

    /** Writes the device-specific configuration. */
    public void writeConfig(long offset, int size, long value) {
        device.config().write(offset, size, value);
    }

    /** Changes when the configuration has, once the driver reads of it (4.1.4.3.1). */
    public int configGeneration() {
        lock.lock();
        try {
            return configGeneration;
        } finally {
            lock.unlock();
        }
    }

    private void configurationChanged() {
        boolean tell;
        lock.lock();
        try {
            configChanged = true;
            tell = (status & DeviceStatus.DRIVER_OK) != 0;
        } finally {
            lock.unlock();
        }
        if (tell) {
            transport.interruptConfig();
        }
    }

    // Transitions.

    private void guestReset(boolean mayWait) {
        boolean atRest = false;
        lock.lock();
        try {
            if (transition == Transition.NONE) {
                atRest = !queuesStarted;
                beginReset();
            } else if (transition != Transition.RESET) {
                resetRequested = true;
            }
        } finally {
            lock.unlock();
        }
        if (atRest) {
            finish(Transition.RESET, queues[0]);
        }
        if (mayWait) {
            awaitNoTransition(guestWaitNanos);
        }
    }

    /** Resets the device and waits until that is done. */
    public void reset() {
        awaitNoTransition(Long.MAX_VALUE);
        guestReset(false);
        awaitNoTransition(Long.MAX_VALUE);
    }

    /** Completes what is in flight and takes nothing new; waits until that is done. */
    public void pause() {
        awaitNoTransition(Long.MAX_VALUE);
        lock.lock();
        try {
            if (paused) {
                return;
            }
            paused = true;
            begin(Transition.PAUSE, queues.length);
            for (QueueRegisters queue : queues) {
                stop(queue, false);
            }
        } finally {
            lock.unlock();
        }
        awaitNoTransition(Long.MAX_VALUE);
    }

    /** Goes on after a pause. */
    public void resume() {
        lock.lock();
        try {
            paused = false;
        } finally {
            lock.unlock();
        }
        if (device.resumed()) {
            configurationChanged();
        }
        startIfReady();
    }

    /** Stops everything for good, without showing completions to the driver; waits until that is done. */
    public void stop() {
        lock.lock();
        try {
            closing = true;
        } finally {
            lock.unlock();
        }
        reset();
    }

    /** Frees the queues and the device, after {@link #stop}. */
    public void close() {
        for (QueueRegisters queue : queues) {
            queue.pump.close();
        }
        device.close();
    }

    private void begin(Transition next, int stopping) {
        transition = next;
        queuesToStop = stopping;
    }

    private void beginReset() {
        begin(Transition.RESET, queues.length);
        if (!queuesStarted) {
            return;
        }
        for (QueueRegisters queue : queues) {
            stop(queue, true);
        }
    }

    private void stop(QueueRegisters queue, boolean discard) {
        queue.pump.loop().execute(() -> queue.pump.stop(discard, () -> cameToRest(queue)));
    }

    /** A queue has come to rest; on its loop. */
    private void cameToRest(QueueRegisters queue) {
        Transition ending;
        lock.lock();
        try {
            queue.lastAvail = queue.pump.lastAvail();
            queue.usedIndex = queue.pump.usedIndex();
            queue.parked = queue.pump.parkedHeads();
            if (--queuesToStop > 0) {
                return;
            }
            ending = transition;
        } finally {
            lock.unlock();
        }
        finish(ending, queue);
    }

    private void finish(Transition ending, QueueRegisters queue) {
        switch (ending) {
            case RESET -> {
                device.reset();
                transport.reset();
            }
            case QUEUE_RESET -> transport.resetQueue(queue.pump.index());
            case PAUSE, NONE -> {}
        }
        lock.lock();
        try {
            end(ending, queue);
        } finally {
            lock.unlock();
        }
    }

    private void end(Transition ending, QueueRegisters lastStopped) {
        transition = Transition.NONE;
        switch (ending) {
            case RESET -> clear();
            case QUEUE_RESET -> lastStopped.clear();
            case PAUSE, NONE -> {}
        }
        if (resetRequested) {
            resetRequested = false;
            beginReset();
        }
        changed.signalAll();
    }

    private void clear() {
        status = 0;
        queuesStarted = false;
        broken = false;
        driverFeatures = 0;
        negotiated = 0;
        deviceFeatureSelect = 0;
        driverFeatureSelect = 0;
        queueSelect = 0;
        for (QueueRegisters queue : queues) {
            queue.clear();
        }
    }

    /** Waits until no transition is under way; returns early on an event loop, which must not wait. */
    private void awaitNoTransition(long limitNanos) {
        long deadline = limitNanos == Long.MAX_VALUE ? Long.MAX_VALUE : System.nanoTime() + limitNanos;
        boolean interrupted = false;
        while (inTransition()) {
            for (EventLoop loop : loops) {
                if (loop.inLoop()) {
                    return;
                }
                // Stopping was queued before this: without requests in flight the wait ends here. It also moves loops
                // on that have no thread of their own.
                loop.call(NOTHING);
            }
            long left = deadline == Long.MAX_VALUE ? RECHECK_NANOS : deadline - System.nanoTime();
            if (left <= 0) {
                break;
            }
            interrupted |= awaitChange(Math.min(left, RECHECK_NANOS));
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean inTransition() {
        lock.lock();
        try {
            return transition != Transition.NONE;
        } finally {
            lock.unlock();
        }
    }

    private boolean awaitChange(long nanos) {
        lock.lock();
        try {
            if (transition != Transition.NONE) {
                long unused = changed.awaitNanos(nanos);
            }
            return false;
        } catch (InterruptedException e) {
            return true;
        } finally {
            lock.unlock();
        }
    }

    // State.

    /** The state, while paused. */
    public CoreState save() {
        lock.lock();
        try {
            List<QueueState> saved = new ArrayList<>();
            for (QueueRegisters queue : queues) {
                saved.add(queue.save());
            }
            return new CoreState(
                    status,
                    driverFeatures,
                    deviceFeatureSelect,
                    driverFeatureSelect,
                    queueSelect,
                    configGeneration,
                    saved,
                    device.saveState());
        } finally {
            lock.unlock();
        }
    }

    /** Sets the state, while paused. */
    public void restore(CoreState state) {
        boolean settled = (state.status() & DeviceStatus.FEATURES_OK) != 0;
        if (state.queues().size() != queues.length || settled && (state.driverFeatures() & ~offered) != 0) {
            throw BenchtopException.config(id + ": saved state has "
                    + state.queues().size()
                    + " queues and features 0x" + Long.toHexString(state.driverFeatures()) + ", this device has "
                    + queues.length + " and 0x" + Long.toHexString(offered));
        }
        if (settled) {
            device.negotiated(state.driverFeatures());
        }
        device.restoreState(state.device());
        lock.lock();
        try {
            status = state.status();
            broken = (status & DeviceStatus.DEVICE_NEEDS_RESET) != 0;
            driverFeatures = state.driverFeatures();
            negotiated = settled ? driverFeatures : 0;
            deviceFeatureSelect = state.deviceFeatureSelect();
            driverFeatureSelect = state.driverFeatureSelect();
            queueSelect = state.queueSelect();
            configGeneration = state.configGeneration();
            for (int i = 0; i < queues.length; i++) {
                queues[i].restore(state.queues().get(i));
            }
        } finally {
            lock.unlock();
        }
    }

    private QueueView stopped(QueueRegisters queue) {
        lock.lock();
        try {
            return new QueueView(
                    queue.pump.index(),
                    "stopped",
                    queue.layout(),
                    queue.lastAvail,
                    queue.lastAvail,
                    queue.usedIndex,
                    queue.usedIndex,
                    List.of());
        } finally {
            lock.unlock();
        }
    }

    /** Live state for people. Waits for the event loops. */
    public Map<String, Object> inspect() {
        List<QueueView> views = new ArrayList<>();
        for (QueueRegisters queue : queues) {
            queue.pump.loop().call(() -> views.add(queue.pump.started() ? queue.pump.view() : stopped(queue)));
        }
        Map<String, Object> map = new LinkedHashMap<>();
        lock.lock();
        try {
            map.put("status", status);
            map.put("features", negotiated);
        } finally {
            lock.unlock();
        }
        map.put("queues", List.copyOf(views));
        map.putAll(device.inspect());
        return map;
    }
}
