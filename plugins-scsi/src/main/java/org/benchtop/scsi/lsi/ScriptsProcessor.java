package org.benchtop.scsi.lsi;

import static org.benchtop.scsi.lsi.RegisterFile.*;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.benchtop.spi.memory.GuestFault;

/**
 * The chip: registers and the SCRIPTS processor (53C895A manual, chapters 4 and 5). It runs a script until it waits for the
 * bus, stops with an interrupt, needs a target, or has used up its turn; it never blocks. Guarded by the adapter's lock.
 */
final class ScriptsProcessor {
    /** What ended a turn. */
    enum Turn {
        /** Nothing to run: stopped, or waiting for the bus. */
        IDLE,
        /** {@link SpiBus#takeWork} has something to be done first. */
        WORK,
        /** Others want to run, too; call again soon. */
        MORE,
        /** The script runs around without touching the bus; call again after a while. */
        SPINNING,
    }

    /** What the processor is doing. */
    enum State {
        STOPPED,
        RUNNING,
        /** At an instruction that waits for REQ. */
        WAIT_REQUEST,
        WAIT_RESELECT,
        WAIT_DISCONNECT,
    }

    /** What the chip tells its surroundings. */
    interface Pins {
        /** The general purpose timer is started or, with 0, stopped. */
        void generalTimer(long nanos);

        /** Where the registers (0) or the on-chip RAM (1) are decoded; for SCRATCHA and SCRATCHB. */
        int base(int which);
    }

    private static final int TURN_STEPS = 4096;
    private static final int SPIN_STEPS = 8192;
    private static final int BYTES_PER_STEP = 256;

    private static final int SCNTL1_CON = 0x10;
    private static final int SCNTL1_RST = 0x08;
    private static final int SCNTL2_SDU = 0x80;
    private static final int SCNTL2_WIDE_RESIDUE = 0x09;
    private static final int SSTAT0_WOA = 0x04;
    private static final int SSTAT0_RST = 0x02;
    private static final int SSTAT2_LDSC = 0x02;
    private static final int ISTAT_ABRT = 0x80;
    private static final int ISTAT_SRST = 0x40;
    private static final int ISTAT_SIGP = 0x20;
    private static final int ISTAT_SEM = 0x10;
    private static final int ISTAT_CON = 0x08;
    private static final int ISTAT_INTF = 0x04;
    private static final int ISTAT_SIP = 0x02;
    private static final int ISTAT_DIP = 0x01;
    private static final int ISTAT1_RUNNING = 0x02;
    private static final int ISTAT1_DISABLE = 0x01;
    private static final int CTEST2_SIGP = 0x40;
    private static final int CTEST2_CONFIG = 0x31;
    private static final int CTEST2_BASES = 0x08;
    private static final int CTEST3_COMMANDS = 0x0c;
    private static final int DMODE_MANUAL = 0x01;
    private static final int DCNTL_COMMANDS = 0x44;
    private static final int DCNTL_STEP = 0x10;
    private static final int DCNTL_START = 0x04;
    private static final int DCNTL_IRQD = 0x02;
    private static final int STEST3_CSF = 0x02;
    private static final int STEST4_LVD_LOCKED = 0xe0;
    private static final int CCNTL0_ENPMJ = 0x80;
    private static final int CCNTL0_PMJCTL = 0x40;
    private static final int CCNTL0_ENNDJ = 0x20;
    private static final int CCNTL1_64_TABLE = 0x04;
    private static final int CCNTL1_TABLE_64 = 0x02;
    private static final int CCNTL1_DIRECT_64 = 0x01;
    private static final int SBCL_REQ = 0x80;
    private static final int SBCL_ACK = 0x40;
    private static final int SBCL_BSY = 0x20;
    private static final int SBCL_ATN = 0x08;
    private static final int COUNT = 0xff_ffff;
    private static final int FLAG_ATN = 1 << 3;
    private static final int FLAG_ACK = 1 << 6;
    private static final int FLAG_TARGET = 1 << 9;
    private static final int FLAG_CARRY = 1 << 10;
    private static final int LAST_ID = 0x0f;
    private static final long TIMER_UNIT_NANOS = 125_000;

    private final RegisterFile regs = new RegisterFile();
    private final ChipInterrupts interrupts = new ChipInterrupts();
    private final SpiBus bus;
    private final ChipMemory memory;
    private final Pins pins;

    private State state = State.STOPPED;
    /** The instruction that waits; also the target of SIGP while it waits for reselection. */
    private int resumeAt;

    private boolean carry;
    private boolean targetRole;
    private boolean selectionFailed;
    private int steps;
    private int spin;
    private long instructions;
    private long phaseMismatches;

    ScriptsProcessor(SpiBus bus, ChipMemory memory, Pins pins) {
        this.bus = bus;
        this.memory = memory;
        this.pins = pins;
        regs.reset();
    }

    /** ISTAT0.SRST: the chip alone. */
    void softReset() {
        regs.reset();
        interrupts.reset();
        state = State.STOPPED;
        carry = false;
        targetRole = false;
        selectionFailed = false;
        spin = 0;
        bus.abandonAll();
        pins.generalTimer(0);
    }

    /** Whether the interrupt pin is driven. */
    boolean interrupt() {
        boolean disabled = regs.has(DCNTL, DCNTL_IRQD) || regs.has(ISTAT1, ISTAT1_DISABLE);
        return !disabled && interrupts.asserted(regs.get(DIEN), sien());
    }

    State state() {
        return state;
    }

    long instructions() {
        return instructions;
    }

    long phaseMismatches() {
        return phaseMismatches;
    }

    private int sien() {
        return regs.get(SIEN0) | regs.get(SIEN1) << 8;
    }

    /** The general purpose timer has run out. */
    void generalTimerExpired() {
        raiseScsi(ChipInterrupts.SIST_GEN);
    }

    // Registers.

    /** A read with its side effects. */
    int read(int at) {
        switch (at) {
            case DSTAT -> {
                return ChipInterrupts.DSTAT_DFE | interrupts.takeDstat();
            }
            case SIST0 -> {
                return interrupts.takeSist(0);
            }
            case SIST1 -> {
                return interrupts.takeSist(1);
            }
            case CTEST2 -> {
                int value = peek(CTEST2);
                regs.clearBits(ISTAT0, ISTAT_SIGP);
                return value;
            }
            default -> {
                return peek(at);
            }
        }
    }

    /** After every read access of the guest, of one byte or more. */
    void accessed() {
        interrupts.unstack();
    }

    /** A read without side effects. */
    int peek(int at) {
        return switch (at) {
            case SCNTL1 -> regs.get(at) & ~SCNTL1_CON | (bus.connected() >= 0 ? SCNTL1_CON : 0);
            case GPREG -> regs.get(GPREG) & ~regs.get(GPCNTL) & 0x7f | regs.get(GPCNTL) & 0x7f;
            case SOCL -> regs.get(SOCL) & ~SBCL_ATN | (bus.attention() ? SBCL_ATN : 0);
            case SBCL -> busLines();
            case DSTAT -> ChipInterrupts.DSTAT_DFE | interrupts.dstat();
            case SSTAT1 -> bus.phase();
            case SSTAT2 -> bus.connected() >= 0 ? 0 : SSTAT2_LDSC;
            case ISTAT0 ->
                regs.get(ISTAT0)
                        | (bus.connected() >= 0 ? ISTAT_CON : 0)
                        | (interrupts.onTheFly() ? ISTAT_INTF : 0)
                        | (interrupts.scsiPending(sien()) ? ISTAT_SIP : 0)
                        | (interrupts.dmaPending() ? ISTAT_DIP : 0);
            case ISTAT1 -> regs.get(ISTAT1) | (state == State.STOPPED ? 0 : ISTAT1_RUNNING);
            case CTEST2 -> regs.get(CTEST2) | CTEST2_CONFIG | (regs.has(ISTAT0, ISTAT_SIGP) ? CTEST2_SIGP : 0);
            case SIST0 -> interrupts.sist() & 0xff;
            case SIST1 -> interrupts.sist() >> 8;
            case STEST4 -> STEST4_LVD_LOCKED;
            case SCRATCHA, SCRATCHA + 1, SCRATCHA + 2, SCRATCHA + 3 -> baseOr(at, SCRATCHA, 0);
            case SCRATCHB, SCRATCHB + 1, SCRATCHB + 2, SCRATCHB + 3 -> baseOr(at, SCRATCHB, 1);
            default -> regs.get(at);
        };
    }

    private int baseOr(int at, int first, int which) {
        return regs.has(CTEST2, CTEST2_BASES) ? pins.base(which) >>> 8 * (at - first) & 0xff : regs.get(at);
    }

    private int busLines() {
        if (bus.connected() < 0) {
            return 0;
        }
        return SBCL_BSY
                | bus.phase()
                | (bus.request() ? SBCL_REQ : 0)
                | (bus.acknowledged() ? SBCL_ACK : 0)
                | (bus.attention() ? SBCL_ATN : 0);
    }

    /** A write with its side effects. */
    void write(int at, int value) {
        spin = 0;
        switch (at) {
            case SCNTL1 -> writeScntl1(value);
            // Writing ones clears the residue bits; whole bytes are moved always, so they are never set.
            case SCNTL2 -> regs.set(at, value & ~SCNTL2_WIDE_RESIDUE);
            case SDID -> regs.set(at, value & LAST_ID);
            case SSID, SBCL, DSTAT, SSTAT0, SSTAT1, SSTAT2, CTEST1, DFIFO, SIST0, SIST1, STEST0, STEST4 -> {}
            case SIDL, SIDL + 1, SBDL, SBDL + 1, ADDER, ADDER + 1, ADDER + 2, ADDER + 3 -> {}
            case ISTAT0 -> writeIstat(value);
            case ISTAT1 -> regs.set(at, value & ISTAT1_DISABLE);
            case CTEST2 -> regs.set(at, value & CTEST2_BASES);
            case CTEST3 -> regs.set(at, value & 0x0f & ~CTEST3_COMMANDS);
            case DSP + 3 -> {
                regs.set(at, value);
                if (!regs.has(DMODE, DMODE_MANUAL)) {
                    start();
                }
            }
            case DCNTL -> {
                regs.set(at, value & ~DCNTL_COMMANDS);
                if ((value & DCNTL_START) != 0) {
                    start();
                }
            }
            case STIME1 -> {
                regs.set(at, value);
                pins.generalTimer((value & 0xf) == 0 ? 0 : TIMER_UNIT_NANOS << (value & 0xf));
            }
            case STEST3 -> regs.set(at, value & ~STEST3_CSF);
            default -> regs.set(at, value);
        }
    }

    private void writeScntl1(int value) {
        boolean reset = (value & SCNTL1_RST) != 0;
        boolean before = regs.has(SCNTL1, SCNTL1_RST);
        regs.set(SCNTL1, value & ~SCNTL1_CON);
        if (reset && !before) {
            bus.reset();
            regs.setBits(SSTAT0, SSTAT0_RST);
            selectionFailed = false;
            raiseScsi(ChipInterrupts.SIST_RST);
        } else if (!reset) {
            regs.clearBits(SSTAT0, SSTAT0_RST);
        }
    }

    private void writeIstat(int value) {
        int before = regs.get(ISTAT0);
        if ((value & ISTAT_SRST) != 0) {
            // The bit does not stay, because SeaBIOS never clears it.
            softReset();
            return;
        }
        regs.set(ISTAT0, value & (ISTAT_ABRT | ISTAT_SIGP | ISTAT_SEM));
        if ((value & ISTAT_INTF) != 0) {
            interrupts.clearOnTheFly();
        }
        if ((value & ~before & ISTAT_ABRT) != 0) {
            stopDma(ChipInterrupts.DSTAT_ABRT);
        }
        if ((value & ISTAT_SIGP) != 0 && state == State.WAIT_RESELECT) {
            regs.word(DSP, resumeAt);
            state = State.RUNNING;
        }
    }

    private void start() {
        state = State.RUNNING;
        spin = 0;
    }

    // Interrupts.

    private void raiseScsi(int bits) {
        if (interrupts.raiseScsi(bits, sien())) {
            stop();
        }
    }

    private void stopDma(int bits) {
        interrupts.raiseDma(bits);
        stop();
    }

    private void stop() {
        state = State.STOPPED;
        if (selectionFailed) {
            selectionFailed = false;
            raiseScsi(ChipInterrupts.SIST_STO);
        }
    }

    // Running.

    /** The bus has changed by itself: a target has answered. */
    void busChanged() {
        spin = 0;
        if (state == State.WAIT_REQUEST && bus.connected() < 0) {
            leftBus();
        } else if (state == State.WAIT_REQUEST && bus.request()) {
            regs.word(DSP, resumeAt);
            state = State.RUNNING;
        } else if (state == State.WAIT_DISCONNECT && bus.connected() < 0) {
            state = State.RUNNING;
        } else if (state == State.WAIT_RESELECT && bus.wantsReselection() && bus.connected() < 0) {
            reselected();
            if (state == State.WAIT_RESELECT) {
                state = State.RUNNING;
            }
        }
    }

    /** Whether {@link #run} has something to do. */
    boolean runnable() {
        return state == State.RUNNING;
    }

    /** Runs for one turn. */
    Turn run() {
        steps = 0;
        while (state == State.RUNNING) {
            if (bus.hasWork()) {
                return Turn.WORK;
            }
            if (steps >= TURN_STEPS) {
                return spin > SPIN_STEPS ? Turn.SPINNING : Turn.MORE;
            }
            steps++;
            spin++;
            step();
        }
        return bus.hasWork() ? Turn.WORK : Turn.IDLE;
    }

    private void step() {
        instructions++;
        int at = regs.word(DSP) & ~3;
        try {
            long code = fetchAddress(at);
            int instruction = memory.read32(code);
            if (instruction == 0) {
                // A block move of nothing; firmware builds it for commands without data.
                regs.word(DSP, at + 4);
                return;
            }
            int argument = memory.read32(code + 4);
            regs.word(DBC, instruction);
            regs.word(DSPS, argument);
            regs.word(DSP, at + 8);
            switch (instruction >>> 30) {
                case 0 -> blockMove(at, instruction, argument);
                case 1 -> ioOrRegister(at, instruction, argument);
                case 2 -> transferControl(at, instruction, argument);
                default -> memoryMove(at, instruction, argument);
            }
        } catch (GuestFault e) {
            stopDma(ChipInterrupts.DSTAT_BF);
        }
        if (state == State.RUNNING && regs.has(DCNTL, DCNTL_STEP)) {
            stopDma(ChipInterrupts.DSTAT_SSI);
        }
    }

    private long fetchAddress(int low) {
        return regs.address(SFS) << 32 | Integer.toUnsignedLong(low);
    }

    private static int signed24(int value) {
        return value << 8 >> 8;
    }

    private long dsaRelative(int offset) {
        return regs.address(DRS) << 32 | Integer.toUnsignedLong(regs.word(DSA) + signed24(offset));
    }

    private void illegal() {
        stopDma(ChipInterrupts.DSTAT_IID);
    }

    /** The instruction waits for REQ: it is done again when there is one. */
    private void waitForRequest(int at) {
        resumeAt = at;
        state = State.WAIT_REQUEST;
    }

    /** A selection that nobody has answered shows when an instruction needs the bus. */
    private boolean failedSelection() {
        if (!selectionFailed) {
            return false;
        }
        stop();
        return true;
    }

    // Block moves.

    private void blockMove(int at, int instruction, int argument) throws GuestFault {
        int count = instruction & COUNT;
        int upper = instruction >>> 24;
        long address = Integer.toUnsignedLong(argument);
        if ((instruction & 1 << 29) != 0) {
            address = Integer.toUnsignedLong(memory.read32(regs.address(SBMS) << 32 | address));
        } else if ((instruction & 1 << 28) != 0) {
            long entry = dsaRelative(argument);
            int first = memory.read32(entry);
            count = first & COUNT;
            upper = first >>> 24;
            address = tableAddress(upper, Integer.toUnsignedLong(memory.read32(entry + 4)));
        } else if (regs.has(CCNTL1, CCNTL1_DIRECT_64)) {
            int high = memory.read32(fetchAddress(at + 8));
            regs.word(DBMS, high);
            regs.word(DSP, at + 12);
            address |= Integer.toUnsignedLong(high) << 32;
        }
        int wanted = instruction >>> 24 & 7;
        regs.word(DBC, instruction & ~COUNT | count);
        regs.word(IA, at);
        if (failedSelection()) {
            return;
        }
        if (count == 0) {
            illegal();
            return;
        }
        bus.settle();
        regs.word(DNAD, (int) address);
        regs.word(DNAD64, (int) (address >>> 32));
        if (bus.connected() < 0 || !bus.request()) {
            waitForRequest(at);
            return;
        }
        spin = 0;
        int left = count;
        if (bus.phase() == wanted) {
            left -= (int) move(address, count);
            steps += (count - left) / BYTES_PER_STEP;
        }
        regs.word(DBC, instruction & ~COUNT | left);
        regs.word(DNAD, (int) (address + count - left));
        regs.word(SBC, count - left);
        regs.word(CSBC, regs.word(CSBC) + count - left);
        if (left > 0) {
            mismatch(wanted, upper, left, address + count - left);
        }
    }

    private long tableAddress(int upper, long low) {
        int mode = regs.get(CCNTL1) & (CCNTL1_64_TABLE | CCNTL1_TABLE_64);
        if (mode == (CCNTL1_64_TABLE | CCNTL1_TABLE_64)) {
            return (long) upper << 32 | low;
        }
        if (mode == CCNTL1_TABLE_64) {
            int selector = upper & 0x1f;
            int register = selector < 0x10 ? SCRATCHC + 4 * selector : MMRS + 4 * (selector - 0x10);
            return selector <= 0x15 ? regs.address(register) << 32 | low : low;
        }
        return low;
    }

    /** Moves up to {@code count} bytes in the phase that the bus is in. Returns how many. */
    private long move(long address, int count) throws GuestFault {
        return switch (bus.phase()) {
            case SpiBus.DATA_OUT -> dataOut(address, count);
            case SpiBus.DATA_IN -> dataIn(address, count);
            case SpiBus.COMMAND -> commandOut(address, count);
            case SpiBus.STATUS -> {
                int status = bus.statusIn();
                received(status);
                memory.write8(address, status);
                yield 1;
            }
            case SpiBus.MSG_OUT -> messageOut(address, count);
            case SpiBus.MSG_IN -> messageIn(address, count);
            default -> 0;
        };
    }

    private void received(int value) {
        regs.set(SFBR, value);
        regs.set(SIDL, value);
        regs.set(SBDL, value);
    }

    private long dataOut(long address, int count) throws GuestFault {
        SpiTask task = bus.data();
        long bytes = Math.min(count, task.dataBytes - task.movedBytes);
        memory.read(address, task.buffer, task.movedBytes, bytes);
        bus.dataMoved(bytes);
        return bytes;
    }

    private long dataIn(long address, int count) throws GuestFault {
        SpiTask task = bus.data();
        long bytes = Math.min(count, task.dataBytes - task.movedBytes);
        MemorySegment buffer = task.buffer;
        long from = task.movedBytes;
        memory.write(address, buffer, from, bytes);
        regs.set(SFBR, buffer.get(ValueLayout.JAVA_BYTE, from));
        regs.set(SIDL, buffer.get(ValueLayout.JAVA_BYTE, from + bytes - 1));
        bus.dataMoved(bytes);
        return bytes;
    }

    private long commandOut(long address, int count) throws GuestFault {
        int bytes = 0;
        boolean more = true;
        while (more && bytes < count) {
            more = bus.commandOut(memory.read8(address + bytes));
            bytes++;
        }
        bus.commandEnd();
        return bytes;
    }

    private long messageOut(long address, int count) throws GuestFault {
        int bytes = 0;
        SpiBus.MessageOut result = SpiBus.MessageOut.TAKEN;
        while (bytes < count && result == SpiBus.MessageOut.TAKEN) {
            result = bus.messageOut(memory.read8(address + bytes));
            bytes++;
        }
        steps += bytes;
        if (result == SpiBus.MessageOut.BUS_FREE) {
            leftBus();
            return count;
        }
        // ATN goes away with the last byte.
        if (bytes == count) {
            bus.dropAttention();
        }
        if (result == SpiBus.MessageOut.TAKEN) {
            bus.messageOutEnd();
        }
        return bytes;
    }

    private long messageIn(long address, int count) throws GuestFault {
        int bytes = 0;
        do {
            int value = bus.messageIn();
            if (bytes == 0) {
                regs.set(SFBR, value);
            }
            regs.set(SIDL, value);
            memory.write8(address + bytes, value);
            bytes++;
        } while (bytes < count && bus.moreMessageIn());
        if (bytes < count) {
            // The target would go on with another phase; it does so when its last byte is acknowledged.
            bus.settle();
        }
        return bytes;
    }

    /** The target has left the bus where the initiator may not have expected it. */
    private void leftBus() {
        if (regs.has(SCNTL2, SCNTL2_SDU)) {
            raiseScsi(ChipInterrupts.SIST_UDC);
        }
    }

    private void mismatch(int wanted, int upper, int left, long next) {
        phaseMismatches++;
        regs.word(RBC, upper << 24 | left);
        regs.word(UA, (int) next);
        regs.set(DFIFO, left);
        regs.set(CTEST5, regs.get(CTEST5) & ~3 | left >> 8 & 3);
        boolean data = wanted == SpiBus.DATA_IN || wanted == SpiBus.DATA_OUT;
        if (regs.has(CCNTL0, CCNTL0_ENPMJ) && (data || regs.has(CCNTL0, CCNTL0_ENNDJ))) {
            // There is never a wide residue.
            boolean second = regs.has(CCNTL0, CCNTL0_PMJCTL) && (wanted & 1) != 0;
            regs.word(DSP, regs.word(second ? PMJAD2 : PMJAD1));
        } else {
            raiseScsi(ChipInterrupts.SIST_MA);
        }
    }

    // I/O and register instructions.

    private void ioOrRegister(int at, int instruction, int argument) throws GuestFault {
        int operation = instruction >> 27 & 7;
        if (operation >= 5) {
            registerOperation(operation, instruction);
            return;
        }
        int alternate = (instruction & 1 << 26) != 0 ? at + 8 + signed24(argument) : argument;
        switch (operation) {
            case 0 -> select(instruction, alternate);
            case 1 -> waitDisconnect();
            case 2 -> waitReselect(alternate);
            case 3 -> setFlags(instruction);
            default -> clearFlags(instruction);
        }
    }

    private void select(int instruction, int alternate) throws GuestFault {
        int id = instruction >> 16 & LAST_ID;
        if ((instruction & 1 << 25) != 0) {
            int entry = memory.read32(dsaRelative(instruction & COUNT));
            id = entry >> 16 & LAST_ID;
            regs.set(SCNTL3, entry >>> 24);
            regs.set(SXFER, entry >> 8 & 0xff);
        }
        regs.word(DNAD, alternate);
        spin = 0;
        bus.settle();
        if (targetRole) {
            // There is no other initiator to reselect.
            selectionFailed = true;
            return;
        }
        if (bus.connected() >= 0) {
            // Somebody has reselected the chip before.
            regs.word(DSP, alternate);
            return;
        }
        regs.set(SDID, id);
        regs.setBits(SSTAT0, SSTAT0_WOA);
        if (bus.select(id, (instruction & 1 << 24) != 0)) {
            regs.setBits(SCNTL2, SCNTL2_SDU);
        } else {
            selectionFailed = true;
        }
    }

    private void waitDisconnect() {
        if (failedSelection()) {
            return;
        }
        bus.settle();
        if (!targetRole && bus.connected() >= 0) {
            state = State.WAIT_DISCONNECT;
        }
    }

    private void waitReselect(int alternate) {
        regs.word(DNAD, alternate);
        if (failedSelection()) {
            return;
        }
        bus.settle();
        if (regs.has(ISTAT0, ISTAT_SIGP)) {
            regs.word(DSP, alternate);
        } else if (bus.connected() < 0) {
            if (bus.wantsReselection()) {
                reselected();
            } else {
                resumeAt = alternate;
                state = State.WAIT_RESELECT;
            }
        }
    }

    private void reselected() {
        int target = bus.reselect();
        regs.set(SSID, 0x80 | target);
        regs.setBits(SCNTL2, SCNTL2_SDU);
        spin = 0;
        if ((sien() & ChipInterrupts.SIST_RSL) != 0) {
            raiseScsi(ChipInterrupts.SIST_RSL);
        }
    }

    private void setFlags(int flags) {
        if ((flags & FLAG_ATN) != 0) {
            bus.raiseAttention();
        }
        if ((flags & FLAG_ACK) != 0) {
            bus.holdAcknowledge();
        }
        targetRole |= (flags & FLAG_TARGET) != 0;
        carry |= (flags & FLAG_CARRY) != 0;
    }

    private void clearFlags(int flags) {
        if ((flags & FLAG_ATN) != 0) {
            bus.dropAttention();
        }
        if ((flags & FLAG_ACK) != 0) {
            bus.settle();
        }
        targetRole &= (flags & FLAG_TARGET) == 0;
        carry &= (flags & FLAG_CARRY) == 0;
    }

    private void registerOperation(int kind, int instruction) {
        int register = instruction >> 16 & 0x7f | instruction & 0x80;
        int operator = instruction >> 24 & 7;
        boolean fromSfbr = kind == 5;
        int data = (instruction & 1 << 23) != 0 ? regs.get(SFBR) : instruction >> 8 & 0xff;
        int value = operator == 0 ? 0 : fromSfbr ? regs.get(SFBR) : read(register);
        interrupts.unstack();
        int result = compute(operator, value, data);
        if (kind == 6) {
            regs.set(SFBR, result);
        } else {
            writeFromScript(register, result);
        }
    }

    /** A script's own writes neither start it again nor count as a guest's sign of life. */
    private void writeFromScript(int register, int value) {
        int before = spin;
        write(register, value);
        spin = before;
    }

    private int compute(int operator, int value, int data) {
        switch (operator) {
            case 0 -> {
                return data;
            }
            case 1 -> {
                int shifted = value << 1 | (carry ? 1 : 0);
                carry = (value & 0x80) != 0;
                return shifted & 0xff;
            }
            case 2 -> {
                return value | data;
            }
            case 3 -> {
                return value ^ data;
            }
            case 4 -> {
                return value & data;
            }
            case 5 -> {
                int shifted = value >> 1 | (carry ? 0x80 : 0);
                carry = (value & 1) != 0;
                return shifted;
            }
            default -> {
                int sum = value + data + (operator == 7 && carry ? 1 : 0);
                carry = sum > 0xff;
                return sum & 0xff;
            }
        }
    }

    // Transfer control.

    private void transferControl(int at, int instruction, int argument) throws GuestFault {
        boolean jumpOrCall = (instruction >> 27 & 7) < 2;
        boolean relative = (instruction & 1 << 23) != 0;
        int high = 0;
        boolean far = (instruction & 1 << 22) != 0 && jumpOrCall && !relative;
        if (far) {
            high = memory.read32(fetchAddress(at + 8));
            regs.word(DSP, at + 12);
        }
        if ((instruction & 0x2e0000) == 0) {
            return;
        }
        boolean jumpIf = (instruction & 1 << 19) != 0;
        boolean comparesPhase = (instruction & 1 << 17) != 0;
        if (comparesPhase) {
            if (failedSelection()) {
                return;
            }
            bus.settle();
            boolean waits = (instruction & 1 << 16) != 0;
            if (waits && !bus.request()) {
                waitForRequest(at);
                return;
            }
            // Nothing can change while the processor waits for an answer of the target.
            spin = waits ? 0 : spin;
        }
        if (!condition(instruction, jumpIf)) {
            return;
        }
        int target = relative ? regs.word(DSP) + signed24(argument) : argument;
        switch (instruction >> 27 & 7) {
            case 0 -> {
                regs.word(ADDER, target);
                jump(target, far, high);
            }
            case 1 -> {
                regs.word(TEMP, regs.word(DSP));
                jump(target, far, high);
            }
            case 2 -> regs.word(DSP, regs.word(TEMP));
            case 3 -> {
                if ((instruction & 1 << 20) != 0) {
                    interrupts.raiseOnTheFly();
                } else {
                    stopDma(ChipInterrupts.DSTAT_SIR);
                }
            }
            default -> illegal();
        }
    }

    private void jump(int target, boolean far, int high) {
        regs.word(DSP, target);
        if (far) {
            regs.word(SFS, high);
        }
    }

    /** Whether the instruction takes effect: every comparison that it asks for agrees with "jump if". */
    private boolean condition(int instruction, boolean jumpIf) {
        if ((instruction & 1 << 21) != 0 && carry != jumpIf) {
            return false;
        }
        if ((instruction & 1 << 17) != 0 && (bus.phase() == (instruction >> 24 & 7)) != jumpIf) {
            return false;
        }
        if ((instruction & 1 << 18) != 0) {
            int mask = ~(instruction >> 8) & 0xff;
            boolean equal = (regs.get(SFBR) & mask) == (instruction & mask);
            return equal == jumpIf;
        }
        return true;
    }

    // Memory.

    private void memoryMove(int at, int instruction, int argument) throws GuestFault {
        if ((instruction & 1 << 29) != 0) {
            loadOrStore(instruction, argument);
            return;
        }
        int destination = memory.read32(fetchAddress(at + 8));
        regs.word(DSP, at + 12);
        int count = instruction & COUNT;
        if (((argument ^ destination) & 3) != 0 || count == 0) {
            illegal();
            return;
        }
        steps += count / BYTES_PER_STEP;
        spin += count / BYTES_PER_STEP;
        memory.copy(
                regs.address(MMRS) << 32 | Integer.toUnsignedLong(argument),
                regs.address(MMWS) << 32 | Integer.toUnsignedLong(destination),
                count);
    }

    private void loadOrStore(int instruction, int argument) throws GuestFault {
        int bytes = instruction & 7;
        int register = instruction >> 16 & 0xff;
        boolean load = (instruction & 1 << 24) != 0;
        if (bytes == 0 || bytes > 4 || register + bytes > SIZE) {
            illegal();
            return;
        }
        long address = (instruction & 1 << 28) != 0
                ? dsaRelative(argument)
                : regs.address(load ? MMRS : MMWS) << 32 | Integer.toUnsignedLong(argument);
        if (bytes == 4 && plain(register)) {
            if (load) {
                regs.word(register, memory.read32(address));
            } else {
                memory.write32(address, regs.word(register));
            }
            return;
        }
        for (int i = 0; i < bytes; i++) {
            if (load) {
                writeFromScript(register + i, memory.read8(address + i));
            } else {
                memory.write8(address + i, read(register + i));
            }
        }
    }

    /** Registers of four bytes that are nothing but memory. */
    private boolean plain(int register) {
        return register == DSA
                || register == TEMP
                || register >= SCRATCHB && register + 4 <= SBC && (register & 3) == 0 && !regs.has(CTEST2, CTEST2_BASES)
                || register == SCRATCHA && !regs.has(CTEST2, CTEST2_BASES);
    }

    // Saved state.

    /** Saved state of the chip. */
    record Saved(
            byte[] registers,
            ChipInterrupts.State interrupts,
            State state,
            int resumeAt,
            boolean carry,
            boolean targetRole,
            boolean selectionFailed) {}

    Saved save() {
        return new Saved(regs.save(), interrupts.save(), state, resumeAt, carry, targetRole, selectionFailed);
    }

    void restore(Saved saved) {
        regs.restore(saved.registers);
        interrupts.restore(saved.interrupts);
        state = saved.state;
        resumeAt = saved.resumeAt;
        carry = saved.carry;
        targetRole = saved.targetRole;
        selectionFailed = saved.selectionFailed;
        spin = 0;
    }
}
