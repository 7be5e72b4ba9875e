package org.benchtop.scsi.lsi;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.scsi.ScsiCommand;
import org.benchtop.spi.scsi.ScsiTaskManagement;
import org.jspecify.annotations.Nullable;

/**
 * A parallel bus with one initiator, and the bus behaviour of its targets: phases, messages, nexuses, disconnection and
 * reselection (SPI-4, 10 to 16). It knows neither registers nor memory: the SCRIPTS processor moves bytes through it.
 *
 * <p>Passive and guarded by the adapter's lock. What is to be done outside of the lock is left in {@link #takeWork}.
 */
final class SpiBus {
    static final int DATA_OUT = 0;
    static final int DATA_IN = 1;
    static final int COMMAND = 2;
    static final int STATUS = 3;
    static final int MSG_OUT = 6;
    static final int MSG_IN = 7;

    /** Identifiers on a wide bus. */
    static final int TARGETS = 16;

    static final int LUNS = 64;

    /** Tasks on the whole bus: a target with more to do answers TASK SET FULL. */
    static final int MAX_TASKS = 256;

    private static final long MAX_BUFFER_BYTES = 64L << 20;

    private static final int MSG_COMMAND_COMPLETE = 0x00;
    private static final int MSG_EXTENDED = 0x01;
    private static final int MSG_SAVE_POINTERS = 0x02;
    private static final int MSG_DISCONNECT = 0x04;
    private static final int MSG_INITIATOR_ERROR = 0x05;
    private static final int MSG_ABORT_TASK_SET = 0x06;
    private static final int MSG_REJECT = 0x07;
    private static final int MSG_NO_OPERATION = 0x08;
    private static final int MSG_PARITY_ERROR = 0x09;
    private static final int MSG_TARGET_RESET = 0x0c;
    private static final int MSG_ABORT_TASK = 0x0d;
    private static final int MSG_CLEAR_TASK_SET = 0x0e;
    private static final int MSG_LOGICAL_UNIT_RESET = 0x17;
    private static final int MSG_SIMPLE = 0x20;
    private static final int MSG_HEAD_OF_QUEUE = 0x21;
    private static final int MSG_ORDERED = 0x22;
    private static final int MSG_IGNORE_WIDE_RESIDUE = 0x23;
    private static final int MSG_IDENTIFY = 0x80;
    private static final int IDENTIFY_DISCONNECT = 0x40;
    private static final int IDENTIFY_LUN = 0x3f;
    private static final int EXTENDED_SDTR = 0x01;
    private static final int EXTENDED_WDTR = 0x03;
    private static final int EXTENDED_PPR = 0x04;

    /** Ultra2: 25 ns. */
    private static final int FASTEST_PERIOD = 10;

    private static final int LARGEST_OFFSET = 31;
    private static final int MAX_CDB = 16;
    private static final int NO_SENSE_LENGTH = 18;
    private static final int REQUEST_SENSE = 0x03;

    /** What follows a message to the initiator. */
    enum After {
        GO_ON,
        DISCONNECT,
        COMPLETE,
    }

    /** Something to be done on the event loop without the lock. */
    sealed interface Work {
        /** Look at a command, and start it if it needs no data out. */
        record Prepare(SpiTask task) implements Work {}

        /** Start a command. */
        record Execute(SpiTask task) implements Work {}

        /** Task management of one target. */
        record Manage(int target, ScsiTaskManagement function, int lun, int tag) implements Work {}
    }

    private final boolean[] present = new boolean[TARGETS];
    private final ArrayDeque<Work> work = new ArrayDeque<>();
    private final ArrayDeque<SpiTask> reselecting = new ArrayDeque<>();
    private final List<SpiTask> live = new ArrayList<>();
    private final ArrayDeque<SpiTask> free = new ArrayDeque<>();
    private final byte[] @Nullable [] sense = new byte[TARGETS * LUNS][];
    private long bufferBytes;

    private int connected = -1;
    private int phase;
    private boolean request;
    private boolean attention;
    private boolean acknowledged;

    private int lun = -1;
    private int tag = -1;
    private ScsiCommand.Attribute attribute = ScsiCommand.Attribute.SIMPLE;
    private boolean mayDisconnect;
    private @Nullable SpiTask task;

    private final byte[] cdb = new byte[MAX_CDB];
    private int cdbBytes;
    private final byte[] in = new byte[16];
    private int inAt;
    private int inEnd;
    private After after = After.GO_ON;
    private final byte[] out = new byte[258];
    private int outBytes;

    private long commands;
    private long reselections;
    private long negotiations;

    // The bus as the chip's pins show it.

    /** The target that the initiator is connected to, or -1. */
    int connected() {
        return connected;
    }

    /** MSG, C/D and I/O as a number. */
    int phase() {
        return phase;
    }

    /** REQ. */
    boolean request() {
        return request;
    }

    boolean attention() {
        return attention;
    }

    boolean acknowledged() {
        return acknowledged;
    }

    /** Whether a target waits for the bus to give a command back. */
    boolean wantsReselection() {
        return !reselecting.isEmpty();
    }

    /** Commands so far. */
    long commands() {
        return commands;
    }

    /** Reselections so far. */
    long reselections() {
        return reselections;
    }

    /** Negotiation messages answered so far. */
    long negotiations() {
        return negotiations;
    }

    /** Tasks of the whole bus. */
    int tasks() {
        return live.size();
    }

    /** Whether task management waits to be carried out. */
    boolean hasManagement() {
        return work.peekFirst() instanceof Work.Manage;
    }

    /** Tasks that targets work on. */
    int working() {
        int count = 0;
        for (int i = 0; i < live.size(); i++) {
            SpiTask t = live.get(i);
            count += t.stage == SpiTask.Stage.WORKING && !t.parked ? 1 : 0;
        }
        return count;
    }

    void present(int target, boolean value) {
        present[target] = value;
    }

    /**
     * What to do outside the lock, or null.
     *
     * @param onlyManagement leaves commands where they are
     */
    @Nullable
    Work takeWork(boolean onlyManagement) {
        return onlyManagement && !(work.peekFirst() instanceof Work.Manage) ? null : work.pollFirst();
    }

    boolean hasWork() {
        return !work.isEmpty();
    }

    // The initiator.

    /** Selection. Returns whether the target has answered. */
    boolean select(int target, boolean withAttention) {
        if (!present[target]) {
            return false;
        }
        connected = target;
        lun = -1;
        tag = -1;
        attribute = ScsiCommand.Attribute.SIMPLE;
        mayDisconnect = false;
        task = null;
        cdbBytes = 0;
        outBytes = 0;
        inAt = 0;
        inEnd = 0;
        after = After.GO_ON;
        attention = withAttention;
        acknowledged = false;
        // Also without ATN: firmware sends IDENTIFY without.
        show(MSG_OUT, true);
        return true;
    }

    /** Lets the next target that waits take the bus. Only while it is free. */
    int reselect() {
        SpiTask next = reselecting.removeFirst();
        connected = next.target;
        lun = next.lun;
        tag = next.tag;
        mayDisconnect = next.mayDisconnect;
        task = next;
        cdbBytes = 0;
        outBytes = 0;
        attention = false;
        acknowledged = false;
        reselections++;
        say(After.GO_ON, MSG_IDENTIFY | next.lun);
        if (next.tag >= 0) {
            in[inEnd++] = MSG_SIMPLE;
            in[inEnd++] = (byte) next.tag;
        }
        return connected;
    }

    /** SET ATN. */
    void raiseAttention() {
        attention = connected >= 0;
    }

    /** CLEAR ATN. */
    void dropAttention() {
        attention = false;
    }

    /** SET ACK. */
    void holdAcknowledge() {
        acknowledged = connected >= 0;
    }

    /** CLEAR ACK: the target goes on. */
    void settle() {
        if (!acknowledged) {
            return;
        }
        acknowledged = false;
        if (connected < 0 || phase != MSG_IN || inAt < inEnd) {
            return;
        }
        switch (after) {
            case GO_ON -> goOn();
            case DISCONNECT -> disconnect();
            case COMPLETE -> {
                SpiTask done = task;
                busFree();
                if (done != null) {
                    recycle(done);
                }
            }
        }
    }

    private void disconnect() {
        SpiTask waiting = task;
        if (attention) {
            goOn();
            return;
        }
        busFree();
        if (waiting != null && waiting.stage == SpiTask.Stage.ANSWERED && !waiting.abandoned) {
            reselecting.addLast(waiting);
        }
    }

    private void busFree() {
        connected = -1;
        task = null;
        attention = false;
        acknowledged = false;
        inAt = 0;
        inEnd = 0;
        show(DATA_OUT, false);
    }

    private void show(int newPhase, boolean newRequest) {
        phase = newPhase;
        request = newRequest;
    }

    /** Starts a message to the initiator. */
    private void say(After then, int first) {
        inAt = 0;
        inEnd = 0;
        in[inEnd++] = (byte) first;
        after = then;
        show(MSG_IN, true);
    }

    /** The target chooses the next phase. */
    private void goOn() {
        SpiTask current = task;
        if (attention) {
            show(MSG_OUT, true);
        } else if (current == null) {
            show(COMMAND, true);
        } else {
            switch (current.stage) {
                case NEW, COMPLETE -> show(current.dataBytes > 0 ? DATA_OUT : COMMAND, false);
                case COLLECTING -> show(DATA_OUT, true);
                case WORKING -> waitForTarget(current);
                case ANSWERED -> show(answerPhase(current), true);
            }
            if (current.stage == SpiTask.Stage.ANSWERED && phase == MSG_IN) {
                say(After.COMPLETE, MSG_COMMAND_COMPLETE);
            }
        }
    }

    private static int answerPhase(SpiTask task) {
        if (task.command.direction() == ScsiCommand.Direction.IN && task.movedBytes < task.dataBytes) {
            return DATA_IN;
        }
        return task.statusSent ? MSG_IN : STATUS;
    }

    /** The target needs time: it gives the bus away if it may. */
    private void waitForTarget(SpiTask current) {
        if (!current.mayDisconnect) {
            // The lines say already what will come; there is no REQ yet.
            show(current.command.direction() == ScsiCommand.Direction.IN ? DATA_IN : STATUS, false);
        } else if (current.movedBytes > 0) {
            say(After.DISCONNECT, MSG_SAVE_POINTERS);
            in[inEnd++] = MSG_DISCONNECT;
        } else {
            say(After.DISCONNECT, MSG_DISCONNECT);
        }
    }

    // Bytes in the information transfer phases.

    /** The next message byte for the initiator; there is one in MSG IN. */
    int messageIn() {
        int value = in[inAt++] & 0xff;
        acknowledged = true;
        request = inAt < inEnd;
        return value;
    }

    /** Whether the current message to the initiator goes on after a byte that is not acknowledged yet. */
    boolean moreMessageIn() {
        return inAt < inEnd;
    }

    /** The status byte. */
    int statusIn() {
        SpiTask current = task;
        if (current == null) {
            return ScsiCommand.BUSY;
        }
        current.statusSent = true;
        goOn();
        return current.status;
    }

    /** A byte of the CDB. Returns whether the target takes more. */
    boolean commandOut(int value) {
        cdb[cdbBytes++] = (byte) value;
        return cdbBytes < MAX_CDB;
    }

    /** The block move in COMMAND phase is over; with enough bytes for its operation the command starts. */
    void commandEnd() {
        int length = length(cdb[0] & 0xff);
        if (cdbBytes < length) {
            return;
        }
        commands++;
        int target = connected;
        int unit = lun >= 0 ? lun : cdb[1] >> 5 & 7;
        if (answerSense(target, unit)) {
            return;
        }
        sense[target * LUNS + unit] = null;
        if (live.size() >= MAX_TASKS || bufferBytes >= MAX_BUFFER_BYTES) {
            answer(newTask(target, unit), ScsiCommand.TASK_SET_FULL);
            return;
        }
        boolean overlapped = taken(target, unit, tag);
        SpiTask created = newTask(target, unit);
        if (overlapped) {
            // The nexus is in use: the live command is left alone.
            refuse(created, 0x0b, 0x4e, 0);
            return;
        }
        created.command.begin(unit, created.commandTag());
        created.command.attribute(attribute);
        System.arraycopy(cdb, 0, created.command.cdb(), 0, cdbBytes);
        created.command.cdbLength(cdbBytes);
        show(COMMAND, false);
        work.addLast(created.prepare);
    }

    private static int length(int operation) {
        return switch (operation >> 5) {
            case 0 -> 6;
            case 1, 2 -> 10;
            case 4 -> 16;
            case 5 -> 12;
            default -> 6;
        };
    }

    private boolean taken(int target, int unit, int askedTag) {
        for (int i = 0; i < live.size(); i++) {
            SpiTask other = live.get(i);
            if (!other.abandoned && other.target == target && other.lun == unit && other.tag == askedTag) {
                return true;
            }
        }
        return false;
    }

    private SpiTask newTask(int target, int unit) {
        SpiTask next = free.pollLast();
        SpiTask created = (next == null ? new SpiTask() : next).begin(target, unit, tag, mayDisconnect, attribute);
        live.add(created);
        task = created;
        return created;
    }

    /** Answers at once, without the target's command set. */
    private void answer(SpiTask created, int status) {
        created.command.begin(created.lun, 0);
        created.stage = SpiTask.Stage.ANSWERED;
        created.status = status;
        goOn();
    }

    private void refuse(SpiTask created, int key, int asc, int ascq) {
        byte[] data = new byte[NO_SENSE_LENGTH];
        data[0] = 0x70;
        data[2] = (byte) key;
        data[7] = 10;
        data[12] = (byte) asc;
        data[13] = (byte) ascq;
        sense[created.target * LUNS + created.lun] = data;
        answer(created, ScsiCommand.CHECK_CONDITION);
    }

    /** REQUEST SENSE after CHECK CONDITION is answered from what came with that status. */
    private boolean answerSense(int target, int unit) {
        byte[] data = sense[target * LUNS + unit];
        boolean fixedFormat = (cdb[1] & 1) == 0;
        if ((cdb[0] & 0xff) != REQUEST_SENSE || data == null || !fixedFormat) {
            return false;
        }
        sense[target * LUNS + unit] = null;
        SpiTask created = newTask(target, unit);
        created.command.begin(unit, 0);
        created.dataBytes = Math.min(data.length, cdb[4] & 0xff);
        created.command.expect(ScsiCommand.Direction.IN, created.dataBytes, false);
        bufferBytes += created.reserve(created.dataBytes);
        java.lang.foreign.MemorySegment.copy(
                data, 0, created.buffer, java.lang.foreign.ValueLayout.JAVA_BYTE, 0, (int) created.dataBytes);
        created.stage = SpiTask.Stage.ANSWERED;
        goOn();
        return true;
    }

    /** The command of the connection, in a data phase. */
    SpiTask data() {
        SpiTask current = task;
        if (current == null) {
            throw new IllegalStateException("no command in phase " + phase);
        }
        return current;
    }

    /** Bytes of the data phase were moved. */
    void dataMoved(long bytes) {
        SpiTask current = data();
        current.movedBytes += bytes;
        if (current.movedBytes < current.dataBytes) {
            return;
        }
        if (phase == DATA_OUT) {
            current.stage = SpiTask.Stage.COMPLETE;
            show(DATA_OUT, false);
            work.addLast(current.execute);
        } else {
            goOn();
        }
    }

    /** What became of a message byte. */
    enum MessageOut {
        /** More may come. */
        TAKEN,
        /** The target changes the phase now. */
        ANSWERED,
        /** The target has gone. */
        BUS_FREE,
    }

    /** A message byte of the initiator. */
    MessageOut messageOut(int value) {
        out[outBytes++] = (byte) value;
        if (outBytes < messageLength()) {
            return MessageOut.TAKEN;
        }
        int bytes = outBytes;
        outBytes = 0;
        int first = out[0] & 0xff;
        if (first >= MSG_IDENTIFY) {
            identify(first);
            return MessageOut.TAKEN;
        }
        return switch (first) {
            case MSG_EXTENDED -> extended(bytes);
            case MSG_SIMPLE, MSG_HEAD_OF_QUEUE, MSG_ORDERED -> {
                tagged(first);
                yield MessageOut.TAKEN;
            }
            case MSG_NO_OPERATION, MSG_REJECT, MSG_INITIATOR_ERROR, MSG_PARITY_ERROR, MSG_IGNORE_WIDE_RESIDUE ->
                MessageOut.TAKEN;
            case MSG_ABORT_TASK_SET -> manage(ScsiTaskManagement.ABORT_TASK_SET);
            case MSG_CLEAR_TASK_SET -> manage(ScsiTaskManagement.CLEAR_TASK_SET);
            case MSG_ABORT_TASK -> manage(tag < 0 ? ScsiTaskManagement.ABORT_TASK_SET : ScsiTaskManagement.ABORT_TASK);
            case MSG_LOGICAL_UNIT_RESET -> manage(ScsiTaskManagement.LOGICAL_UNIT_RESET);
            case MSG_TARGET_RESET -> manage(ScsiTaskManagement.TARGET_RESET);
            default -> reject();
        };
    }

    /** The length of the message in {@link #out} as far as it can be known. */
    private int messageLength() {
        int first = out[0] & 0xff;
        if (first == MSG_EXTENDED) {
            int length = out[1] & 0xff;
            return outBytes < 2 ? 2 : 2 + (length == 0 ? 256 : length);
        }
        return first >= MSG_SIMPLE && first < 0x30 ? 2 : 1;
    }

    /** The block move in MSG OUT phase is over: without ATN, and with whole messages, the target goes on. */
    void messageOutEnd() {
        if (connected >= 0 && phase == MSG_OUT && outBytes == 0 && !attention) {
            goOn();
        }
    }

    private void identify(int value) {
        if (task == null) {
            lun = value & IDENTIFY_LUN;
            mayDisconnect = (value & IDENTIFY_DISCONNECT) != 0;
        }
    }

    private void tagged(int kind) {
        if (task == null) {
            tag = out[1] & 0xff;
            attribute = switch (kind) {
                case MSG_HEAD_OF_QUEUE -> ScsiCommand.Attribute.HEAD_OF_QUEUE;
                case MSG_ORDERED -> ScsiCommand.Attribute.ORDERED;
                default -> ScsiCommand.Attribute.SIMPLE;
            };
        }
    }

    private MessageOut reject() {
        say(After.GO_ON, MSG_REJECT);
        attention = false;
        return MessageOut.ANSWERED;
    }

    /** Negotiation: the target agrees to everything that an Ultra2 drive can do. */
    private MessageOut extended(int bytes) {
        int code = out[2] & 0xff;
        switch (code) {
            case EXTENDED_SDTR -> {
                if (bytes == 5) {
                    int offset = Math.min(out[4] & 0xff, LARGEST_OFFSET);
                    agree(3, code, Math.max(out[3] & 0xff, FASTEST_PERIOD), offset);
                    return MessageOut.ANSWERED;
                }
            }
            case EXTENDED_WDTR -> {
                if (bytes == 4) {
                    agree(2, code, Math.min(out[3] & 0xff, 1), 0);
                    return MessageOut.ANSWERED;
                }
            }
            case EXTENDED_PPR -> {
                if (bytes == 8) {
                    agree(6, code, Math.max(out[3] & 0xff, FASTEST_PERIOD), 0);
                    in[inEnd++] = (byte) Math.min(out[5] & 0xff, LARGEST_OFFSET);
                    in[inEnd++] = (byte) Math.min(out[6] & 0xff, 1);
                    in[inEnd++] = 0;
                    return MessageOut.ANSWERED;
                }
            }
            default -> {}
        }
        return reject();
    }

    private void agree(int length, int code, int third, int fourth) {
        negotiations++;
        attention = false;
        say(After.GO_ON, MSG_EXTENDED);
        in[inEnd++] = (byte) length;
        in[inEnd++] = (byte) code;
        in[inEnd++] = (byte) third;
        if (length > 2) {
            in[inEnd++] = (byte) fourth;
        }
    }

    private MessageOut manage(ScsiTaskManagement function) {
        int target = connected;
        int unit = Math.max(lun, 0);
        for (int i = 0; i < live.size(); i++) {
            SpiTask other = live.get(i);
            boolean meant = other.target == target
                    && switch (function) {
                        case TARGET_RESET -> true;
                        case ABORT_TASK -> other.lun == unit && other.tag == tag;
                        default -> other.lun == unit;
                    };
            if (meant) {
                other.abandoned = true;
            }
        }
        work.addLast(new Work.Manage(target, function, unit, tag));
        busFree();
        dropAbandoned();
        return MessageOut.BUS_FREE;
    }

    // Resets.

    /** RST: the bus is free, and every target forgets its commands. */
    void reset() {
        abandonAll();
        for (int target = 0; target < TARGETS; target++) {
            if (present[target]) {
                work.addLast(new Work.Manage(target, ScsiTaskManagement.BUS_RESET, 0, -1));
            }
        }
    }

    /** The initiator has lost its memory: what targets work on ends without being told. */
    void abandonAll() {
        work.removeIf(w -> !(w instanceof Work.Manage));
        for (int i = 0; i < live.size(); i++) {
            live.get(i).abandoned = true;
        }
        busFree();
        dropAbandoned();
        java.util.Arrays.fill(sense, null);
    }

    /** A target has gone. */
    void lost(int target) {
        for (int i = 0; i < live.size(); i++) {
            if (live.get(i).target == target) {
                live.get(i).abandoned = true;
            }
        }
        if (connected == target) {
            busFree();
        }
        dropAbandoned();
    }

    /** Frees abandoned tasks that no target works on. */
    private void dropAbandoned() {
        reselecting.removeIf(t -> t.abandoned);
        work.removeIf(w -> switch (w) {
            case Work.Prepare p -> p.task.abandoned;
            case Work.Execute e -> e.task.abandoned;
            case Work.Manage m -> false;
        });
        for (int i = live.size() - 1; i >= 0; i--) {
            SpiTask t = live.get(i);
            if (t.abandoned && t.stage != SpiTask.Stage.WORKING) {
                recycle(t);
            }
        }
    }

    private void recycle(SpiTask done) {
        live.remove(done);
        if (bufferBytes > MAX_BUFFER_BYTES / 4) {
            bufferBytes -= done.buffer.byteSize();
            done.buffer = java.lang.foreign.MemorySegment.NULL;
        } else {
            bufferBytes -= done.release();
        }
        free.addLast(done);
    }

    // The target.

    /**
     * The target has looked at a new command. Returns whether it is to be executed now; otherwise data out is collected
     * first, or it is refused.
     */
    boolean prepared(SpiTask prepared) {
        ScsiCommand command = prepared.command;
        if (prepared.abandoned) {
            return false;
        }
        long bytes = command.direction() == ScsiCommand.Direction.NONE ? 0 : command.expectedBytes();
        if (bytes > SpiTask.MAX_DATA_BYTES) {
            refuse(prepared, 0x05, 0x24, 0);
            return false;
        }
        bufferBytes += prepared.reserve(bytes);
        if (command.direction() == ScsiCommand.Direction.OUT) {
            prepared.dataBytes = bytes;
            if (bytes > 0) {
                prepared.stage = SpiTask.Stage.COLLECTING;
                goOn();
                return false;
            }
        }
        work(prepared, bytes);
        return true;
    }

    private static void work(SpiTask started, long bytes) {
        ScsiCommand command = started.command;
        command.dataIn().clear();
        command.dataOut().clear();
        switch (command.direction()) {
            case IN -> command.dataIn().add(started.buffer, 0, bytes);
            case OUT -> command.dataOut().add(started.buffer, 0, started.dataBytes);
            case NONE -> {}
        }
        started.stage = SpiTask.Stage.WORKING;
    }

    /** A command with all its data out is about to be executed. Returns whether to do so. */
    boolean executing(SpiTask complete) {
        if (complete.abandoned) {
            return false;
        }
        work(complete, complete.command.expectedBytes());
        return true;
    }

    /** The command was handed to its target; if it is not answered yet the target may disconnect. */
    void started(SpiTask started) {
        if (started == task && started.stage == SpiTask.Stage.WORKING) {
            goOn();
        }
    }

    /** The target has answered. Returns whether the bus has changed. */
    boolean answered(SpiTask done) {
        ScsiCommand command = done.command;
        if (done.abandoned || command.outcome() == ScsiCommand.Outcome.ABORTED) {
            if (done == task) {
                busFree();
            }
            done.abandoned = true;
            done.stage = SpiTask.Stage.ANSWERED;
            recycle(done);
            return true;
        }
        if (command.outcome() == ScsiCommand.Outcome.PARKED) {
            done.parked = true;
            return false;
        }
        done.stage = SpiTask.Stage.ANSWERED;
        done.status = command.status();
        if (command.direction() == ScsiCommand.Direction.IN) {
            done.dataBytes = Math.min(command.transferredBytes(), done.buffer.byteSize());
            done.movedBytes = 0;
        }
        if (done.status == ScsiCommand.CHECK_CONDITION && command.senseLength() > 0) {
            sense[done.target * LUNS + done.lun] = java.util.Arrays.copyOf(command.sense(), command.senseLength());
        }
        if (done != task) {
            reselecting.addLast(done);
        } else if (phase != MSG_IN) {
            goOn();
        }
        return true;
    }

    /** Tasks that the error policy of a drive has stopped; they are to be executed again. */
    List<SpiTask> takeParked() {
        List<SpiTask> parked = new ArrayList<>();
        for (SpiTask t : live) {
            if (t.parked) {
                t.parked = false;
                parked.add(t);
            }
        }
        return parked;
    }

    // Saved state.

    /** Saved state: of tasks that targets work on there are only parked ones. */
    record State(
            int connected,
            int phase,
            boolean request,
            boolean attention,
            boolean acknowledged,
            int lun,
            int tag,
            ScsiCommand.Attribute attribute,
            boolean mayDisconnect,
            int task,
            byte[] cdb,
            int cdbBytes,
            byte[] in,
            int inAt,
            int inEnd,
            After after,
            byte[] out,
            int outBytes,
            List<SpiTask.State> tasks,
            int[] reselecting,
            List<Sense> sense) {}

    /** Sense data that waits for REQUEST SENSE. */
    record Sense(int nexus, byte[] data) {}

    State save() {
        List<Sense> kept = new ArrayList<>();
        for (int i = 0; i < sense.length; i++) {
            if (sense[i] != null) {
                kept.add(new Sense(i, sense[i].clone()));
            }
        }
        return new State(
                connected,
                phase,
                request,
                attention,
                acknowledged,
                lun,
                tag,
                attribute,
                mayDisconnect,
                task == null ? -1 : live.indexOf(task),
                cdb.clone(),
                cdbBytes,
                in.clone(),
                inAt,
                inEnd,
                after,
                out.clone(),
                outBytes,
                live.stream().map(SpiTask::save).toList(),
                reselecting.stream().mapToInt(live::indexOf).toArray(),
                List.copyOf(kept));
    }

    void restore(State saved) {
        abandonAll();
        work.clear();
        connected = saved.connected;
        phase = saved.phase;
        request = saved.request;
        attention = saved.attention;
        acknowledged = saved.acknowledged;
        lun = saved.lun;
        tag = saved.tag;
        attribute = saved.attribute;
        mayDisconnect = saved.mayDisconnect;
        System.arraycopy(saved.cdb, 0, cdb, 0, cdb.length);
        cdbBytes = saved.cdbBytes;
        System.arraycopy(saved.in, 0, in, 0, in.length);
        inAt = saved.inAt;
        inEnd = saved.inEnd;
        after = saved.after;
        System.arraycopy(saved.out, 0, out, 0, out.length);
        outBytes = saved.outBytes;
        for (SpiTask.State state : saved.tasks) {
            SpiTask next = free.pollLast();
            SpiTask restored = next == null ? new SpiTask() : next;
            bufferBytes += restored.restore(state);
            live.add(restored);
            switch (restored.stage) {
                case NEW -> work.addLast(restored.prepare);
                case COMPLETE -> work.addLast(restored.execute);
                case COLLECTING, WORKING, ANSWERED -> {}
            }
        }
        task = saved.task < 0 ? null : live.get(saved.task);
        for (int index : saved.reselecting) {
            reselecting.addLast(live.get(index));
        }
        for (Sense kept : saved.sense) {
            sense[kept.nexus] = kept.data.clone();
        }
    }
}
