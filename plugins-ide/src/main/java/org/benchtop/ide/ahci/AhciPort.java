package org.benchtop.ide.ahci;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import org.benchtop.ide.DriveSlots;
import org.benchtop.ide.drive.AtaDevice;
import org.benchtop.ide.drive.AtaDrive;
import org.benchtop.ide.drive.DriveQueue;
import org.benchtop.ide.drive.TaskFile;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.memory.IoVector;
import org.benchtop.spi.stats.Stats;
import org.jspecify.annotations.Nullable;

/**
 * One port: fetches commands from the list in guest memory, moves their data, and posts what the drive answers (AHCI
 * 1.3.1, 5). Guarded by its own lock, which is not held while anything outside is called.
 */
final class AhciPort implements DriveQueue.Owner {
    private static final int CMD_ST = 1;
    private static final int CMD_CLO = 1 << 3;
    private static final int CMD_FRE = 1 << 4;
    private static final int CMD_FR = 1 << 14;
    private static final int CMD_CR = 1 << 15;
    private static final int CMD_ATAPI = 1 << 24;
    /** Spin-up and power are always on. */
    private static final int CMD_ALWAYS = 0x6;

    private static final int CMD_WRITABLE = CMD_ST | CMD_FRE | CMD_ATAPI;

    private static final int IS_DHRS = 1;
    private static final int IS_PSS = 1 << 1;
    private static final int IS_SDBS = 1 << 3;
    private static final int IS_PCS = 1 << 6;
    private static final int IS_PRCS = 1 << 22;
    private static final int IS_OFS = 1 << 24;
    private static final int IS_HBFS = 1 << 29;
    private static final int IS_TFES = 1 << 30;
    private static final int IE_WRITABLE = 0xfdc0_00ff;
    private static final int SERR_CHANGED = 1 << 16;
    private static final int SERR_EXCHANGED = 1 << 26;

    private static final int SSTS_CONNECTED = 0x113;
    private static final int SCTL_WRITABLE = 0xfff;
    private static final int SCTL_DET = 0xf;
    private static final int DET_RESET = 1;
    private static final int DET_OFFLINE = 4;
    private static final int NO_DEVICE_STATUS = 0x7f;

    private static final int HEADER_BYTES = 32;
    private static final int HEADER_PACKET = 1 << 5;
    private static final int FIS_BYTES = 64;
    private static final int PACKET_OFFSET = 0x40;
    private static final int PACKET_BYTES = 16;
    private static final int REGIONS_OFFSET = 0x80;
    private static final int REGION_BYTES = 16;
    private static final int REGION_COUNT = 0x3f_ffff;
    private static final int FIS_TYPE_REG_H2D = 0x27;
    private static final int FIS_TYPE_PIO_SETUP = 0x5f;
    private static final int FIS_TYPE_SET_BITS = 0xa1;
    private static final int FIS_COMMAND = 0x80;
    private static final int FIS_INTERRUPT = 0x40;
    private static final int FIS_TO_HOST = 0x20;
    private static final int CONTROL_SRST = 4;
    private static final int RECEIVED_PIO_SETUP = 0x20;
    private static final int RECEIVED_D2H = 0x40;
    private static final int RECEIVED_SET_BITS = 0x58;

    private final int number;
    private final Hba hba;
    private final GuestMemory memory;
    private final ReentrantLock lock = new ReentrantLock();
    private final RegisterMap<PortRegister> registers;
    private final byte[] received = new byte[FIS_BYTES];
    private final java.lang.foreign.MemorySegment fis = java.lang.foreign.MemorySegment.ofArray(received);
    private final byte[] sent = new byte[20];
    private final IoVector block = new IoVector();

    private @Nullable AtaDevice device;
    private @Nullable DriveQueue queue;

    private long commandList;
    private long fisBase;
    private int interruptStatus;
    private int interruptEnable;
    private int command;
    private int taskFile = NO_DEVICE_STATUS;
    private int signature = -1;
    private int sataControl;
    private int sataError;
    private int active;
    private int issued;

    /** The command that is not queued; -1 for none. */
    private int slot = -1;

    private int nextSlot;
    private long slotTable;
    private int slotRegions;
    private long transferred;
    /** An error has stopped the list until the driver clears ST. */
    private boolean halted;
    /** ST is cleared while requests are in flight. */
    private boolean stopping;
    /** The drive is to post its signature when its reset is done. */
    private boolean signaturePending;

    /** The controller that a port belongs to. */
    interface Hba {
        /** A port's interrupt state has changed; called with the port's lock held. */
        void portInterrupt(int port, boolean pending, boolean event);

        /** Brings interrupts to the guest; called without the lock. */
        void publish();

        /** Whether the controller may access memory. */
        boolean busMaster();
    }

    AhciPort(int number, Hba hba, GuestMemory memory) {
        this.number = number;
        this.hba = hba;
        this.memory = memory;
        this.registers = new RegisterMap<>("port" + number, PortRegister.class, new Handler());
        this.command = CMD_ALWAYS;
    }

    RegisterMap<PortRegister> registers() {
        return registers;
    }

    private final class Handler implements RegisterMap.Handler<PortRegister> {
        @Override
        public long read(PortRegister register) {
            return peek(register);
        }

        @Override
        public long peek(PortRegister register) {
            lock.lock();
            try {
                return switch (register) {
                    case CLB -> commandList;
                    case CLBU -> commandList >>> 32;
                    case FB -> fisBase;
                    case FBU -> fisBase >>> 32;
                    case IS -> interruptStatus;
                    case IE -> interruptEnable;
                    case CMD -> command;
                    case TFD -> taskFile();
                    case SIG -> signature;
                    case SSTS -> connected() ? SSTS_CONNECTED : 0;
                    case SCTL -> sataControl;
                    case SERR -> sataError;
                    case SACT -> active;
                    case CI -> issued;
                };
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void write(PortRegister register, long value) {
            boolean kick;
            lock.lock();
            try {
                set(register, (int) value);
                process();
                kick = wantsBackend();
                // What is pending when it is enabled, or left after others were cleared, needs a message of its own.
                interrupts(register == PortRegister.IE || register == PortRegister.IS);
            } finally {
                lock.unlock();
            }
            act(kick);
        }
    }

    private boolean connected() {
        int det = sataControl & SCTL_DET;
        return device != null && det != DET_RESET && det != DET_OFFLINE;
    }

    private int taskFile() {
        AtaDevice present = device;
        if (present != null && present.resetting()) {
            return TaskFile.BSY;
        }
        return taskFile;
    }

    private void set(PortRegister register, int value) {
        long bits = value & 0xffff_ffffL;
        switch (register) {
            case CLB -> commandList = commandList & 0xffff_ffff_0000_0000L | bits & 0xffff_fc00L;
            case CLBU -> commandList = commandList & 0xffff_ffffL | bits << 32;
            case FB -> fisBase = fisBase & 0xffff_ffff_0000_0000L | bits & 0xffff_ff00L;
            case FBU -> fisBase = fisBase & 0xffff_ffffL | bits << 32;
            case IS -> interruptStatus &= ~(value & ~(IS_PCS | IS_PRCS));
            case IE -> interruptEnable = value & IE_WRITABLE;
            case CMD -> setCommand(value);
            case SCTL -> setSataControl(value & SCTL_WRITABLE);
            case SERR -> {
                sataError &= ~value;
                // These two follow the diagnostics (3.3.5).
                interruptStatus &= (sataError & SERR_EXCHANGED) == 0 ? ~IS_PCS : -1;
                interruptStatus &= (sataError & SERR_CHANGED) == 0 ? ~IS_PRCS : -1;
            }
            case SACT -> active |= (command & CMD_ST) != 0 ? value : 0;
            case CI -> issued |= (command & CMD_ST) != 0 ? value : 0;
            case TFD, SIG, SSTS -> {}
        }
    }

    private void setCommand(int value) {
        int before = command;
        command = before & ~CMD_WRITABLE | value & CMD_WRITABLE;
        command = (command & CMD_FRE) != 0 ? command | CMD_FR : command & ~CMD_FR;
        if ((value & CMD_CLO) != 0 && (command & CMD_ST) == 0) {
            taskFile &= ~(TaskFile.BSY | TaskFile.DRQ);
        }
        if ((command & CMD_ST) != 0 && (before & CMD_ST) == 0) {
            command |= CMD_CR;
            halted = false;
        } else if ((command & CMD_ST) == 0 && (before & CMD_ST) != 0) {
            stop();
        }
    }

    /** The driver stops the list: nothing that is still going on reaches it any more. */
    private void stop() {
        issued = 0;
        active = 0;
        AtaDevice present = device;
        if (present != null) {
            boolean working = slot >= 0 || present instanceof AtaDrive disk && disk.queuedBusy() != 0;
            if (working) {
                present.reset(false);
            }
            stopping = !present.quiet();
        }
        slot = -1;
        if (!stopping) {
            command &= ~CMD_CR;
        }
    }

    private void setSataControl(int value) {
        boolean wasReset = (sataControl & SCTL_DET) == DET_RESET;
        boolean reset = (value & SCTL_DET) == DET_RESET;
        sataControl = value;
        AtaDevice present = device;
        if (reset && !wasReset) {
            issued = 0;
            active = 0;
            slot = -1;
            halted = false;
            taskFile = NO_DEVICE_STATUS;
            signature = -1;
            if (present != null) {
                present.reset(true);
            }
        } else if (!reset && wasReset && present != null) {
            sataError |= SERR_EXCHANGED;
            event(IS_PCS);
            signaturePending = true;
            taskFile = TaskFile.BSY;
        }
    }

    // Commands.

    private boolean wantsBackend() {
        AtaDevice present = device;
        return present != null && present.hasTransfer();
    }

    /** Goes on as far as it can without the backend; with the lock held. */
    private void process() {
        AtaDevice present = device;
        if (present == null) {
            return;
        }
        if (stopping && present.quiet()) {
            stopping = false;
            command &= (command & CMD_ST) == 0 ? ~CMD_CR : -1;
        }
        if (signaturePending && !present.resetting() && connected()) {
            signaturePending = false;
            present.takeInterrupt();
            showSignature(present);
            postRegisters(present, false);
        }
        boolean more = true;
        while (more) {
            more = slot >= 0 ? advance(present) : next(present);
        }
        queuedResults(present);
    }

    private void showSignature(AtaDevice present) {
        TaskFile r = present.registers();
        signature = r.read(TaskFile.LBA_HIGH, false) << 24
                | r.read(TaskFile.LBA_MID, false) << 16
                | r.read(TaskFile.LBA_LOW, false) << 8
                | r.read(TaskFile.COUNT, false);
    }

    /** Fetches the next command of the list. Returns whether it was there. */
    private boolean next(AtaDevice present) {
        boolean running = (command & (CMD_ST | CMD_CR)) == (CMD_ST | CMD_CR) && !halted && !stopping;
        if (!running || issued == 0 || present.resetting() || signaturePending || !connected()) {
            return false;
        }
        while ((issued >>> nextSlot & 1) == 0) {
            nextSlot = nextSlot + 1 & 31;
        }
        int taken = nextSlot;
        nextSlot = nextSlot + 1 & 31;
        try {
            if (!hba.busMaster()) {
                throw new GuestFault(commandList, HEADER_BYTES);
            }
            start(present, taken);
        } catch (GuestFault e) {
            hostFault();
        }
        return true;
    }

    private void hostFault() {
        event(IS_HBFS);
        halted = true;
    }

    private void start(AtaDevice present, int taken) throws GuestFault {
        long header = commandList + (long) HEADER_BYTES * taken;
        int flags = memory.readInt(header);
        slotTable = memory.readLong(header + 8) & ~0x7fL;
        slotRegions = flags >>> 16;
        transferred = 0;
        memory.read(slotTable, received, 0, FIS_BYTES);
        int type = received[0] & 0xff;
        if (type != FIS_TYPE_REG_H2D) {
            hostFault();
            return;
        }
        if ((received[1] & FIS_COMMAND) == 0) {
            control(present, taken);
            return;
        }
        int code = received[2] & 0xff;
        present.registers().loadFis(fis);
        if (present instanceof AtaDrive disk && disk.queued(code)) {
            startQueued(disk, taken, code);
            return;
        }
        slot = taken;
        packet = (flags & HEADER_PACKET) != 0;
        present.command(code);
    }

    private boolean packet;

    /** A control FIS: the driver sets or clears SRST. */
    private void control(AtaDevice present, int taken) {
        issued &= ~(1 << taken);
        if ((received[15] & CONTROL_SRST) != 0) {
            present.reset(false);
            taskFile = TaskFile.BSY;
        } else {
            signaturePending = true;
            taskFile = TaskFile.BSY;
            if (!present.resetting()) {
                signaturePending = false;
                present.takeInterrupt();
                showSignature(present);
                postRegisters(present, false);
            }
        }
    }

    private void startQueued(AtaDrive disk, int taken, int code) throws GuestFault {
        long bytes = disk.queuedBytes();
        if (bytes >= 0) {
            IoVector into = disk.queuedMemory();
            into.clear();
            collect(0, bytes, into);
            disk.startQueued(code);
        }
        if (disk.takeInterrupt()) {
            // Refused: the error ends the queue.
            disk.takeQueuedDone();
            postRegisters(disk, true);
            fail();
            return;
        }
        issued &= ~(1 << taken);
        taskFile = disk.registers().status();
    }

    /** Lets the current command go on. Returns whether it has changed its phase. */
    private boolean advance(AtaDevice present) {
        switch (present.phase()) {
            case WORKING -> {
                taskFile = present.registers().status();
                return false;
            }
            case PIO_IN, PIO_OUT -> {
                try {
                    moveBlock(present);
                } catch (GuestFault e) {
                    present.reset(false);
                    slot = -1;
                    hostFault();
                }
                return true;
            }
            case DMA_IN, DMA_OUT -> {
                try {
                    moveByDma(present);
                } catch (GuestFault e) {
                    event(IS_HBFS);
                    present.dmaFailed();
                }
                return true;
            }
            case IDLE -> {
                finish(present);
                return true;
            }
        }
        return false;
    }

    /** Collects memory of the current command from an offset into its regions on; less where they end. */
    private void collect(long skipBytes, long bytes, IoVector into) throws GuestFault {
        long skip = skipBytes;
        long left = bytes;
        for (int i = 0; i < slotRegions && left > 0; i++) {
            long entry = slotTable + REGIONS_OFFSET + (long) REGION_BYTES * i;
            long length = ((memory.readInt(entry + 12) & REGION_COUNT) | 1) + 1L;
            if (skip >= length) {
                skip -= length;
                continue;
            }
            long take = Math.min(left, length - skip);
            memory.appendTo(into, (memory.readLong(entry) & ~1L) + skip, take);
            left -= take;
            skip = 0;
        }
    }

    private void moveBlock(AtaDevice present) throws GuestFault {
        boolean toHost = present.phase() == AtaDevice.Phase.PIO_IN;
        int bytes = present.blockLength();
        block.clear();
        if (!toHost && packet && transferred == 0) {
            packet = false;
            memory.appendTo(block, slotTable + PACKET_OFFSET, PACKET_BYTES);
            present.moveBlock(block);
            return;
        }
        collect(transferred, bytes, block);
        transferred += block.sizeBytes();
        if (block.sizeBytes() < bytes) {
            event(IS_OFS);
        }
        int before = present.registers().status();
        present.takeInterrupt();
        present.moveBlock(block);
        if (toHost) {
            memory.written(block);
        }
        boolean last = toHost && present.phase() == AtaDevice.Phase.IDLE;
        postPioSetup(present, toHost, bytes, before, last);
    }

    private void moveByDma(AtaDevice present) throws GuestFault {
        boolean toHost = present.phase() == AtaDevice.Phase.DMA_IN;
        IoVector into = present.dmaMemory();
        into.clear();
        collect(transferred, present.dmaBytes(), into);
        long moved = present.dma();
        transferred += moved;
        if (moved == 0) {
            event(IS_OFS);
            present.dmaFailed();
        } else if (toHost && present.phase() != AtaDevice.Phase.WORKING) {
            memory.written(into);
        }
    }

    private void finish(AtaDevice present) {
        int done = slot;
        slot = -1;
        boolean error = (present.registers().status() & TaskFile.ERR) != 0;
        try {
            memory.writeInt(commandList + (long) HEADER_BYTES * done + 4, (int) transferred);
            memory.written(commandList + (long) HEADER_BYTES * done + 4, 4);
        } catch (GuestFault e) {
            hostFault();
            return;
        }
        if (present.takeInterrupt()) {
            postRegisters(present, true);
        } else {
            taskFile = present.registers().error() << 8 | present.registers().status();
        }
        if (error) {
            fail();
        } else {
            issued &= ~(1 << done);
        }
    }

    private void fail() {
        halted = true;
        event(IS_TFES);
    }

    private void queuedResults(AtaDevice present) {
        if (!(present instanceof AtaDrive disk) || slot >= 0) {
            return;
        }
        int done = disk.takeQueuedDone();
        boolean error = disk.takeInterrupt();
        if (done == 0 && !error || (command & CMD_ST) == 0) {
            return;
        }
        int status = disk.registers().status();
        active &= ~done;
        taskFile = taskFile & (TaskFile.BSY | TaskFile.DRQ)
                | status & ~(TaskFile.BSY | TaskFile.DRQ)
                | (error ? disk.registers().error() << 8 : 0);
        java.util.Arrays.fill(sent, 0, 8, (byte) 0);
        sent[0] = (byte) FIS_TYPE_SET_BITS;
        sent[1] = FIS_INTERRUPT;
        sent[2] = (byte) (status & 0x77);
        sent[3] = (byte) (error ? disk.registers().error() : 0);
        for (int i = 0; i < 4; i++) {
            sent[4 + i] = (byte) (done >>> 8 * i);
        }
        post(RECEIVED_SET_BITS, 8);
        event(IS_SDBS);
        if (error) {
            fail();
        }
    }

    // What the driver sees.

    private void postRegisters(AtaDevice present, boolean interrupt) {
        present.registers().storeFis(sent, interrupt);
        taskFile = present.registers().error() << 8 | present.registers().status();
        post(RECEIVED_D2H, 20);
        if (interrupt) {
            event(IS_DHRS);
        }
    }

    private void postPioSetup(AtaDevice present, boolean toHost, int bytes, int before, boolean last) {
        present.registers().storeFis(sent, true);
        sent[0] = (byte) FIS_TYPE_PIO_SETUP;
        sent[1] = (byte) (FIS_INTERRUPT | (toHost ? FIS_TO_HOST : 0));
        sent[2] = (byte) before;
        int after = last ? present.registers().status() : before & ~TaskFile.DRQ | TaskFile.BSY;
        sent[15] = (byte) after;
        sent[16] = (byte) bytes;
        sent[17] = (byte) (bytes >> 8);
        taskFile = present.registers().error() << 8 | after;
        post(RECEIVED_PIO_SETUP, 20);
        event(IS_PSS);
    }

    private void post(int offset, int bytes) {
        if ((command & CMD_FRE) == 0 || !hba.busMaster()) {
            return;
        }
        try {
            memory.write(fisBase + offset, sent, 0, bytes);
        } catch (GuestFault e) {
            hostFault();
        }
    }

    private void event(int bits) {
        // A message for what the driver has not seen yet; more of the same is found when it looks.
        eventPending |= (bits & interruptEnable & ~interruptStatus) != 0;
        interruptStatus |= bits;
    }

    private boolean eventPending;

    private void interrupts(boolean always) {
        boolean event = eventPending || always;
        eventPending = false;
        hba.portInterrupt(number, (interruptStatus & interruptEnable) != 0, event);
    }

    private void act(boolean kick) {
        hba.publish();
        DriveQueue present = queue;
        if (kick && present != null) {
            present.kick();
        }
    }

    @Override
    public void changed(AtaDevice from) {
        process();
        interrupts(false);
    }

    @Override
    public void publish() {
        hba.publish();
    }

    // Drives.

    boolean free() {
        lock.lock();
        try {
            return device == null;
        } finally {
            lock.unlock();
        }
    }

    /** Connects a drive; a running guest sees it arrive. */
    DriveSlots.Plug plug(AtaDevice newDevice, Optional<DriveSlots.Medium> medium, EventLoop loop, Stats stats) {
        DriveQueue newQueue = medium.map(each -> new DriveQueue(newDevice, each, loop, lock, memory, this, stats))
                .orElse(null);
        lock.lock();
        try {
            device = newDevice;
            queue = newQueue;
            arrive();
            interrupts(false);
        } finally {
            lock.unlock();
        }
        hba.publish();
        return new Place(newDevice, Optional.ofNullable(newQueue));
    }

    private void arrive() {
        sataError |= SERR_CHANGED | SERR_EXCHANGED;
        event(IS_PCS | IS_PRCS);
        signaturePending = true;
        taskFile = TaskFile.BSY;
        process();
    }

    private final class Place implements DriveSlots.Plug {
        private final AtaDevice plugged;
        private final Optional<DriveQueue> itsQueue;

        Place(AtaDevice plugged, Optional<DriveQueue> itsQueue) {
            this.plugged = plugged;
            this.itsQueue = itsQueue;
        }

        @Override
        public void reset() {
            AhciPort.this.reset();
        }

        @Override
        public void pause() {
            itsQueue.ifPresent(DriveQueue::awaitQuiet);
        }

        @Override
        public void resume() {
            itsQueue.ifPresent(DriveQueue::retry);
        }

        @Override
        public void locked(Runnable action) {
            lock.lock();
            try {
                action.run();
                interrupts(false);
            } finally {
                lock.unlock();
            }
            hba.publish();
        }

        @Override
        public void close() {
            itsQueue.ifPresent(DriveQueue::close);
            lock.lock();
            try {
                if (device == plugged) {
                    device = null;
                    queue = null;
                    slot = -1;
                    issued = 0;
                    active = 0;
                    taskFile = NO_DEVICE_STATUS;
                    signature = -1;
                    signaturePending = false;
                    stopping = false;
                    if ((command & CMD_ST) == 0) {
                        command &= ~CMD_CR;
                    }
                    sataError |= SERR_CHANGED | SERR_EXCHANGED;
                    event(IS_PCS | IS_PRCS);
                    interrupts(false);
                }
            } finally {
                lock.unlock();
            }
            hba.publish();
        }
    }

    // Life.

    /** Power-on state; waits for what is in flight. */
    void reset() {
        lock.lock();
        try {
            beginReset();
        } finally {
            lock.unlock();
        }
        awaitQuiet();
        hba.publish();
    }

    /** Starts a reset by the guest; the drive is busy until nothing is in flight. */
    void beginReset() {
        lock.lock();
        try {
            issued = 0;
            active = 0;
            slot = -1;
            nextSlot = 0;
            halted = false;
            commandList = 0;
            fisBase = 0;
            interruptStatus = 0;
            interruptEnable = 0;
            eventPending = false;
            command = CMD_ALWAYS;
            sataControl = 0;
            sataError = 0;
            taskFile = NO_DEVICE_STATUS;
            signature = -1;
            stopping = false;
            signaturePending = false;
            AtaDevice present = device;
            if (present != null) {
                present.reset(true);
                arrive();
            }
            interrupts(false);
        } finally {
            lock.unlock();
        }
    }

    /** Waits until the drive wants nothing of its backend. */
    void awaitQuiet() {
        DriveQueue present;
        lock.lock();
        try {
            present = queue;
        } finally {
            lock.unlock();
        }
        if (present != null) {
            present.awaitQuiet();
        }
    }

    /** Saved registers of a port. */
    record State(
            long commandList,
            long fisBase,
            int interruptStatus,
            int interruptEnable,
            int command,
            int taskFile,
            int signature,
            int sataControl,
            int sataError,
            int active,
            int issued,
            int nextSlot,
            boolean halted,
            boolean signaturePending) {}

    State save() {
        lock.lock();
        try {
            return new State(
                    commandList,
                    fisBase,
                    interruptStatus,
                    interruptEnable,
                    command,
                    taskFile,
                    signature,
                    sataControl,
                    sataError,
                    active,
                    issued,
                    nextSlot,
                    halted,
                    signaturePending);
        } finally {
            lock.unlock();
        }
    }

    void restore(State state) {
        lock.lock();
        try {
            commandList = state.commandList & ~0x3ffL;
            fisBase = state.fisBase & ~0xffL;
            interruptStatus = state.interruptStatus;
            interruptEnable = state.interruptEnable & IE_WRITABLE;
            command = state.command;
            taskFile = state.taskFile;
            signature = state.signature;
            sataControl = state.sataControl & SCTL_WRITABLE;
            sataError = state.sataError;
            active = state.active;
            issued = state.issued;
            nextSlot = state.nextSlot & 31;
            halted = state.halted;
            signaturePending = state.signaturePending;
            slot = -1;
            stopping = false;
            interrupts(true);
        } finally {
            lock.unlock();
        }
    }

    Map<String, Object> inspect() {
        Map<String, Object> map = new LinkedHashMap<>();
        lock.lock();
        try {
            AtaDevice present = device;
            map.put("drive", present == null ? "none" : present.id());
            map.put("running", (command & CMD_CR) != 0);
            map.put("issued", Integer.bitCount(issued));
            map.put("queued", Integer.bitCount(active));
            map.put("halted", halted);
        } finally {
            lock.unlock();
        }
        return map;
    }
}
