package org.benchtop.scsi.target;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.ErrorPolicy;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.scsi.ScsiCommand;
import org.benchtop.spi.scsi.ScsiPort;
import org.benchtop.spi.scsi.ScsiTaskManagement;
import org.jspecify.annotations.Nullable;

/**
 * What every logical unit has: a task set in which commands are ordered, aborted and waited for, unit attentions, and the
 * commands of SPC.
 *
 * <p>Commands run on the event loops of their ports; the lock guards what they share and is not held while a drive or an
 * adapter is called.
 */
public abstract sealed class LogicalUnit permits DiskUnit, CdUnit, AbsentUnit {
    /** Initiators that are told apart. */
    static final int INITIATORS = 16;
    /** Unit attentions that wait for one initiator. */
    private static final int ATTENTIONS = 8;

    private static final int MAX_PARAMETER_BYTES = 4096;
    private static final long RECHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final Runnable NOTHING = () -> {};

    private final String id;
    final ReentrantLock lock = new ReentrantLock();
    private final Condition quiet = lock.newCondition();
    private final List<UnitPort> ports = new ArrayList<>();

    private @Nullable Task oldest;
    private @Nullable Task youngest;
    private int tasks;
    private int waiting;
    private int headsOfQueue;
    private int orderedTasks;
    private boolean exclusiveRunning;
    private final List<Management> managements = new ArrayList<>();

    /** Per initiator, oldest first, 0 at the end. */
    private final int[] attentions = new int[INITIATORS * ATTENTIONS];

    private volatile boolean attentionPending;
    private final byte[][] keptSense = new byte[INITIATORS][0];
    private volatile boolean senseKept;

    /** Task management that waits for the commands which it has aborted. */
    private record Management(TargetPort port, List<Task> waitsFor, Runnable last, ScsiPort.Done done) {}

    LogicalUnit(String id) {
        this.id = id;
    }

    /** The name for people. */
    public final String id() {
        return id;
    }

    // What kinds of logical units differ in.

    /** Which commands it knows. */
    abstract Operation.Unit kind();

    /** The size of a logical block. */
    abstract int blockBytes();

    /** Opens a way to the drive. */
    abstract UnitPort openPort(EventLoop loop);

    /** Carries out a command that is not one of all logical units; the CDB has no unknown bits. */
    abstract void perform(Task task, Operation operation);

    /** What a command will move; only for those that are not answered from memory. */
    abstract void prepareMedium(ScsiCommand command, Operation operation);

    /** Standard INQUIRY data. */
    abstract byte[] standardInquiry();

    /** A vital product data page, or an empty array. */
    abstract byte[] vitalProductData(int page);

    /** The numbers of the pages, ascending. */
    abstract int[] vitalProductPages();

    /** Back to the state after a reset or, which forgets more, after power-on; without unit attentions. The lock is held. */
    abstract void resetState(boolean powerOn);

    /** Whether a reservation of somebody else refuses the command. The lock is held. */
    abstract boolean conflicts(Operation operation, byte[] cdb, int initiator);

    /** An initiator has gone. The lock is held. */
    abstract void forget(int initiator);

    /** What to do about a request that the drive could not carry out. */
    abstract ErrorPolicy.Action onError(boolean read, BlockStatus status);

    /** Pauses the machine. */
    abstract void stopMachine(String request, BlockStatus why);

    /** Whether a command changes blocks, so that no other may run meanwhile, depending on what they were. */
    boolean exclusive(Operation operation) {
        return false;
    }

    // Ports.

    /** The way of one event loop to the drive. */
    final UnitPort open(EventLoop loop) {
        lock.lock();
        try {
            for (UnitPort port : ports) {
                if (port.loop() == loop) {
                    return port;
                }
            }
            UnitPort port = openPort(loop);
            ports.add(port);
            return port;
        } finally {
            lock.unlock();
        }
    }

    private List<UnitPort> ports() {
        lock.lock();
        try {
            return List.copyOf(ports);
        } finally {
            lock.unlock();
        }
    }

    // The task set.

    /** A command has come: runs it, or lets it wait for older ones. */
    final void enter(Task task) {
        ScsiCommand command = task.command();
        Operation operation = Operation.of(command.cdb(), kind());
        task.operation(operation);
        boolean start;
        lock.lock();
        try {
            admit(task, operation, command);
            start = task.enabled;
        } finally {
            lock.unlock();
        }
        if (start) {
            run(task);
        }
    }

    private void admit(Task task, @Nullable Operation operation, ScsiCommand command) {
        int initiator = command.initiator() & (INITIATORS - 1);
        if (senseKept && command.operation() != 0x03) {
            keptSense[initiator] = new byte[0];
            senseKept = anySenseKept();
        }
        if (attentionPending && reportsAttention(command.operation())) {
            task.attention = takeAttention(initiator);
        }
        if (task.attention == 0 && operation != null) {
            task.conflict = conflicts(operation, command.cdb(), initiator);
        }
        task.exclusive = operation != null && exclusive(operation);
        ScsiCommand.Attribute attribute = command.attribute();
        boolean ordered = task.exclusive || attribute == ScsiCommand.Attribute.ORDERED;
        boolean head = !ordered && attribute == ScsiCommand.Attribute.HEAD_OF_QUEUE;
        if (ordered) {
            task.enabled = tasks == 0;
        } else if (head) {
            task.enabled = !exclusiveRunning;
        } else {
            task.enabled = orderedTasks == 0 && headsOfQueue == 0;
        }
        append(task);
        if (ordered) {
            orderedTasks++;
        } else if (head) {
            headsOfQueue++;
        }
        if (!task.enabled) {
            waiting++;
        } else if (task.exclusive) {
            exclusiveRunning = true;
        }
    }

    private static boolean ordered(Task task) {
        return task.exclusive || task.command().attribute() == ScsiCommand.Attribute.ORDERED;
    }

    private static boolean head(Task task) {
        return !task.exclusive && task.command().attribute() == ScsiCommand.Attribute.HEAD_OF_QUEUE;
    }

    private void append(Task task) {
        task.older = youngest;
        task.younger = null;
        if (youngest == null) {
            oldest = task;
        } else {
            youngest.younger = task;
        }
        youngest = task;
        tasks++;
    }

    /** A command ends: others may start. Returns whether it was aborted. */
    final boolean leave(Task task) {
        lock.lock();
        try {
            Task older = task.older;
            Task younger = task.younger;
            if (older == null) {
                oldest = younger;
            } else {
                older.younger = younger;
            }
            if (younger == null) {
                youngest = older;
            } else {
                younger.older = older;
            }
            task.older = null;
            task.younger = null;
            tasks--;
            if (ordered(task)) {
                orderedTasks--;
            } else if (head(task)) {
                headsOfQueue--;
            }
            if (task.exclusive) {
                exclusiveRunning = false;
            }
            if (waiting > 0) {
                wakeWaiting();
            }
            if (!managements.isEmpty()) {
                managementsOf(task);
            }
            if (tasks == 0) {
                quiet.signalAll();
            }
            return task.aborted;
        } finally {
            lock.unlock();
        }
    }

    private void wakeWaiting() {
        boolean olderOrdered = false;
        for (Task task = oldest; task != null && waiting > 0; task = task.younger) {
            if (task.enabled) {
                olderOrdered |= ordered(task);
                continue;
            }
            boolean may;
            if (ordered(task)) {
                may = task.older == null && headsOfQueue == 0;
                olderOrdered = true;
            } else if (head(task)) {
                may = !exclusiveRunning;
            } else {
                may = !olderOrdered && headsOfQueue == 0;
            }
            if (may) {
                wake(task);
            }
        }
    }

    /** Lets a waiting command go on its own loop: to run, or to come back aborted. */
    private void wake(Task task) {
        task.enabled = true;
        waiting--;
        if (task.exclusive) {
            exclusiveRunning = true;
        }
        task.port().later(() -> run(task));
    }

    private void managementsOf(Task task) {
        for (int i = managements.size() - 1; i >= 0; i--) {
            Management management = managements.get(i);
            management.waitsFor.remove(task);
            if (management.waitsFor.isEmpty()) {
                managements.remove(i);
                management.last.run();
                management.port.later(() -> management.done.done(ScsiTaskManagement.Result.COMPLETE));
            }
        }
    }

    /** Task management of one logical unit, on the port's loop. */
    final void manage(TargetPort port, ScsiTaskManagement function, long tag, int initiator, ScsiPort.Done done) {
        ScsiTaskManagement.Result result = ScsiTaskManagement.Result.COMPLETE;
        boolean pending = false;
        lock.lock();
        try {
            switch (function) {
                case QUERY_TASK, QUERY_TASK_SET -> {
                    if (!matching(function, tag, initiator).isEmpty()) {
                        result = ScsiTaskManagement.Result.SUCCEEDED;
                    }
                }
                case CLEAR_ACA -> {}
                case ABORT_TASK, ABORT_TASK_SET, CLEAR_TASK_SET ->
                    pending = abort(port, matching(function, tag, initiator), NOTHING, done);
                case I_T_NEXUS_RESET ->
                    pending = abort(port, matching(function, tag, initiator), () -> nexusLost(initiator), done);
                case LOGICAL_UNIT_RESET, TARGET_RESET ->
                    pending = abort(
                            port, matching(function, tag, initiator), () -> wasReset(Sense.LOGICAL_UNIT_RESET), done);
                case BUS_RESET ->
                    pending = abort(port, matching(function, tag, initiator), () -> wasReset(Sense.BUS_RESET), done);
            }
        } finally {
            lock.unlock();
        }
        if (!pending) {
            done.done(result);
        }
    }

    private List<Task> matching(ScsiTaskManagement function, long tag, int initiator) {
        List<Task> found = new ArrayList<>();
        for (Task task = oldest; task != null; task = task.younger) {
            ScsiCommand command = task.command();
            boolean own = command.initiator() == initiator;
            boolean matches = switch (function) {
                case ABORT_TASK, QUERY_TASK -> own && command.tag() == tag;
                case ABORT_TASK_SET, QUERY_TASK_SET, I_T_NEXUS_RESET -> own;
                case CLEAR_TASK_SET, CLEAR_ACA, LOGICAL_UNIT_RESET, TARGET_RESET, BUS_RESET -> true;
            };
            if (matches) {
                found.add(task);
            }
        }
        return found;
    }

    /** Aborts commands; returns whether {@code done} will be called later, when they have come back. */
    private boolean abort(TargetPort port, List<Task> what, Runnable last, ScsiPort.Done done) {
        for (Task task : what) {
            task.aborted = true;
            if (!task.enabled) {
                wake(task);
            }
        }
        if (what.isEmpty()) {
            last.run();
            return false;
        }
        managements.add(new Management(port, what, last, done));
        return true;
    }

    /** Aborts the commands of some initiators, but not the one that asks for it. */
    final void abortOf(boolean[] victims, Task asking) {
        lock.lock();
        try {
            for (Task task = oldest; task != null; task = task.younger) {
                if (task != asking && victims[task.command().initiator() & (INITIATORS - 1)]) {
                    task.aborted = true;
                    if (!task.enabled) {
                        wake(task);
                    }
                }
            }
        } finally {
            lock.unlock();
        }
    }

    private void nexusLost(int initiator) {
        forget(initiator);
        attention(Sense.NEXUS_LOSS, initiator);
    }

    private void wasReset(int sense) {
        resetState(false);
        for (int i = 0; i < INITIATORS; i++) {
            attention(sense, i);
        }
    }

    /** Power-on state. Commands in flight are aborted and awaited. Any thread that holds no lock. */
    public final void powerOn() {
        abortAll();
        awaitQuiet();
        lock.lock();
        try {
            resetState(true);
            java.util.Arrays.fill(attentions, 0);
            for (int i = 0; i < INITIATORS; i++) {
                keptSense[i] = new byte[0];
                attention(Sense.POWER_ON, i);
            }
            senseKept = false;
        } finally {
            lock.unlock();
        }
    }

    private void abortAll() {
        lock.lock();
        try {
            for (Task task = oldest; task != null; task = task.younger) {
                task.aborted = true;
                if (!task.enabled) {
                    wake(task);
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** Waits until no command is in flight. Any thread that holds no lock; returns early on an event loop. */
    public final void awaitQuiet() {
        boolean interrupted = false;
        while (!isQuiet()) {
            for (UnitPort port : ports()) {
                if (port.loop().inLoop()) {
                    return;
                }
                // This also moves loops on that have no thread of their own.
                port.loop().call(port::drain);
            }
            interrupted |= awaitChange();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean isQuiet() {
        lock.lock();
        try {
            return tasks == 0;
        } finally {
            lock.unlock();
        }
    }

    private boolean awaitChange() {
        lock.lock();
        try {
            if (tasks > 0) {
                long unused = quiet.awaitNanos(RECHECK_NANOS);
            }
            return false;
        } catch (InterruptedException e) {
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Aborts what is in flight, waits for it and frees the ways to the drive. It is not in a target any more. */
    public final void close() {
        abortAll();
        awaitQuiet();
        List<UnitPort> closing;
        lock.lock();
        try {
            closing = List.copyOf(ports);
            ports.clear();
        } finally {
            lock.unlock();
        }
        closing.forEach(UnitPort::close);
    }

    // Unit attentions and sense data that waits.

    private static boolean reportsAttention(int operation) {
        return operation != 0x12 && operation != 0xa0 && operation != 0x03;
    }

    /** Establishes a unit attention for all initiators. */
    public final void attention(int sense) {
        lock.lock();
        try {
            for (int i = 0; i < INITIATORS; i++) {
                attention(sense, i);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Establishes a unit attention for all initiators but one. The lock is held. */
    final void attentionExcept(int sense, int initiator) {
        for (int i = 0; i < INITIATORS; i++) {
            if (i != initiator) {
                attention(sense, i);
            }
        }
    }

    /** Establishes a unit attention. The lock is held. */
    final void attention(int sense, int initiator) {
        int base = initiator * ATTENTIONS;
        boolean resets = (sense & 0xff00) == 0x2900;
        if (resets) {
            // What a reset has made obsolete is not reported any more.
            java.util.Arrays.fill(attentions, base, base + ATTENTIONS, 0);
        }
        for (int i = base; i < base + ATTENTIONS; i++) {
            if (attentions[i] == sense) {
                return;
            }
            if (attentions[i] == 0) {
                attentions[i] = sense;
                attentionPending = true;
                return;
            }
        }
    }

    private int takeAttention(int initiator) {
        int base = initiator * ATTENTIONS;
        int sense = attentions[base];
        System.arraycopy(attentions, base + 1, attentions, base, ATTENTIONS - 1);
        attentions[base + ATTENTIONS - 1] = 0;
        boolean any = false;
        for (int attention : attentions) {
            any |= attention != 0;
        }
        attentionPending = any;
        return sense;
    }

    /** Keeps sense data for REQUEST SENSE. */
    final void keepSense(int initiator, byte[] sense) {
        lock.lock();
        try {
            keptSense[initiator & (INITIATORS - 1)] = sense.clone();
            senseKept = true;
        } finally {
            lock.unlock();
        }
    }

    private boolean anySenseKept() {
        for (byte[] kept : keptSense) {
            if (kept.length > 0) {
                return true;
            }
        }
        return false;
    }

    // Commands.

    /** Carries out a command whose turn it is, on its loop. */
    private void run(Task task) {
        Operation operation = task.operation();
        if (task.aborted) {
            task.abort();
        } else if (task.attention != 0) {
            task.check(task.attention);
        } else if (operation == null) {
            unknown(task);
        } else if (task.conflict) {
            task.status(ScsiCommand.RESERVATION_CONFLICT);
        } else {
            int invalid = operation.invalidField(task.cdb());
            if (invalid >= 0) {
                task.invalidCdb(invalid);
            } else {
                performKnown(task, operation);
            }
        }
    }

    private void unknown(Task task) {
        if (Operation.hasServiceActions(task.command().operation(), kind())) {
            task.invalidCdb(1);
        } else {
            task.check(Sense.INVALID_COMMAND);
        }
    }

    private void performKnown(Task task, Operation operation) {
        switch (operation) {
            case INQUIRY -> inquiry(task);
            case REQUEST_SENSE -> requestSense(task);
            case REPORT_LUNS -> task.port().target().reportLuns(task);
            case REPORT_SUPPORTED_OPERATION_CODES -> reportOperations(task);
            case REPORT_SUPPORTED_TMF -> reportTaskManagement(task);
            case SEND_DIAGNOSTIC -> sendDiagnostic(task);
            default -> perform(task, operation);
        }
    }

    /** Says what a command will move (see {@link ScsiPort#prepare}). */
    final void prepare(ScsiCommand command) {
        Operation operation = Operation.of(command.cdb(), kind());
        command.expect(ScsiCommand.Direction.NONE, 0, false);
        boolean refused = operation == null
                || attentionPending && attentionFor(command)
                || operation.invalidField(command.cdb()) >= 0;
        if (!refused && operation != null) {
            prepareKnown(command, operation);
        }
    }

    private boolean attentionFor(ScsiCommand command) {
        if (!reportsAttention(command.operation())) {
            return false;
        }
        lock.lock();
        try {
            return attentions[(command.initiator() & (INITIATORS - 1)) * ATTENTIONS] != 0;
        } finally {
            lock.unlock();
        }
    }

    private void prepareKnown(ScsiCommand command, Operation operation) {
        byte[] cdb = command.cdb();
        switch (operation) {
            case INQUIRY -> in(command, Bytes.uint16(cdb, 3));
            case REQUEST_SENSE, MODE_SENSE_6 -> in(command, Bytes.uint8(cdb, 4));
            case MODE_SENSE_10,
                    PERSISTENT_RESERVE_IN,
                    READ_TOC,
                    GET_CONFIGURATION,
                    GET_EVENT_STATUS_NOTIFICATION,
                    READ_DISC_INFORMATION -> in(command, Bytes.uint16(cdb, 7));
            case REPORT_LUNS, REPORT_SUPPORTED_OPERATION_CODES, REPORT_SUPPORTED_TMF ->
                in(command, Bytes.uint32(cdb, 6));
            case READ_CAPACITY_10 -> in(command, 8);
            case MECHANISM_STATUS -> in(command, Bytes.uint16(cdb, 8));
            case READ_CAPACITY_16, GET_LBA_STATUS -> in(command, Bytes.uint32(cdb, 10));
            case MODE_SELECT_6 -> out(command, Bytes.uint8(cdb, 4));
            case MODE_SELECT_10, UNMAP -> out(command, Bytes.uint16(cdb, 7));
            case PERSISTENT_RESERVE_OUT -> out(command, Bytes.uint32(cdb, 5));
            case SEND_DIAGNOSTIC -> out(command, Bytes.uint16(cdb, 3));
            default -> prepareMedium(command, operation);
        }
    }

    static void in(ScsiCommand command, long bytes) {
        command.expect(bytes == 0 ? ScsiCommand.Direction.NONE : ScsiCommand.Direction.IN, bytes, false);
    }

    static void out(ScsiCommand command, long bytes) {
        command.expect(bytes == 0 ? ScsiCommand.Direction.NONE : ScsiCommand.Direction.OUT, bytes, false);
    }

    private void inquiry(Task task) {
        byte[] cdb = task.cdb();
        long allocation = Bytes.uint16(cdb, 3);
        int page = Bytes.uint8(cdb, 2);
        if ((cdb[1] & 1) == 0) {
            if (page != 0) {
                task.invalidCdb(2);
                return;
            }
            byte[] data = standardInquiry();
            task.reply(data, data.length, allocation);
            return;
        }
        byte[] body;
        if (page == 0) {
            int[] pages = vitalProductPages();
            body = new byte[pages.length];
            for (int i = 0; i < pages.length; i++) {
                body[i] = (byte) pages[i];
            }
        } else {
            body = vitalProductData(page);
        }
        if (body.length == 0) {
            task.invalidCdb(2);
            return;
        }
        byte[] data = new byte[4 + body.length];
        data[0] = standardInquiry()[0];
        data[1] = (byte) page;
        Bytes.int16(data, 2, body.length);
        System.arraycopy(body, 0, data, 4, body.length);
        task.reply(data, data.length, allocation);
    }

    private void requestSense(Task task) {
        byte[] sense = new byte[Sense.FIXED_BYTES];
        int initiator = task.command().initiator() & (INITIATORS - 1);
        lock.lock();
        try {
            byte[] kept = keptSense[initiator];
            if (kept.length > 0) {
                System.arraycopy(kept, 0, sense, 0, sense.length);
                keptSense[initiator] = new byte[0];
                senseKept = anySenseKept();
            } else {
                Sense.fixed(sense, takeAttention(initiator), Sense.NO_INFORMATION, -1);
            }
        } finally {
            lock.unlock();
        }
        long allocation = Bytes.uint8(task.cdb(), 4);
        if ((task.cdb()[1] & 1) == 0) {
            task.reply(sense, sense.length, allocation);
        } else {
            byte[] descriptor = new byte[Sense.DESCRIPTOR_BYTES];
            Sense.descriptor(sense, descriptor);
            task.reply(descriptor, descriptor.length, allocation);
        }
    }

    private void reportOperations(Task task) {
        byte[] cdb = task.cdb();
        boolean timeouts = (cdb[2] & 0x80) != 0;
        int code = Bytes.uint8(cdb, 3);
        int serviceAction = Bytes.uint16(cdb, 4);
        long allocation = Bytes.uint32(cdb, 6);
        int option = cdb[2] & 7;
        if (option > 3) {
            task.invalidCdb(2);
            return;
        }
        byte[] data;
        if (option == 0) {
            data = allOperations(timeouts);
        } else {
            boolean known = Operation.all(kind()).anyMatch(o -> o.code() == code);
            boolean actions = Operation.hasServiceActions(code, kind());
            if (option == 1 && actions || option == 2 && known && !actions) {
                task.invalidCdb(2);
                return;
            }
            data = oneOperation(code, serviceAction, option, timeouts);
        }
        task.reply(data, data.length, allocation);
    }

    private byte[] allOperations(boolean timeouts) {
        List<Operation> all = Operation.all(kind()).toList();
        int each = timeouts ? 20 : 8;
        byte[] data = new byte[4 + all.size() * each];
        Bytes.int32(data, 0, data.length - 4);
        int at = 4;
        for (Operation operation : all) {
            data[at] = (byte) operation.code();
            Bytes.int16(data, at + 2, Math.max(0, operation.serviceAction()));
            data[at + 5] = (byte) ((timeouts ? 2 : 0) | (operation.serviceAction() >= 0 ? 1 : 0));
            Bytes.int16(data, at + 6, operation.length());
            if (timeouts) {
                Bytes.int16(data, at + 8, 10);
            }
            at += each;
        }
        return data;
    }

    private byte[] oneOperation(int code, int serviceAction, int option, boolean timeouts) {
        byte[] usage = Operation.all(kind())
                .filter(o -> o.code() == code)
                .filter(o -> o.serviceAction() < 0 || option != 1 && o.serviceAction() == serviceAction)
                .findFirst()
                .map(Operation::usage)
                .orElse(new byte[0]);
        byte[] data = new byte[4 + usage.length + (timeouts && usage.length > 0 ? 12 : 0)];
        data[1] = (byte) (usage.length == 0 ? 1 : 3);
        if (usage.length > 0) {
            Bytes.int16(data, 2, usage.length);
            System.arraycopy(usage, 0, data, 4, usage.length);
            if (timeouts) {
                data[1] |= (byte) 0x80;
                Bytes.int16(data, 4 + usage.length, 10);
            }
        }
        return data;
    }

    private static void reportTaskManagement(Task task) {
        boolean extended = (task.cdb()[2] & 0x80) != 0;
        byte[] data = new byte[extended ? 16 : 4];
        // Abort task and set, clear ACA and set, logical unit reset, query task, target reset.
        data[0] = (byte) 0xfa;
        // Query task set, I_T nexus reset.
        data[1] = 0x03;
        data[3] = (byte) (extended ? 12 : 0);
        task.reply(data, data.length, Bytes.uint32(task.cdb(), 6));
    }

    private static void sendDiagnostic(Task task) {
        byte[] cdb = task.cdb();
        boolean selfTest = (cdb[1] & 4) != 0;
        int length = Bytes.uint16(cdb, 3);
        if (selfTest && length != 0) {
            task.invalidCdb(3);
        } else if (length != 0 && task.parameters(length, MAX_PARAMETER_BYTES) != null) {
            // There are no diagnostic pages to send.
            task.invalidParameter(0);
        } else if (length == 0) {
            task.good();
        }
    }

    // State.

    /** What is saved of every logical unit. */
    public record State(int[] attentions, byte[] sense) {}

    /** The state, while nothing is in flight. */
    final State saveCommon() {
        lock.lock();
        try {
            byte[] sense = new byte[INITIATORS * Sense.FIXED_BYTES];
            for (int i = 0; i < INITIATORS; i++) {
                byte[] kept = keptSense[i];
                if (kept.length > 0) {
                    System.arraycopy(kept, 0, sense, i * Sense.FIXED_BYTES, Sense.FIXED_BYTES);
                }
            }
            return new State(attentions.clone(), sense);
        } finally {
            lock.unlock();
        }
    }

    final void restoreCommon(State state) {
        lock.lock();
        try {
            System.arraycopy(
                    state.attentions(), 0, attentions, 0, Math.min(attentions.length, state.attentions().length));
            attentionPending = java.util.Arrays.stream(attentions).anyMatch(a -> a != 0);
            for (int i = 0; i < INITIATORS; i++) {
                int at = i * Sense.FIXED_BYTES;
                boolean there = state.sense().length >= at + Sense.FIXED_BYTES && state.sense()[at] != 0;
                keptSense[i] =
                        there ? java.util.Arrays.copyOfRange(state.sense(), at, at + Sense.FIXED_BYTES) : new byte[0];
            }
            senseKept = anySenseKept();
        } finally {
            lock.unlock();
        }
    }

    /** Live state for people. */
    public Map<String, Object> inspect() {
        lock.lock();
        try {
            Map<String, Object> map = new TreeMap<>();
            map.put("commands", tasks);
            map.put("waiting", waiting);
            return map;
        } finally {
            lock.unlock();
        }
    }
}
