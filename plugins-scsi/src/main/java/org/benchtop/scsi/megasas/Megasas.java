package org.benchtop.scsi.megasas;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
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
import org.benchtop.spi.scsi.ScsiCommand;
import org.benchtop.spi.scsi.ScsiPort;
import org.benchtop.spi.scsi.ScsiTarget;
import org.benchtop.spi.scsi.ScsiTaskManagement;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.stats.Counter;
import org.jspecify.annotations.Nullable;

/**
 * The LSI MegaRAID SAS 1078 (1000:0060) in MFI mode, after the header of its Linux driver: each target is a logical drive.
 * Registers come on vCPU threads and are guarded by a lock; frames belong to one event loop.
 */
public final class Megasas implements Device {
    static final int TARGETS = 64;
    /** Frames that a driver may have in flight. */
    static final int MAX_FRAMES = 1008;

    private static final int MAX_SGE = 80;
    private static final long STATE_READY = 0xb000_0000L;
    private static final long STATE_OPERATIONAL = 0xc000_0000L;
    private static final long STATE_FAULT = 0xf000_0000L;
    /** What the firmware state registers show after reset. */
    static final long FIRMWARE_READY = STATE_READY | MAX_SGE << 16 | MAX_FRAMES;

    private static final int LSI = 0x1000;
    private static final int SAS1078 = 0x0060;
    private static final int CLASS_RAID = 0x010400;
    private static final long REGISTER_BYTES = 16 << 10;
    private static final long PORT_BYTES = 256;
    private static final int STATE_VERSION = 1;
    private static final long GUEST_WAIT_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final int INTERRUPT_REPLY = 0x8000_0001;
    private static final int INIT_ABORT = 1;
    private static final int INIT_READY = 1 << 1;
    private static final int INIT_STOP = 1 << 5;

    private final String id;
    private final MegasasOptions options;
    private Optional<Attached> attached = Optional.empty();

    private final ReentrantLock lock = new ReentrantLock();
    private final RegisterMap<MfiRegister> registers = new RegisterMap<>("megasas", MfiRegister.class, new Registers());

    // Guarded by the lock.
    private long firmwareState = STATE_READY;
    private int interruptMask = -1;
    private boolean replies;
    private int frameHigh;
    private final long[] queued = new long[MAX_FRAMES];
    private int queuedFirst;
    private int queuedCount;
    private boolean paused;

    // On the loop, or while nothing is in flight.
    private @Nullable ReplyQueue replyQueue;
    private volatile int generation;
    private volatile boolean stopped;
    private MfiCommand[] commands = {};
    private int[] free = {};
    private int freeCount;
    /** Frames that wait for the machine to go on. */
    private final List<Long> parked = new ArrayList<>();
    /** The frame that waits for an event; 0 for none. */
    private long eventFrame;

    private int eventSequence = 1;
    private final ArrayDeque<Event> events = new ArrayDeque<>();
    private boolean inTurn;
    private boolean posted;

    private record Event(int code, int target) {}

    private record Attached(
            PciFunction function,
            EventLoop loop,
            Doorbell doorbell,
            GuestMemory memory,
            TargetSlots targets,
            Quiescence quiescence,
            Counters counters) {}

    /** What is counted. */
    record Counters(Counter commands, Counter directCommands, Counter interrupts, Counter guestErrors) {}

    public Megasas(String id, MegasasOptions options) {
        this.id = id;
        this.options = options;
    }

    @Override
    public void attach(DeviceContext context) {
        EventLoop loop = options.iothread().map(context::eventLoop).orElseGet(context::eventLoop);
        PciFunction function = context.pci()
                .add(new PciFunctionSpec(LSI, SAS1078)
                        .classCode(CLASS_RAID)
                        .revision(4)
                        .subsystem(LSI, 0x1013)
                        .interruptPin(1)
                        .address(options.addr().map(PciAddress::parse))
                        .bar(Bar.memory32(0, REGISTER_BYTES, registers))
                        .bar(Bar.io(2, PORT_BYTES, registers)));
        TargetSlots targets =
                new TargetSlots(context, id, function.address(), TARGETS, 1, loop, new TargetSlots.Listener() {
                    @Override
                    public void added(int target, int lun) {
                        loop.execute(() -> event(new Event(Mfi.EVENT_LD_CREATED, target)));
                    }

                    @Override
                    public void removed(int target, int lun) {
                        loop.execute(() -> event(new Event(Mfi.EVENT_LD_DELETED, target)));
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
                        context.stats().counter("direct-commands"),
                        context.stats().counter("interrupts"),
                        context.stats().counter("guest-errors"))));
    }

    private Attached attached() {
        return attached.orElseThrow(() -> new IllegalStateException(id + " is not attached"));
    }

    // Registers.

    private final class Registers implements RegisterMap.Handler<MfiRegister> {
        @Override
        public long read(MfiRegister register) {
            return peek(register);
        }

        @Override
        public long peek(MfiRegister register) {
            lock.lock();
            try {
                return switch (register) {
                    case OUTBOUND_MSG_0, OUTBOUND_SCRATCH_PAD_0 -> firmwareState | MAX_SGE << 16 | MAX_FRAMES;
                    case OUTBOUND_INTR_STATUS -> replies && interruptMask != -1 ? INTERRUPT_REPLY : 0;
                    case OUTBOUND_INTR_MASK -> interruptMask;
                    case OUTBOUND_DOORBELL, OUTBOUND_DOORBELL_CLEAR -> replies ? 1 : 0;
                    case OUTBOUND_SCRATCH_PAD_1,
                            INBOUND_DOORBELL,
                            INBOUND_QUEUE_PORT,
                            INBOUND_LOW_QUEUE_PORT,
                            INBOUND_HIGH_QUEUE_PORT -> 0;
                };
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void write(MfiRegister register, long value) {
            int bits = (int) value;
            switch (register) {
                case INBOUND_DOORBELL -> doorbell(bits);
                case OUTBOUND_INTR_MASK -> {
                    locked(() -> interruptMask = bits);
                    interrupt();
                }
                case OUTBOUND_DOORBELL_CLEAR -> {
                    locked(() -> replies = false);
                    interrupt();
                }
                case INBOUND_HIGH_QUEUE_PORT -> locked(() -> frameHigh = bits);
                case INBOUND_QUEUE_PORT, INBOUND_LOW_QUEUE_PORT -> queue(bits);
                case OUTBOUND_MSG_0,
                        OUTBOUND_INTR_STATUS,
                        OUTBOUND_DOORBELL,
                        OUTBOUND_SCRATCH_PAD_0,
                        OUTBOUND_SCRATCH_PAD_1 -> {}
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

    /** Brings the interrupt line to where it belongs. */
    private void interrupt() {
        boolean raised;
        lock.lock();
        try {
            raised = replies && interruptMask != -1;
        } finally {
            lock.unlock();
        }
        attached().function.intx().set(raised);
    }

    private void doorbell(int bits) {
        if ((bits & INIT_STOP) != 0) {
            locked(() -> firmwareState = STATE_FAULT);
        } else if ((bits & INIT_READY) != 0) {
            softReset();
        } else if ((bits & INIT_ABORT) != 0) {
            abortAll(false);
        }
    }

    private void softReset() {
        abortAll(true);
        lock.lock();
        try {
            firmwareState = STATE_READY;
            interruptMask = -1;
            replies = false;
            frameHigh = 0;
            queuedFirst = 0;
            queuedCount = 0;
        } finally {
            lock.unlock();
        }
        interrupt();
    }

    /** Ends what is in flight and waits a while for that; {@code silently}: the driver does not see completions. */
    private void abortAll(boolean silently) {
        Attached a = attached();
        a.loop.call(() -> {
            if (silently) {
                generation++;
                replyQueue = null;
                parked.clear();
                eventFrame = 0;
                events.clear();
                eventSequence = 1;
            }
            a.targets.manageAll(ScsiTaskManagement.BUS_RESET, () -> {});
            flush();
        });
        boolean unused = a.quiescence.await(GUEST_WAIT_NANOS);
    }

    // Frames.

    private void queue(int bits) {
        Attached a = attached();
        boolean full;
        lock.lock();
        try {
            full = queuedCount == MAX_FRAMES;
            if (!full) {
                int last = (queuedFirst + queuedCount) % MAX_FRAMES;
                // The low bits count further pieces of the frame, which lie behind it anyway.
                queued[last] = (long) frameHigh << 32 | bits & 0xffff_ffe0L;
                queuedCount++;
            }
            frameHigh = 0;
        } finally {
            lock.unlock();
        }
        if (full) {
            a.counters.guestErrors.increment();
        } else if (!a.loop.tryRun(this::turn)) {
            a.doorbell.ring();
        }
    }

    /** The oldest queued frame; -1 if there is none. */
    private long nextFrame() {
        lock.lock();
        try {
            if (queuedCount == 0) {
                return -1;
            }
            long frame = queued[queuedFirst];
            queuedFirst = (queuedFirst + 1) % MAX_FRAMES;
            queuedCount--;
            return frame;
        } finally {
            lock.unlock();
        }
    }

    /** Takes queued frames, at most as many as may be in flight. */
    private void turn() {
        Attached a = attached.orElse(null);
        if (a == null || stopped || inTurn || !a.function.busMaster()) {
            return;
        }
        inTurn = true;
        try {
            for (int i = 0; i < MAX_FRAMES && !stopped; i++) {
                boolean room = a.quiescence.inFlight() + parked.size() < MAX_FRAMES;
                long frame = room ? nextFrame() : -1;
                if (frame < 0) {
                    break;
                }
                start(frame);
            }
        } finally {
            inTurn = false;
            a.targets.kick();
            flush();
        }
    }

    private void start(long frame) {
        attached().quiescence.started();
        command().start(frame, generation);
    }

    private MfiCommand command() {
        if (freeCount > 0) {
            return commands[free[--freeCount]];
        }
        commands = Arrays.copyOf(commands, commands.length + 1);
        free = Arrays.copyOf(free, commands.length);
        MfiCommand made = new MfiCommand(this, commands.length - 1);
        commands[commands.length - 1] = made;
        return made;
    }

    /** Tells the driver once of what was posted in a burst. */
    private void flush() {
        if (posted) {
            posted = false;
            attached().counters.interrupts.increment();
            locked(() -> replies = true);
            interrupt();
        }
    }

    // What commands ask, on the loop.

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

    /** Whether completions since some reset still reach the driver. */
    boolean current(int of) {
        return of == generation && attached().function.busMaster();
    }

    /** A frame has its status: the driver finds it by polling, or in the reply queue. */
    void completed(MfiCommand command) {
        if (current(command.generation())) {
            post(command.context(), command.flags());
        }
        released(command);
    }

    private void post(long context, int flags) {
        ReplyQueue to = replyQueue;
        if (to == null || (flags & Mfi.FLAG_DONT_POST) != 0) {
            return;
        }
        try {
            to.post(context);
            posted = true;
            if (!inTurn) {
                flush();
            }
        } catch (GuestFault e) {
            attached().counters.guestErrors.increment();
        }
    }

    private void released(MfiCommand command) {
        free[freeCount++] = command.slot();
        if (!inTurn && queuedCount > 0) {
            attached().doorbell.ring();
        }
        attached().quiescence.ended();
    }

    void park(MfiCommand command) {
        if (current(command.generation())) {
            parked.add(command.frame());
        }
        released(command);
    }

    /** The driver gives us its reply queue. */
    void initialize(MfiCommand command) throws GuestFault {
        GuestMemory memory = memory();
        long info = memory.readLong(command.frame() + Mfi.QUEUE_INFO);
        int flags = memory.readInt(info);
        int entries = memory.readInt(info + 4);
        long ring = memory.readLong(info + 8);
        long producer = memory.readLong(info + 16);
        boolean wide = (flags & Mfi.QUEUE_FLAG_CONTEXT64) != 0;
        boolean fits = entries > 0
                && entries <= 0xffff
                && memory.isRam(ring, (long) entries * (wide ? 8 : 4))
                && memory.isRam(producer, 4);
        if (!fits) {
            command.finish(Mfi.STAT_INVALID_PARAMETER, 0);
            return;
        }
        int next = Math.floorMod(memory.readInt(producer), entries);
        replyQueue = new ReplyQueue(memory, new ReplyQueue.State(entries, ring, producer, wide, next));
        locked(() -> firmwareState = STATE_OPERATIONAL);
        command.finish(Mfi.STAT_OK, 0);
    }

    /** Aborts a frame by its address. */
    void abort(MfiCommand command, int context, long address) throws GuestFault {
        if (eventFrame != 0 && address == eventFrame) {
            completeEvent(Mfi.STAT_OK);
            command.finish(Mfi.STAT_OK, 0);
            return;
        }
        for (MfiCommand other : commands) {
            ScsiPort port = port(other.target());
            if (other.busy()
                    && other != command
                    && other.frame() == address
                    && (int) other.context() == context
                    && port != null) {
                port.manage(
                        ScsiTaskManagement.ABORT_TASK,
                        other.lun(),
                        other.slot(),
                        0,
                        result -> command.finish(Mfi.STAT_OK, 0));
                return;
            }
        }
        command.finish(Mfi.STAT_ABORT_NOT_POSSIBLE, 0);
    }

    /** A direct command to the firmware. */
    void direct(MfiCommand command, int opcode, int mailbox) throws GuestFault {
        counters().directCommands.increment();
        switch (opcode) {
            case Mfi.DCMD_CTRL_GET_INFO -> command.reply(controllerInfo());
            case Mfi.DCMD_CTRL_GET_PROPERTIES -> command.reply(new byte[64]);
            case Mfi.DCMD_CTRL_EVENT_GET_INFO -> command.reply(eventInfo());
            case Mfi.DCMD_CTRL_EVENT_WAIT -> waitForEvent(command);
            case Mfi.DCMD_CTRL_GET_TIME -> {
                byte[] seconds = new byte[4];
                little(seconds).putInt(0, (int) TimeUnit.MILLISECONDS.toSeconds(System.currentTimeMillis()));
                command.reply(seconds);
            }
            case Mfi.DCMD_CTRL_CACHE_FLUSH, Mfi.DCMD_CTRL_SHUTDOWN -> flushCaches(command);
            case Mfi.DCMD_CTRL_SET_PROPERTIES -> command.finish(Mfi.STAT_OK, 0);
            case Mfi.DCMD_PD_GET_LIST, Mfi.DCMD_PD_LIST_QUERY -> {
                // All disks are parts of logical drives, so none is shown by itself.
                byte[] none = new byte[8];
                little(none).putInt(0, none.length);
                command.reply(none);
            }
            case Mfi.DCMD_LD_GET_LIST -> command.reply(logicalDrives());
            case Mfi.DCMD_LD_LIST_QUERY -> command.reply(logicalDriveIds());
            default -> command.finish(Mfi.STAT_INVALID_DCMD, 0);
        }
    }

    private static ByteBuffer little(byte[] bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private List<Integer> drives() {
        List<Integer> present = new ArrayList<>();
        for (int i = 0; i < TARGETS; i++) {
            if (attached().targets.target(i).isPresent()) {
                present.add(i);
            }
        }
        return present;
    }

    /** {@code struct MR_LD_LIST}. */
    private byte[] logicalDrives() {
        byte[] bytes = new byte[8 + TARGETS * 16];
        ByteBuffer list = little(bytes);
        List<Integer> drives = drives();
        list.putInt(0, drives.size());
        int at = 8;
        for (int target : drives) {
            list.put(at, (byte) target);
            // Optimal.
            list.put(at + 4, (byte) 3);
            long size = attached()
                    .targets
                    .target(target)
                    .map(t -> t.sizeBytes(firstLun(t)).orElse(0))
                    .orElse(0L);
            list.putLong(at + 8, size / 512);
            at += 16;
        }
        return bytes;
    }

    private static int firstLun(ScsiTarget target) {
        return target.luns().stream().findFirst().orElse(0);
    }

    /** {@code struct MR_LD_TARGETID_LIST}. */
    private byte[] logicalDriveIds() {
        List<Integer> drives = drives();
        byte[] bytes = new byte[12 + TARGETS];
        little(bytes).putInt(0, bytes.length).putInt(4, drives.size());
        for (int i = 0; i < drives.size(); i++) {
            bytes[12 + i] = (byte) (int) drives.get(i);
        }
        return bytes;
    }

    /** {@code struct megasas_ctrl_info}. */
    private byte[] controllerInfo() {
        byte[] bytes = new byte[0x800];
        ByteBuffer info = little(bytes);
        info.putShort(0, (short) LSI)
                .putShort(2, (short) SAS1078)
                .putShort(4, (short) LSI)
                .putShort(6, (short) 0x1013);
        info.put(0x20, (byte) 0x02);
        info.put(0x68, (byte) 0x01);
        info.put(0x53c, (byte) 32).put(0x53d, (byte) 8).put(0x53e, (byte) 128).put(0x53f, (byte) TARGETS);
        text(bytes, 0x540, "MegaRAID SAS 1078 (Benchtop)");
        text(bytes, 0x590, id);
        info.putShort(0x5b8, (short) MAX_FRAMES).putShort(0x5ba, (short) MAX_SGE);
        int drives = drives().size();
        info.putShort(0x5c0, (short) drives);
        info.putShort(0x5c6, (short) drives).putShort(0x5c8, (short) drives);
        return bytes;
    }

    private static void text(byte[] to, int at, String text) {
        byte[] ascii = text.getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(ascii, 0, to, at, Math.min(ascii.length, 31));
    }

    /** {@code struct megasas_evt_log_info}. */
    private byte[] eventInfo() {
        byte[] bytes = new byte[20];
        little(bytes)
                .putInt(0, eventSequence)
                .putInt(4, 1)
                .putInt(8, 1)
                .putInt(12, 1)
                .putInt(16, 1);
        return bytes;
    }

    /** Makes everything that was written durable, on all drives. */
    private void flushCaches(MfiCommand command) {
        List<Integer> drives = drives();
        int[] left = {1};
        Runnable done = () -> {
            if (--left[0] == 0) {
                command.finish(Mfi.STAT_OK, 0);
            }
        };
        for (int target : drives) {
            ScsiPort port = port(target);
            if (port != null) {
                left[0]++;
                ScsiCommand flush = new ScsiCommand().begin(0, -1L - target);
                flush.cdb()[0] = 0x35;
                flush.cdbLength(10);
                port.execute(flush, finished -> done.run());
            }
        }
        attached().targets.kick();
        done.run();
    }

    // Events.

    private void waitForEvent(MfiCommand command) throws GuestFault {
        if (eventFrame != 0) {
            command.finish(Mfi.STAT_INVALID_PARAMETER, 0);
            return;
        }
        eventFrame = command.frame();
        // Waiting is not work in flight: it would keep a machine from being paused.
        command.detach();
        released(command);
        deliverEvents();
    }

    private void event(Event what) {
        if (attached.isEmpty() || replyQueue == null || stopped) {
            return;
        }
        eventSequence++;
        if (events.size() < TARGETS) {
            events.add(what);
        }
        deliverEvents();
    }

    private void deliverEvents() {
        if (eventFrame == 0 || events.isEmpty()) {
            return;
        }
        Event next = events.remove();
        // struct megasas_evt_detail: sequence, time, code, class and locale, argument, description.
        byte[] detail = new byte[256];
        little(detail).putInt(0, eventSequence).putInt(8, next.code).putShort(12, (short) 1);
        detail[32] = (byte) next.target;
        String text = (next.code == Mfi.EVENT_LD_CREATED ? "Created VD " : "Deleted VD ") + next.target;
        byte[] ascii = text.getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(ascii, 0, detail, 128, ascii.length);
        long frame = eventFrame;
        try {
            GuestMemory memory = memory();
            int flags = memory.readShort(frame + Mfi.FLAGS) & 0xffff;
            boolean wide = (flags & Mfi.FLAG_SGL64) != 0;
            long address =
                    wide ? memory.readLong(frame + Mfi.DCMD_SGL) : memory.readInt(frame + Mfi.DCMD_SGL) & 0xffff_ffffL;
            long size = memory.readInt(frame + Mfi.DCMD_SGL + (wide ? 8 : 4)) & 0xffff_ffffL;
            memory.write(address, detail, 0, (int) Math.min(detail.length, size));
            completeEvent(Mfi.STAT_OK);
        } catch (GuestFault e) {
            eventFrame = 0;
            counters().guestErrors.increment();
        }
    }

    private void completeEvent(int status) throws GuestFault {
        GuestMemory memory = memory();
        long frame = eventFrame;
        eventFrame = 0;
        memory.writeByte(frame + Mfi.CMD_STATUS, (byte) status);
        memory.written(frame + Mfi.CMD_STATUS, 1);
        post(memory.readLong(frame + Mfi.CONTEXT), memory.readShort(frame + Mfi.FLAGS) & 0xffff);
    }

    // Life.

    @Override
    public void reset() {
        Attached a = attached();
        a.loop.call(() -> stopped = true);
        softReset();
        a.quiescence.await();
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
            List<Long> again = List.copyOf(parked);
            parked.clear();
            again.forEach(this::start);
            turn();
        });
    }

    /** Saved state; frames lie in guest memory, so their addresses are enough. */
    record State(
            SavedState function,
            long firmwareState,
            int interruptMask,
            boolean replies,
            int frameHigh,
            long[] queued,
            long[] parked,
            long eventFrame,
            int eventSequence,
            Optional<ReplyQueue.State> replyQueue) {}

    @Override
    public SavedState saveState() {
        lock.lock();
        try {
            long[] waiting = new long[queuedCount];
            for (int i = 0; i < queuedCount; i++) {
                waiting[i] = queued[(queuedFirst + i) % MAX_FRAMES];
            }
            ReplyQueue queue = replyQueue;
            return new SavedState(
                    STATE_VERSION,
                    new State(
                            attached().function.saveState(),
                            firmwareState,
                            interruptMask,
                            replies,
                            frameHigh,
                            waiting,
                            parked.stream().mapToLong(Long::longValue).toArray(),
                            eventFrame,
                            eventSequence,
                            queue == null ? Optional.empty() : Optional.of(queue.save())));
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
            firmwareState = saved.firmwareState;
            interruptMask = saved.interruptMask;
            replies = saved.replies;
            frameHigh = saved.frameHigh;
            queuedFirst = 0;
            queuedCount = Math.min(saved.queued.length, MAX_FRAMES);
            System.arraycopy(saved.queued, 0, queued, 0, queuedCount);
        } finally {
            lock.unlock();
        }
        a.loop.call(() -> {
            generation++;
            parked.clear();
            for (long frame : saved.parked) {
                parked.add(frame);
            }
            eventFrame = saved.eventFrame;
            eventSequence = saved.eventSequence;
            replyQueue = saved.replyQueue.map(q -> new ReplyQueue(a.memory, q)).orElse(null);
        });
        interrupt();
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
