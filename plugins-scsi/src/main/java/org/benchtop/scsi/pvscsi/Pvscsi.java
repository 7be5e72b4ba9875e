package org.benchtop.scsi.pvscsi;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.benchtop.scsi.hba.Quiescence;
import org.benchtop.scsi.hba.TargetSlots;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.pci.Bar;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.spi.pci.PciFunctionSpec;
import org.benchtop.spi.scsi.ScsiPort;
import org.benchtop.spi.scsi.ScsiTaskManagement;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.stats.Counter;
import org.jspecify.annotations.Nullable;

/**
 * The VMware paravirtual SCSI adapter (15ad:07c0), after the header of its Linux driver. Registers come on vCPU threads and
 * are guarded by a lock; rings and requests belong to one event loop.
 */
public final class Pvscsi implements Device {
    static final int TARGETS = 64;

    private static final int VMWARE = 0x15ad;
    private static final int DEVICE_ID = 0x07c0;
    private static final int CLASS_SCSI = 0x010000;
    private static final long BAR_BYTES = 32 << 10;
    private static final long MSIX_TABLE = 0x6000;
    private static final long MSIX_PENDING = 0x7000;
    private static final int STATE_VERSION = 1;
    /** How long a reset or abort by the guest may hold its vCPU. */
    private static final long GUEST_WAIT_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final int CMD_ADAPTER_RESET = 1;
    private static final int CMD_SETUP_RINGS = 3;
    private static final int CMD_RESET_BUS = 4;
    private static final int CMD_RESET_DEVICE = 5;
    private static final int CMD_ABORT_CMD = 6;
    private static final int CMD_CONFIG = 7;
    private static final int CMD_SETUP_MSG_RING = 8;
    private static final int CMD_DEVICE_UNPLUG = 9;
    private static final int CMD_SETUP_REQCALLTHRESHOLD = 10;

    private static final int SUCCEEDED = 0;
    private static final int SUPPORTED = 1;
    private static final int FAILED = -1;
    private static final int NOT_ENOUGH_DATA = -2;

    private static final int INTR_CMPL_0 = 1;
    private static final int INTR_MSG_0 = 1 << 2;
    private static final int INTR_ALL = 0xf;

    private static final int MSG_DEV_ADDED = 0;
    private static final int MSG_DEV_REMOVED = 1;

    /** The configuration page of the controller, up to the number of its phys. */
    private static final int CONFIG_PAGE_CONTROLLER = 0x1958;

    private static final int CONFIG_PAGE_BYTES = 480;
    private static final int CONFIG_NUM_PHYS = 472;

    private final String id;
    private final PvscsiOptions options;
    private Optional<Attached> attached = Optional.empty();

    private final ReentrantLock lock = new ReentrantLock();
    private final RegisterMap<PvscsiRegister> registers =
            new RegisterMap<>("pvscsi", PvscsiRegister.class, new Registers());

    // Guarded by the lock.
    private int command;
    private int[] data = new int[0];
    private int dataWords;
    private int commandStatus;
    private final int[] lastStatus = new int[4];
    private int debug;
    private int interruptStatus;
    private int interruptMask;
    private boolean paused;

    // On the loop, or while nothing is in flight.
    private @Nullable Rings rings;
    private volatile int generation;
    private volatile boolean stopped;
    private int resets;
    private PvscsiRequest[] requests = {};
    private int[] free = {};
    private int freeCount;
    private final List<PvscsiRequest> parked = new ArrayList<>();
    private boolean inTurn;
    private boolean completed;

    private record Attached(
            PciFunction function,
            EventLoop loop,
            Doorbell doorbell,
            GuestMemory memory,
            TargetSlots targets,
            Quiescence quiescence,
            Counters counters) {}

    /** What is counted. */
    record Counters(Counter commands, Counter kicks, Counter interrupts, Counter guestErrors) {}

    public Pvscsi(String id, PvscsiOptions options) {
        this.id = id;
        this.options = options;
    }

    @Override
    public void attach(DeviceContext context) {
        EventLoop loop = options.iothread().map(context::eventLoop).orElseGet(context::eventLoop);
        PciFunction function = context.pci()
                .add(new PciFunctionSpec(VMWARE, DEVICE_ID)
                        .classCode(CLASS_SCSI)
                        .revision(2)
                        .subsystem(VMWARE, DEVICE_ID)
                        .interruptPin(1)
                        .address(options.addr().map(PciAddress::parse))
                        .bar(Bar.memory32(0, BAR_BYTES, registers))
                        .msix(1, 0, MSIX_TABLE, MSIX_PENDING)
                        .msi(1));
        TargetSlots targets =
                new TargetSlots(context, id, function.address(), TARGETS, 1, loop, new TargetSlots.Listener() {
                    @Override
                    public void added(int target, int lun) {
                        loop.execute(() -> message(MSG_DEV_ADDED, target, lun));
                    }

                    @Override
                    public void removed(int target, int lun) {
                        loop.execute(() -> message(MSG_DEV_REMOVED, target, lun));
                    }
                });
        attached = Optional.of(new Attached(
                function,
                loop,
                loop.doorbell(id, this::turn),
                context.memory(),
                targets,
                new Quiescence(loop, targets::drain),
                new Counters(
                        context.stats().counter("commands"),
                        context.stats().counter("notifications"),
                        context.stats().counter("interrupts"),
                        context.stats().counter("guest-errors"))));
    }

    private Attached attached() {
        return attached.orElseThrow(() -> new IllegalStateException(id + " is not attached"));
    }

    // Registers.

    private final class Registers implements RegisterMap.Handler<PvscsiRegister> {
        @Override
        public long read(PvscsiRegister register) {
            return peek(register);
        }

        @Override
        public long peek(PvscsiRegister register) {
            lock.lock();
            try {
                return switch (register) {
                    case COMMAND_STATUS -> commandStatus;
                    case LAST_STS_0, LAST_STS_1, LAST_STS_2, LAST_STS_3 -> lastStatus[index(register)];
                    case INTR_STATUS -> interruptStatus;
                    case INTR_MASK -> interruptMask;
                    case DEBUG -> debug;
                    case COMMAND, COMMAND_DATA, KICK_NON_RW_IO, KICK_RW_IO -> 0;
                };
            } finally {
                lock.unlock();
            }
        }

        private static int index(PvscsiRegister register) {
            return (register.offset() & 0xf) / 4;
        }

        @Override
        public void write(PvscsiRegister register, long value) {
            int bits = (int) value;
            switch (register) {
                case COMMAND -> command(bits);
                case COMMAND_DATA -> commandData(bits);
                case LAST_STS_0, LAST_STS_1, LAST_STS_2, LAST_STS_3 -> locked(() -> lastStatus[index(register)] = bits);
                case INTR_STATUS -> interrupt(0, bits, -1);
                case INTR_MASK -> interrupt(0, 0, bits & INTR_ALL);
                case DEBUG -> locked(() -> debug = bits);
                case KICK_NON_RW_IO, KICK_RW_IO -> kick();
                case COMMAND_STATUS -> {}
            }
        }
    }

    private void locked(Runnable action) {
        lock.lock();
        try {
            action.run();
        } finally {
            lock.unlock();
        }
    }

    /** Sets and clears interrupt causes, changes the mask unless it is negative, and tells the guest. */
    private void interrupt(int set, int clear, int mask) {
        Attached a = attached();
        boolean raised;
        lock.lock();
        try {
            interruptStatus = (interruptStatus | set) & ~clear;
            interruptMask = mask < 0 ? interruptMask : mask;
            raised = (interruptStatus & interruptMask) != 0;
        } finally {
            lock.unlock();
        }
        if (a.function.msix().enabled() || a.function.msi().enabled()) {
            a.function.intx().lower();
            if (raised && (set != 0 || mask > 0)) {
                a.counters.interrupts.increment();
                (a.function.msix().enabled() ? a.function.msix() : a.function.msi()).signal(0);
            }
        } else {
            if (raised && set != 0) {
                a.counters.interrupts.increment();
            }
            a.function.intx().set(raised);
        }
    }

    private static int parameterWords(int command) {
        return switch (command) {
            case CMD_SETUP_RINGS -> 528 / 4;
            case CMD_RESET_DEVICE, CMD_DEVICE_UNPLUG -> 12 / 4;
            case CMD_ABORT_CMD -> 16 / 4;
            case CMD_CONFIG -> 24 / 4;
            case CMD_SETUP_MSG_RING -> 136 / 4;
            case CMD_SETUP_REQCALLTHRESHOLD -> 1;
            default -> 0;
        };
    }

    private void command(int value) {
        boolean run;
        lock.lock();
        try {
            command = value;
            dataWords = 0;
            data = new int[parameterWords(value)];
            run = data.length == 0;
            commandStatus = NOT_ENOUGH_DATA;
        } finally {
            lock.unlock();
        }
        if (run) {
            finishCommand(value, new int[0]);
        }
    }

    private void commandData(int value) {
        int run;
        int[] parameters;
        lock.lock();
        try {
            if (dataWords >= data.length) {
                return;
            }
            data[dataWords++] = value;
            if (dataWords < data.length) {
                return;
            }
            run = command;
            parameters = data;
            command = 0;
            data = new int[0];
            dataWords = 0;
        } finally {
            lock.unlock();
        }
        finishCommand(run, parameters);
    }

    private void finishCommand(int what, int[] words) {
        Attached a = attached();
        MemorySegment parameters = MemorySegment.ofArray(words);
        int status = switch (what) {
            case CMD_ADAPTER_RESET -> {
                resetAdapter();
                yield SUCCEEDED;
            }
            case CMD_SETUP_RINGS -> setUpRings(words);
            case CMD_SETUP_MSG_RING -> setUpMessages(words);
            case CMD_RESET_BUS -> {
                manage(() -> {
                    resets++;
                    a.targets.manageAll(ScsiTaskManagement.BUS_RESET, () -> resets--);
                });
                yield SUCCEEDED;
            }
            case CMD_RESET_DEVICE -> {
                int lun = PvscsiRequest.lun(parameters, 4);
                manage(() -> resetDevice(words[0], lun));
                yield SUCCEEDED;
            }
            case CMD_ABORT_CMD -> {
                long context = long64(words, 0);
                manage(() -> abort(context, words[2]));
                yield SUCCEEDED;
            }
            case CMD_CONFIG -> configure(long64(words, 0), words[4]);
            case CMD_SETUP_REQCALLTHRESHOLD -> callThreshold();
            default -> FAILED;
        };
        locked(() -> commandStatus = status);
    }

    private static long long64(int[] words, int at) {
        return words[at] & 0xffff_ffffL | (long) words[at + 1] << 32;
    }

    private static long[] pages(int[] words, int at, int count) {
        long[] pages = new long[count];
        for (int i = 0; i < count; i++) {
            pages[i] = long64(words, at + 2 * i);
        }
        return pages;
    }

    private int setUpRings(int[] words) {
        Attached a = attached();
        int requestPages = words[0];
        int completionPages = words[1];
        if (requestPages < 1
                || requestPages > Rings.MAX_PAGES
                || completionPages < 1
                || completionPages > Rings.MAX_PAGES
                || !a.function.busMaster()) {
            return FAILED;
        }
        try {
            Rings made = new Rings(
                    a.memory,
                    long64(words, 2),
                    pages(words, 4, requestPages),
                    pages(words, 4 + 2 * Rings.MAX_PAGES, completionPages));
            made.initialize();
            a.loop.call(() -> {
                generation++;
                rings = made;
            });
            return SUCCEEDED;
        } catch (GuestFault e) {
            a.counters.guestErrors.increment();
            return FAILED;
        }
    }

    private int setUpMessages(int[] words) {
        Attached a = attached();
        int count = words[0];
        int[] status = {FAILED};
        if (count >= 1 && count <= Rings.MAX_MESSAGE_PAGES && a.function.busMaster()) {
            a.loop.call(() -> {
                Rings to = rings;
                if (to != null) {
                    try {
                        to.messages(pages(words, 2, count));
                        to.initializeMessages();
                        status[0] = SUCCEEDED;
                    } catch (GuestFault e) {
                        a.counters.guestErrors.increment();
                    }
                }
            });
        }
        return status[0];
    }

    /** Every request is worth a kick: nothing looks at the rings without one. */
    private int callThreshold() {
        int[] status = {FAILED};
        attached().loop.call(() -> {
            Rings to = rings;
            if (to != null && attached().function.busMaster()) {
                to.callThreshold(1);
                status[0] = SUPPORTED;
            }
        });
        return status[0];
    }

    private int configure(long address, int page) {
        Attached a = attached();
        if (page != CONFIG_PAGE_CONTROLLER || !a.function.busMaster()) {
            return FAILED;
        }
        // The header's host and SCSI status, 0, say that the page is there.
        byte[] bytes = new byte[CONFIG_PAGE_BYTES];
        MemorySegment to = MemorySegment.ofArray(bytes);
        to.set(ValueLayout.JAVA_INT_UNALIGNED, 0, page);
        to.set(ValueLayout.JAVA_SHORT_UNALIGNED, 4, (short) (CONFIG_PAGE_BYTES / 4));
        to.set(ValueLayout.JAVA_INT_UNALIGNED, CONFIG_NUM_PHYS, TARGETS);
        try {
            a.memory.write(address, bytes, 0, bytes.length);
            return SUCCEEDED;
        } catch (GuestFault e) {
            a.counters.guestErrors.increment();
            return FAILED;
        }
    }

    /** Runs task management and waits a while for what it aborts, as drivers expect completions right afterwards. */
    private void manage(Runnable onLoop) {
        Attached a = attached();
        a.loop.call(() -> {
            onLoop.run();
            flush();
        });
        boolean unused = awaitResets(a);
    }

    private boolean awaitResets(Attached a) {
        return resets == 0 || a.quiescence.await(GUEST_WAIT_NANOS);
    }

    private void resetDevice(int target, int lun) {
        ScsiPort port = port(target);
        if (port != null) {
            resets++;
            port.manage(ScsiTaskManagement.LOGICAL_UNIT_RESET, lun, 0, 0, result -> resets--);
        }
    }

    private void abort(long context, int target) {
        ScsiPort port = port(target);
        for (PvscsiRequest request : requests) {
            if (port != null && request.busy() && current(request.generation()) && request.context() == context) {
                port.manage(ScsiTaskManagement.ABORT_TASK, request.lun(), request.slot(), 0, result -> {});
                return;
            }
        }
    }

    private void resetAdapter() {
        Attached a = attached();
        a.loop.call(() -> {
            generation++;
            rings = null;
            parked.forEach(this::release);
            parked.clear();
            a.targets.manageAll(ScsiTaskManagement.BUS_RESET, () -> {});
        });
        boolean unused = a.quiescence.await(GUEST_WAIT_NANOS);
        lock.lock();
        try {
            Arrays.fill(lastStatus, 0);
            interruptStatus = 0;
            interruptMask = 0;
            debug = 0;
            command = 0;
            data = new int[0];
            dataWords = 0;
        } finally {
            lock.unlock();
        }
        interrupt(0, INTR_ALL, 0);
    }

    // Requests.

    private void kick() {
        Attached a = attached();
        a.counters.kicks.increment();
        if (!a.loop.tryRun(this::turn)) {
            a.doorbell.ring();
        }
    }

    /** Takes what waits, at most a ring full. */
    private void turn() {
        Attached a = attached.orElse(null);
        Rings from = rings;
        if (a == null || from == null || stopped || inTurn || !a.function.busMaster()) {
            return;
        }
        inTurn = true;
        try {
            int waiting = from.waiting();
            if (waiting < 0 || waiting > from.requestEntries()) {
                // No driver that keeps the rules offers more than the ring holds.
                a.counters.guestErrors.increment();
                return;
            }
            while (waiting > 0 && a.quiescence.inFlight() + parked.size() < from.requestEntries() && !stopped) {
                PvscsiRequest request = request();
                from.take(request.descriptor());
                waiting--;
                a.quiescence.started();
                request.start(generation);
            }
        } finally {
            inTurn = false;
            a.targets.kick();
            flush();
        }
    }

    private PvscsiRequest request() {
        if (freeCount > 0) {
            return requests[free[--freeCount]];
        }
        requests = Arrays.copyOf(requests, requests.length + 1);
        free = Arrays.copyOf(free, requests.length);
        PvscsiRequest made = new PvscsiRequest(this, requests.length - 1);
        requests[requests.length - 1] = made;
        return made;
    }

    /** Shows completions of a burst, and tells the guest once. */
    private void flush() {
        Rings to = rings;
        if (completed && to != null) {
            completed = false;
            to.publish();
            interrupt(INTR_CMPL_0, 0, -1);
        }
    }

    private void message(int type, int target, int lun) {
        Rings to = rings;
        if (to != null && !stopped && attached().function.busMaster() && to.message(type, target, lun)) {
            interrupt(INTR_MSG_0, 0, -1);
        }
    }

    // What requests ask, on the loop.

    GuestMemory memory() {
        return attached().memory;
    }

    Counters counters() {
        return attached().counters;
    }

    @Nullable
    ScsiPort port(int target) {
        return attached().targets.port(target);
    }

    boolean resetting() {
        return resets > 0;
    }

    /** Whether completions of a set-up still reach the driver. */
    boolean current(int of) {
        return of == generation && rings != null && attached().function.busMaster();
    }

    void release(PvscsiRequest request) {
        free[freeCount++] = request.slot();
        if (!parked.contains(request)) {
            attached().quiescence.ended();
        }
    }

    void complete(PvscsiRequest request, long dataBytes, int senseBytes, int hostStatus, int scsiStatus) {
        Rings to = rings;
        if (to != null) {
            to.complete(request.context(), dataBytes, senseBytes, hostStatus, scsiStatus);
            completed = true;
        }
        free[freeCount++] = request.slot();
        if (!inTurn) {
            flush();
            // The ring may have been left because too much was in flight.
            attached().doorbell.ring();
        }
        attached().quiescence.ended();
    }

    void park(PvscsiRequest request) {
        if (current(request.generation())) {
            parked.add(request);
            attached().quiescence.ended();
        } else {
            release(request);
        }
    }

    // Life.

    @Override
    public void reset() {
        Attached a = attached();
        a.loop.call(() -> stopped = true);
        resetAdapter();
        a.quiescence.await();
        locked(() -> commandStatus = 0);
        a.function.reset();
        a.loop.call(() -> stopped = paused);
    }

    @Override
    public void pause() {
        Attached a = attached();
        locked(() -> paused = true);
        a.loop.call(() -> stopped = true);
        a.quiescence.await();
    }

    @Override
    public void resume() {
        Attached a = attached();
        locked(() -> paused = false);
        a.loop.call(() -> {
            stopped = false;
            List<PvscsiRequest> again = List.copyOf(parked);
            parked.clear();
            for (PvscsiRequest request : again) {
                a.quiescence.started();
                request.start(generation);
            }
            turn();
        });
    }

    /** Saved state; requests that wait for the machine to go on are kept as their descriptors. */
    record State(
            SavedState function,
            int command,
            int[] data,
            int dataWords,
            int commandStatus,
            int[] lastStatus,
            int debug,
            int interruptStatus,
            int interruptMask,
            Optional<Rings.State> rings,
            byte[] parked) {}

    @Override
    public SavedState saveState() {
        byte[] descriptors = new byte[parked.size() * Rings.REQUEST_BYTES];
        for (int i = 0; i < parked.size(); i++) {
            MemorySegment.copy(
                    parked.get(i).descriptor(),
                    ValueLayout.JAVA_BYTE,
                    0,
                    descriptors,
                    i * Rings.REQUEST_BYTES,
                    Rings.REQUEST_BYTES);
        }
        Rings now = rings;
        lock.lock();
        try {
            return new SavedState(
                    STATE_VERSION,
                    new State(
                            attached().function.saveState(),
                            command,
                            data.clone(),
                            dataWords,
                            commandStatus,
                            lastStatus.clone(),
                            debug,
                            interruptStatus,
                            interruptMask,
                            now == null ? Optional.empty() : Optional.of(now.save()),
                            descriptors));
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void restoreState(SavedState state) {
        if (state.version() != STATE_VERSION) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    id + ": saved state has version " + state.version() + ", this build reads version "
                            + STATE_VERSION);
        }
        if (!(state.content() instanceof State saved)) {
            throw BenchtopException.config(id + ": saved state is of another device: "
                    + state.content().getClass().getSimpleName());
        }
        Attached a = attached();
        a.function.restoreState(saved.function);
        lock.lock();
        try {
            command = saved.command;
            data = saved.data.clone();
            dataWords = saved.dataWords;
            commandStatus = saved.commandStatus;
            System.arraycopy(saved.lastStatus, 0, lastStatus, 0, lastStatus.length);
            debug = saved.debug;
            interruptStatus = saved.interruptStatus;
            interruptMask = saved.interruptMask;
        } finally {
            lock.unlock();
        }
        a.loop.call(() -> restoreRings(a, saved));
        interrupt(0, 0, -1);
    }

    private void restoreRings(Attached a, State saved) {
        generation++;
        try {
            rings = saved.rings.isPresent() ? Rings.restore(a.memory, saved.rings.get()) : null;
        } catch (GuestFault e) {
            throw BenchtopException.config(id + ": saved rings do not fit this machine's memory: " + e.getMessage());
        }
        for (int i = 0; i < saved.parked.length / Rings.REQUEST_BYTES; i++) {
            PvscsiRequest request = request();
            MemorySegment.copy(
                    saved.parked,
                    i * Rings.REQUEST_BYTES,
                    request.descriptor(),
                    ValueLayout.JAVA_BYTE,
                    0,
                    Rings.REQUEST_BYTES);
            parked.add(request);
        }
    }

    @Override
    public List<RegisterMap<?>> registers() {
        return List.of(registers);
    }

    @Override
    public Map<String, Object> inspect() {
        return attached.map(a -> a.targets.inspect()).orElse(Map.of());
    }

    @Override
    public void close() {
        Optional<Attached> closing = attached;
        closing.ifPresent(a -> {
            a.loop.call(() -> {
                stopped = true;
                generation++;
                rings = null;
                a.targets.manageAll(ScsiTaskManagement.BUS_RESET, () -> {});
            });
            a.quiescence.await();
            attached = Optional.empty();
            a.doorbell.close();
            a.targets.close();
            a.function.close();
        });
    }
}
