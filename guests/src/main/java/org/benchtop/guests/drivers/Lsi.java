package org.benchtop.guests.drivers;

import org.benchtop.guests.GuestLayout;
import org.benchtop.guests.lang.Guest;
import org.benchtop.guests.rt.Console;
import org.benchtop.guests.rt.Exit;
import org.benchtop.guests.rt.IoApic;
import org.benchtop.guests.rt.LocalApic;
import org.benchtop.guests.rt.Memory;
import org.benchtop.guests.rt.Pci;
import org.benchtop.guests.rt.Tsc;

/**
 * Driver for SCSI disks behind an LSI 53C895A. The adapter runs a program of its own from its on-chip RAM: it takes
 * requests from a queue in memory, sends them as tagged commands, lets targets disconnect and finds the request again by
 * its tag when they come back.
 *
 * <p>A tag is a slot, so at most 64 requests are with the disk; others wait in the driver.
 */
final class Lsi {
    private static final int ID = 0x0012_1000;
    private static final int REGISTERS_BAR = 1;
    private static final int RAM_BAR = 2;
    private static final int INTERRUPT_LINE = 0x3c;
    private static final int TARGETS = 16;
    private static final int INITIATOR = 7;

    private static final int SCNTL0 = 0x00;
    private static final int SCNTL1 = 0x01;
    private static final int SCNTL2 = 0x02;
    private static final int SCID = 0x04;
    private static final int DSTAT = 0x0c;
    private static final int DSA = 0x10;
    private static final int ISTAT = 0x14;
    private static final int CTEST2 = 0x1a;
    private static final int TEMP = 0x1c;
    private static final int DSP = 0x2c;
    private static final int DSPS = 0x30;
    private static final int SCRATCHA = 0x34;
    private static final int DIEN = 0x39;
    private static final int SIEN = 0x40;
    private static final int SIST = 0x42;
    private static final int STIME0 = 0x48;
    private static final int RESPID = 0x4a;
    private static final int SIDL = 0x50;
    private static final int CCNTL0 = 0x56;
    private static final int PMJAD1 = 0xc0;
    private static final int ISTAT_RESET = 0x40;
    private static final int ISTAT_SIGP = 0x20;
    private static final int ISTAT_INTF = 0x04;
    private static final int ISTAT_ERRORS = 0x03;
    private static final int SELECTION_TIMEOUT = 0x0400;

    private static final int DATA_OUT = 0;
    private static final int DATA_IN = 1;
    private static final int COMMAND = 2;
    private static final int STATUS = 3;
    private static final int MSG_OUT = 6;
    private static final int MSG_IN = 7;
    private static final int ATN_ACK = 0x48;
    private static final int ACK = 0x40;
    private static final int CARRY = 0x400;

    /** Number of slots; tags times four have to fit into a byte. */
    private static final int SLOTS = 64;

    private static final int RING = 128;
    private static final int NO_STATUS = 0xff;
    private static final int VECTOR = 0x74;
    private static final int ONE_SECOND_OF_TICKS = 7_812_500;
    private static final long SILENCE_NANOS = 20_000_000_000L;

    /** A request as the script sees it, from DSA on. */
    private static final int GO = 0;

    private static final int MESSAGE_ENTRY = 8;
    private static final int CDB_ENTRY = 16;
    private static final int SELECT_ENTRY = 24;
    private static final int DATA_ENTRY = 32;
    private static final int STATUS_ENTRY = 40;
    private static final int STATUS_BYTE = 48;
    private static final int MESSAGE = 56;
    private static final int CDB = 64;
    private static final int PARAMETERS = 96;
    private static final int REQUEST_BLOCK_SIZE = 128;

    /** The driver's structure, after the common head. */
    private static final int REGISTERS = Disk.HEAD_SIZE;

    private static final int RAM = REGISTERS + 8;
    private static final int BLOCKS = REGISTERS + 16;
    private static final int QUEUE = REGISTERS + 24;
    private static final int SHARED = REGISTERS + 32;
    private static final int IDLE = REGISTERS + 40;
    private static final int SELECT_CODE = REGISTERS + 48;
    private static final int START_CODE = REGISTERS + 56;
    private static final int PUT = REGISTERS + 64;
    private static final int TARGET = REGISTERS + 68;
    private static final int TAGS = REGISTERS + 72;
    private static final int REQUESTS = REGISTERS + 80;
    private static final int FIFO = REGISTERS + 88;
    private static final int COUNTER = REGISTERS + 96;
    private static final int SERIAL = REGISTERS + 104;
    private static final int HEAD = REGISTERS + 112;
    private static final int TAIL = REGISTERS + 116;
    private static final int KICKED = REGISTERS + 120;
    private static final int LINE = REGISTERS + 124;
    private static final int BUSY = REGISTERS + 128;
    private static final int DONE = REGISTERS + 136;
    private static final int SEEN = REGISTERS + 144;
    private static final int MISSED = REGISTERS + 152;
    private static final int COMMANDS = REGISTERS + 160;
    private static final int ZEROES = REGISTERS + 168;
    private static final int DISK_SIZE = REGISTERS + 176;

    /** Words that driver and script share. */
    private static final int START_POSITION = 0;

    private static final int TAG_TABLE_ADDRESS = 4;
    private static final int INBOX = 8;
    private static final int SHARED_SIZE = 32;

    private static final int OPERATION = 0;
    private static final int SIZE = 4;
    private static final int SECTOR = 8;
    private static final int BUFFER = 16;
    private static final int REQUEST_SIZE = 32;

    private static long code;

    private Lsi() {}

    static boolean matches(int function) {
        return Pci.id(function) == ID;
    }

    /** The number of disks on an adapter. */
    static int disks(int function) {
        long disk = start(function);
        int found = 0;
        for (int target = 0; target < TARGETS; target++) {
            found += isDisk(disk, target) ? 1 : 0;
        }
        stop(disk);
        return found;
    }

    static long attach(int function, int index, int depth, int flags) {
        long disk = start(function);
        int target = -1;
        int seen = -1;
        while (seen < index) {
            target++;
            seen += isDisk(disk, target) ? 1 : 0;
        }
        Guest.store32(disk + TARGET, target);
        Guest.store32(disk + Disk.KIND, Disk.LSI);
        Guest.store32(disk + Disk.QUEUES, 1);
        Guest.store32(disk + Disk.DEPTH, depth);
        Guest.store64(disk + TAGS, Memory.allocateZeroed(4L * SLOTS, 64));
        Guest.store64(disk + REQUESTS, Memory.allocateZeroed((long) REQUEST_SIZE * depth, 64));
        Guest.store64(disk + FIFO, Memory.allocateZeroed(4L * depth, 64));
        Guest.store64(disk + COUNTER, GuestLayout.INTERRUPT_COUNTERS + 8L * VECTOR);
        describe(disk);
        int line = Pci.read8(function, INTERRUPT_LINE);
        boolean routed = line > 0 && line < 24;
        Guest.store32(disk + LINE, line);
        Guest.store32(disk + Disk.FLAGS, flags & Disk.POLL | (routed ? 0 : Disk.POLL));
        return disk;
    }

    private static void describe(long disk) {
        int target = Guest.load32(disk + TARGET);
        long answer = Memory.allocateZeroed(Scsi.ANSWER_SIZE, 64);
        long block = block(disk, 0);
        Scsi.capacity(block + CDB);
        require(execute(disk, target, DATA_IN, answer, 32), "READ CAPACITY");
        Scsi.describe(disk, answer);
        long zeroes = Memory.allocateZeroed(Guest.load32(disk + Disk.BLOCK_SIZE), 64);
        Guest.store64(disk + ZEROES, zeroes);
        Guest.fill8(answer, 0, Scsi.ANSWER_SIZE);
        Scsi.provisioning(block + CDB);
        if (execute(disk, target, DATA_IN, answer, Scsi.ANSWER_SIZE) == Scsi.GOOD) {
            Scsi.describeProvisioning(disk, answer);
        }
        long serial = Memory.allocateZeroed(24, 8);
        Guest.fill8(answer, 0, Scsi.ANSWER_SIZE);
        Scsi.serial(block + CDB);
        if (execute(disk, target, DATA_IN, answer, Scsi.ANSWER_SIZE) == Scsi.GOOD) {
            Scsi.copySerial(answer, serial);
        }
        Guest.store64(disk + SERIAL, serial);
    }

    private static void require(int status, String what) {
        if (status != Scsi.GOOD) {
            Console.print("error: the SCSI disk fails ");
            Console.print(what);
            Console.print(" with status ");
            Console.printDecimal(status);
            Console.newLine();
            Exit.exit(Exit.DEVICE_ERROR);
        }
    }

    // The adapter.

    /** Resets adapter and bus, and starts the script. */
    private static long start(int function) {
        Pci.enable(function);
        long disk = Memory.allocateZeroed(DISK_SIZE, 64);
        long registers = Pci.bar(function, REGISTERS_BAR);
        Guest.store64(disk + REGISTERS, registers);
        Guest.store64(disk + RAM, Pci.bar(function, RAM_BAR));
        Guest.store8(registers + ISTAT, ISTAT_RESET);
        Guest.store8(registers + ISTAT, 0);
        Guest.store8(registers + SCNTL1, 8);
        Guest.store8(registers + SCNTL1, 0);
        clearConditions(registers);
        Guest.store8(registers + SCNTL0, 0xca);
        Guest.store8(registers + SCID, 0x40 | INITIATOR);
        Guest.store16(registers + RESPID, 1 << INITIATOR);
        Guest.store8(registers + STIME0, 0x0c);
        queue(disk);
        script(disk);
        restart(disk);
        return disk;
    }

    private static void stop(long disk) {
        long registers = Guest.load64(disk + REGISTERS);
        Guest.store8(registers + ISTAT, ISTAT_RESET);
        Guest.store8(registers + ISTAT, 0);
    }

    private static void clearConditions(long registers) {
        for (int i = 0; i < 4 && (Guest.load8(registers + ISTAT) & ISTAT_ERRORS) != 0; i++) {
            Guest.load16(registers + SIST);
            Guest.load8(registers + DSTAT);
        }
    }

    private static void queue(long disk) {
        long shared = Memory.allocateZeroed(SHARED_SIZE, 64);
        long ring = Memory.allocateZeroed(8L * RING, 64);
        long blocks = Memory.allocateZeroed((long) REQUEST_BLOCK_SIZE * (SLOTS + 1), 128);
        long table = Memory.allocateZeroed(4L * SLOTS, 256);
        long idle = blocks + (long) REQUEST_BLOCK_SIZE * SLOTS;
        Guest.store64(disk + SHARED, shared);
        Guest.store64(disk + QUEUE, ring);
        Guest.store64(disk + BLOCKS, blocks);
        Guest.store64(disk + IDLE, idle);
        for (int i = 0; i < RING; i++) {
            Guest.store32(ring + 8L * i, (int) idle);
            Guest.store32(ring + 8L * i + 4, (int) (ring + 8L * ((i + 1) % RING)));
        }
        for (int slot = 0; slot < SLOTS; slot++) {
            Guest.store32(table + 4L * slot, (int) (blocks + (long) REQUEST_BLOCK_SIZE * slot));
        }
        Guest.store32(shared + START_POSITION, (int) ring);
        Guest.store32(shared + TAG_TABLE_ADDRESS, (int) table);
    }

    private static void restart(long disk) {
        long registers = Guest.load64(disk + REGISTERS);
        Guest.store8(registers + DIEN, 0x7d);
        Guest.store16(registers + SIEN, 0x048f);
        Guest.store32(registers + DSP, (int) Guest.load64(disk + START_CODE));
    }

    // The script.

    private static void emit(int first, long second) {
        Guest.store32(code, first);
        Guest.store32(code + 4, (int) second);
        code += 8;
    }

    private static void load(int register, long address) {
        emit(0xe100_0004 | register << 16, address);
    }

    private static void store(int register, long address) {
        emit(0xe000_0004 | register << 16, address);
    }

    private static void loadFromDsa(int register, int offset) {
        emit(0xf100_0004 | register << 16, offset);
    }

    /** SFBR = register. */
    private static void fetch(int register) {
        emit(0x7200_0000 | register << 16, 0);
    }

    private static void moveTable(int phase, int offset) {
        emit(0x1000_0000 | phase << 24, offset);
    }

    private static void move(int phase, int bytes, long address) {
        emit(phase << 24 | bytes, address);
    }

    private static void jump(long address) {
        emit(0x8008_0000, address);
    }

    /** JUMP when the next phase is this one. */
    private static void jumpWhen(int phase, long address) {
        emit(0x800b_0000 | phase << 24, address);
    }

    private static void jumpWhenNot(int phase, long address) {
        emit(0x8003_0000 | phase << 24, address);
    }

    private static void jumpIfByte(int value, long address) {
        emit(0x800c_0000 | value, address);
    }

    private static void returns() {
        emit(0x9008_0000, 0);
    }

    private static void interrupt(int number) {
        emit(0x9808_0000, number);
    }

    private static void expectDisconnection() {
        emit(0x7c00_0000 | SCNTL2 << 16 | 0x7f << 8, 0);
        emit(0x6000_0000 | ATN_ACK, 0);
        emit(0x4800_0000, 0);
    }

    private static void acknowledge() {
        emit(0x6000_0000 | ACK, 0);
    }

    /** Writes the script; two passes, because the first one finds out where things are. */
    private static void script(long disk) {
        long base = Guest.load64(disk + RAM);
        long shared = Guest.load64(disk + SHARED);
        long dispatch = base;
        long messages = base;
        long complete = base;
        long disconnect = base;
        long ignore = base;
        long reselected = base;
        long select = base;
        long idle = base;
        for (int pass = 0; pass < 2; pass++) {
            code = base;
            // Start: the next request of the queue, or the idle one.
            fetch(CTEST2);
            load(DSA, shared + START_POSITION);
            loadFromDsa(SCRATCHA, 4);
            loadFromDsa(DSA, 0);
            loadFromDsa(TEMP, GO);
            returns();
            select = code;
            emit(0x4300_0000 | SELECT_ENTRY, reselected);
            store(SCRATCHA, shared + START_POSITION);
            moveTable(MSG_OUT, MESSAGE_ENTRY);
            jumpWhenNot(COMMAND, dispatch);
            moveTable(COMMAND, CDB_ENTRY);
            dispatch = code;
            jumpWhen(MSG_IN, messages);
            jumpWhenNot(DATA_IN, code + 24);
            moveTable(DATA_IN, DATA_ENTRY);
            jump(dispatch);
            jumpWhenNot(DATA_OUT, code + 24);
            moveTable(DATA_OUT, DATA_ENTRY);
            jump(dispatch);
            jumpWhenNot(STATUS, code + 24);
            moveTable(STATUS, STATUS_ENTRY);
            jump(dispatch);
            interrupt(1);
            messages = code;
            move(MSG_IN, 1, shared + INBOX);
            jumpIfByte(0, complete);
            jumpIfByte(4, disconnect);
            jumpIfByte(2, ignore);
            jumpIfByte(3, ignore);
            interrupt(2);
            ignore = code;
            acknowledge();
            jump(dispatch);
            complete = code;
            expectDisconnection();
            emit(0x9818_0000, 0);
            jump(base);
            disconnect = code;
            expectDisconnection();
            jump(base);
            idle = code;
            emit(0x5000_0000, base);
            reselected = code;
            move(MSG_IN, 1, shared + INBOX);
            acknowledge();
            move(MSG_IN, 2, shared + INBOX);
            emit(0x6000_0000 | CARRY, 0);
            load(DSA, shared + TAG_TABLE_ADDRESS);
            // SFBR = tag x 2; DSA's low byte = SFBR x 2.
            emit(0x7100_0000 | SIDL << 16, 0);
            emit(0x6900_0000 | DSA << 16, 0);
            loadFromDsa(DSA, 0);
            acknowledge();
            jump(dispatch);
        }
        Guest.store64(disk + START_CODE, base);
        Guest.store64(disk + SELECT_CODE, select);
        Guest.store32(Guest.load64(disk + IDLE) + GO, (int) idle);
        long registers = Guest.load64(disk + REGISTERS);
        Guest.store8(registers + CCNTL0, 0x80);
        Guest.store32(registers + PMJAD1, (int) dispatch);
        Guest.store32(registers + PMJAD1 + 4, (int) dispatch);
    }

    private static long block(long disk, int slot) {
        return Guest.load64(disk + BLOCKS) + (long) REQUEST_BLOCK_SIZE * slot;
    }

    /** Completes a block whose CDB is there. */
    private static void prepareBlock(long disk, int slot, int target, long buffer, int bytes) {
        long block = block(disk, slot);
        Guest.store32(block + GO, (int) Guest.load64(disk + SELECT_CODE));
        Guest.store32(block + MESSAGE_ENTRY, 3);
        Guest.store32(block + MESSAGE_ENTRY + 4, (int) (block + MESSAGE));
        Guest.store32(block + MESSAGE, 0x20c0 | slot << 16);
        int operation = Guest.load8(block + CDB);
        Guest.store32(block + CDB_ENTRY, operation < 0x20 ? 6 : operation < 0x80 ? 10 : 16);
        Guest.store32(block + CDB_ENTRY + 4, (int) (block + CDB));
        Guest.store32(block + SELECT_ENTRY, target << 16);
        Guest.store32(block + DATA_ENTRY, bytes);
        Guest.store32(block + DATA_ENTRY + 4, (int) buffer);
        Guest.store32(block + STATUS_ENTRY, 1);
        Guest.store32(block + STATUS_ENTRY + 4, (int) (block + STATUS_BYTE));
        Guest.store8(block + STATUS_BYTE, NO_STATUS);
    }

    private static void enqueue(long disk, int slot) {
        long ring = Guest.load64(disk + QUEUE);
        int put = Guest.load32(disk + PUT);
        int next = (put + 1) % RING;
        Guest.store32(ring + 8L * next, (int) Guest.load64(disk + IDLE));
        Guest.store32Release(ring + 8L * put, (int) block(disk, slot));
        Guest.store32(disk + PUT, next);
    }

    private static void signal(long disk) {
        Guest.store8(Guest.load64(disk + REGISTERS) + ISTAT, ISTAT_SIGP);
        Guest.store64(disk + COMMANDS, Guest.load64(disk + COMMANDS) + 1);
    }

    // Before interrupts are used.

    private static boolean isDisk(long disk, int target) {
        if (target == INITIATOR) {
            return false;
        }
        long block = block(disk, 0);
        long answer = Memory.allocateZeroed(Scsi.ANSWER_SIZE, 64);
        Scsi.inquiry(block + CDB);
        if (execute(disk, target, DATA_IN, answer, 36) != Scsi.GOOD || Guest.load8(answer) != 0) {
            return false;
        }
        // Takes the unit attention of a reset.
        for (int i = 0; i < 4; i++) {
            Scsi.testUnitReady(block + CDB);
            if (execute(disk, target, DATA_IN, answer, 0) == Scsi.GOOD) {
                return true;
            }
        }
        return false;
    }

    /** Does the command in slot 0 and returns its status; -1 if there is no such target. */
    private static int execute(long disk, int target, int direction, long buffer, int bytes) {
        long registers = Guest.load64(disk + REGISTERS);
        prepareBlock(disk, 0, target, buffer, bytes);
        enqueue(disk, 0);
        signal(disk);
        long begin = Guest.tsc();
        while (true) {
            int istat = Guest.load8(registers + ISTAT);
            if ((istat & ISTAT_ERRORS) != 0) {
                return refused(disk);
            }
            if ((istat & ISTAT_INTF) != 0) {
                Guest.store8(registers + ISTAT, ISTAT_INTF);
                return Guest.load8(block(disk, 0) + STATUS_BYTE);
            }
            checkSilence(disk, begin);
        }
    }

    private static int refused(long disk) {
        long registers = Guest.load64(disk + REGISTERS);
        int sist = Guest.load16(registers + SIST);
        int dstat = Guest.load8(registers + DSTAT);
        if (sist != SELECTION_TIMEOUT) {
            fail(disk, sist, dstat);
        }
        restart(disk);
        return -1;
    }

    // Requests.

    static void bind(long disk) {
        if (!Disk.polled(disk)) {
            IoApic.route(Guest.load32(disk + LINE), VECTOR, false);
            LocalApic.startTicks(ONE_SECOND_OF_TICKS);
        }
    }

    static void submit(long disk, int tag, int operation, long sector, long buffer, int sizeBytes) {
        long request = request(disk, tag);
        Guest.store32(request + OPERATION, operation);
        Guest.store32(request + SIZE, sizeBytes);
        Guest.store64(request + SECTOR, sector);
        Guest.store64(request + BUFFER, buffer);
        int tail = Guest.load32(disk + TAIL);
        Guest.store32(Guest.load64(disk + FIFO) + 4L * (tail % Guest.load32(disk + Disk.DEPTH)), tag);
        Guest.store32(disk + TAIL, tail + 1);
    }

    private static long request(long disk, int tag) {
        return Guest.load64(disk + REQUESTS) + (long) REQUEST_SIZE * tag;
    }

    static void kick(long disk) {
        Guest.store32(disk + KICKED, Guest.load32(disk + TAIL));
        startMore(disk);
    }

    /** Gives the disk as many of the waiting requests as it takes. */
    private static void startMore(long disk) {
        int head = Guest.load32(disk + HEAD);
        int kicked = Guest.load32(disk + KICKED);
        long busy = Guest.load64(disk + BUSY);
        boolean queued = false;
        while (head != kicked && busy != -1L) {
            int tag = Guest.load32(Guest.load64(disk + FIFO) + 4L * (head % Guest.load32(disk + Disk.DEPTH)));
            int slot = Long.numberOfTrailingZeros(~busy);
            busy |= 1L << slot;
            Guest.store32(Guest.load64(disk + TAGS) + 4L * slot, tag);
            head++;
            if (Guest.load32(request(disk, tag) + OPERATION) == Disk.IDENTIFY) {
                Guest.copy(
                        Guest.load64(request(disk, tag) + BUFFER),
                        Guest.load64(disk + SERIAL),
                        Math.min(Guest.load32(request(disk, tag) + SIZE), 20));
                Guest.store8(block(disk, slot) + STATUS_BYTE, Scsi.GOOD);
                Guest.store64(disk + DONE, Guest.load64(disk + DONE) | 1L << slot);
                continue;
            }
            prepare(disk, slot, tag);
            enqueue(disk, slot);
            queued = true;
        }
        Guest.store32(disk + HEAD, head);
        Guest.store64(disk + BUSY, busy);
        if (queued) {
            signal(disk);
        }
    }

    private static void prepare(long disk, int slot, int tag) {
        long request = request(disk, tag);
        long block = block(disk, slot);
        int blockSize = Guest.load32(disk + Disk.BLOCK_SIZE);
        int size = Guest.load32(request + SIZE);
        long lba = Guest.load64(request + SECTOR) / (blockSize / Disk.SECTOR);
        int count = size / blockSize;
        long buffer = Guest.load64(request + BUFFER);
        int bytes = size;
        int operation = Guest.load32(request + OPERATION);
        switch (operation) {
            case Disk.READ, Disk.WRITE -> Scsi.transfer(block + CDB, operation == Disk.WRITE, lba, count);
            case Disk.DISCARD -> {
                buffer = block + PARAMETERS;
                bytes = Scsi.UNMAP_SIZE;
                Scsi.unmap(block + CDB, buffer, lba, count);
            }
            case Disk.WRITE_ZEROES -> {
                buffer = Guest.load64(disk + ZEROES);
                bytes = blockSize;
                Scsi.writeZeroes(block + CDB, lba, count);
            }
            default -> Scsi.flush(block + CDB);
        }
        prepareBlock(disk, slot, Guest.load32(disk + TARGET), buffer, bytes);
    }

    static int poll(long disk) {
        long done = Guest.load64(disk + DONE);
        if (done == 0) {
            if (!signalled(disk)) {
                return Disk.NONE;
            }
            done = collect(disk);
            if (done == 0) {
                return Disk.NONE;
            }
        }
        int slot = Long.numberOfTrailingZeros(done);
        done &= done - 1;
        Guest.store64(disk + DONE, done);
        Guest.store64(disk + BUSY, Guest.load64(disk + BUSY) & ~(1L << slot));
        int tag = Guest.load32(Guest.load64(disk + TAGS) + 4L * slot);
        int status = Guest.load8(block(disk, slot) + STATUS_BYTE);
        if (done == 0) {
            startMore(disk);
        }
        return tag | status << 16;
    }

    private static boolean signalled(long disk) {
        return Guest.load64(disk + BUSY) != 0
                && (Disk.polled(disk) || Guest.load64(Guest.load64(disk + COUNTER)) != Guest.load64(disk + SEEN));
    }

    /** Takes back the interrupt, then looks at the status bytes of all slots in use. */
    private static long collect(long disk) {
        long registers = Guest.load64(disk + REGISTERS);
        Guest.store64(disk + SEEN, Guest.load64(Guest.load64(disk + COUNTER)));
        if (!Disk.polled(disk)) {
            takeBack(disk);
        }
        long open = Guest.load64(disk + BUSY);
        long done = 0;
        while (open != 0) {
            int slot = Long.numberOfTrailingZeros(open);
            open &= open - 1;
            if (Guest.load8(block(disk, slot) + STATUS_BYTE) != NO_STATUS) {
                done |= 1L << slot;
            }
        }
        if (done == 0 && (Guest.load8(registers + ISTAT) & ISTAT_ERRORS) != 0) {
            fail(disk, Guest.load16(registers + SIST), Guest.load8(registers + DSTAT));
        }
        Guest.store64(disk + DONE, done);
        return done;
    }

    /** Clears INTF; the same write must not clear a signal that the script has not seen. */
    private static void takeBack(long disk) {
        long position = Guest.load32Unsigned(Guest.load64(disk + SHARED) + START_POSITION);
        boolean allTaken = position == Guest.load64(disk + QUEUE) + 8L * Guest.load32(disk + PUT);
        Guest.store8(Guest.load64(disk + REGISTERS) + ISTAT, ISTAT_INTF | (allTaken ? 0 : ISTAT_SIGP));
    }

    static void await(long disk) {
        long begin = Guest.tsc();
        if (Guest.load64(disk + DONE) != 0) {
            return;
        }
        if (Disk.polled(disk)) {
            while (Guest.load64(disk + BUSY) != 0 && collect(disk) == 0) {
                checkSilence(disk, begin);
            }
            return;
        }
        long counter = Guest.load64(disk + COUNTER);
        // An interrupt may be that of a completion which was seen before it came.
        while (true) {
            long seen = Guest.load64(disk + SEEN);
            boolean interrupted = Guest.load64(counter) != seen;
            if (!interrupted) {
                Guest.waitWhileEqual(counter, seen);
                interrupted = Guest.load64(counter) != seen;
            }
            if (collect(disk) != 0) {
                if (!interrupted) {
                    Guest.store64(disk + MISSED, Guest.load64(disk + MISSED) + 1);
                }
                return;
            }
            checkSilence(disk, begin);
        }
    }

    private static void fail(long disk, int sist, int dstat) {
        long registers = Guest.load64(disk + REGISTERS);
        Console.print("error: the LSI adapter stops: SIST ");
        Console.printHex(sist);
        Console.print(", DSTAT ");
        Console.printHex(dstat);
        Console.print(", DSPS ");
        Console.printHex(Guest.load32Unsigned(registers + DSPS));
        Console.print(", script offset ");
        Console.printHex(Guest.load32Unsigned(registers + DSP) - Guest.load64(disk + START_CODE));
        Console.newLine();
        Exit.exit(Exit.DEVICE_ERROR);
    }

    private static void checkSilence(long disk, long begin) {
        if (Tsc.toNanos(Guest.tsc() - begin) < SILENCE_NANOS) {
            return;
        }
        long registers = Guest.load64(disk + REGISTERS);
        Console.print("error: no completion of the SCSI disk for 20 s: ISTAT ");
        Console.printHex(Guest.load8(registers + ISTAT));
        Console.print(", script offset ");
        Console.printHex(Guest.load32Unsigned(registers + DSP) - Guest.load64(disk + START_CODE));
        Console.print(", interrupts ");
        Console.printDecimal(interrupts(disk));
        Console.newLine();
        Exit.exit(Exit.DEVICE_ERROR);
    }

    static long interrupts(long disk) {
        return Guest.load64(Guest.load64(disk + COUNTER));
    }

    static long missedInterrupts(long disk) {
        return Guest.load64(disk + MISSED);
    }

    static long notifications(long disk) {
        return Guest.load64(disk + COMMANDS);
    }
}
