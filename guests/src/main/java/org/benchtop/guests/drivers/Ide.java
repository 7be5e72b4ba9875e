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
 * Driver for ATA disks on a PIIX controller in legacy mode: bus-master DMA, or programmed I/O by READ and WRITE MULTIPLE
 * (ATA8-ACS; Programming Interface for Bus Master IDE 1.0).
 *
 * <p>The hardware does one command at a time; further requests wait in the driver.
 */
final class Ide {
    private static final int CLASS_IDE = 0x0101;

    /** Ports of a channel, from its base. */
    private static final int DATA = 0;

    private static final int FEATURES = 1;
    private static final int COUNT = 2;
    private static final int LBA_LOW = 3;
    private static final int LBA_MID = 4;
    private static final int LBA_HIGH = 5;
    private static final int DEVICE = 6;
    private static final int STATUS = 7;
    private static final int CONTROL = 0x206;

    private static final int NO_INTERRUPTS = 2;
    private static final int BSY = 0x80;
    private static final int DF = 0x20;
    private static final int DRQ = 0x08;
    private static final int ERR = 0x01;

    private static final int READ_DMA = 0xc8;
    private static final int READ_DMA_EXT = 0x25;
    private static final int WRITE_DMA = 0xca;
    private static final int WRITE_DMA_EXT = 0x35;
    private static final int READ_MULTIPLE = 0xc4;
    private static final int READ_MULTIPLE_EXT = 0x29;
    private static final int WRITE_MULTIPLE = 0xc5;
    private static final int WRITE_MULTIPLE_EXT = 0x39;
    private static final int SET_MULTIPLE = 0xc6;
    private static final int DATA_SET_MANAGEMENT = 0x06;
    private static final int FLUSH_CACHE = 0xe7;
    private static final int IDENTIFY_DEVICE = 0xec;
    private static final int SET_FEATURES = 0xef;
    private static final int TRANSFER_MODE = 3;
    private static final int MULTIWORD_DMA_2 = 0x22;

    private static final int MASTER_START = 1;
    private static final int MASTER_TO_MEMORY = 8;
    private static final int MASTER_ERROR = 2;
    private static final int MASTER_INTERRUPT = 4;

    private static final int BLOCK_SECTORS = 16;
    private static final int MAX_LBA28_SECTORS = 256;
    private static final long MAX_LBA28 = 0x0fff_ffff;
    private static final int TABLE_SIZE = 4096;
    private static final int LAST_REGION = 0x8000_0000;
    private static final int REGION_LIMIT = 65536;
    private static final int FIRST_VECTOR = 0x70;
    private static final int FIRST_IRQ = 14;
    private static final int ONE_SECOND_OF_TICKS = 7_812_500;
    private static final long SILENCE_NANOS = 20_000_000_000L;
    private static final long PROBE_NANOS = 5_000_000_000L;

    /** The driver's structure, after the common head. */
    private static final int BASE = Disk.HEAD_SIZE;

    private static final int MASTER = BASE + 4;
    private static final int UNIT = BASE + 8;
    private static final int ACTIVE = BASE + 12;
    private static final int HEAD = BASE + 16;
    private static final int TAIL = BASE + 20;
    private static final int KICKED = BASE + 24;
    private static final int BLOCKS_LEFT = BASE + 28;
    private static final int CURSOR = BASE + 32;
    private static final int COUNTER = BASE + 40;
    private static final int SEEN = BASE + 48;
    private static final int REQUESTS = BASE + 56;
    private static final int FIFO = BASE + 64;
    private static final int TABLE = BASE + 72;
    private static final int SERIAL = BASE + 80;
    private static final int MISSED = BASE + 88;
    private static final int COMMANDS = BASE + 96;
    private static final int VECTOR = BASE + 104;
    private static final int DISK_SIZE = BASE + 112;

    /** One request. */
    private static final int OPERATION = 0;

    private static final int SIZE = 4;
    private static final int SECTOR = 8;
    private static final int BUFFER = 16;
    private static final int REQUEST_SIZE = 32;

    private static final long IDENTITY = Guest.reserve(512, 16);

    private Ide() {}

    static boolean matches(int function) {
        return Pci.read32(function, 8) >>> 16 == CLASS_IDE;
    }

    /** The number of disks on a controller. */
    static int disks(int function) {
        Pci.enable(function);
        int found = 0;
        for (int place = 0; place < 4; place++) {
            found += identify(place) ? 1 : 0;
        }
        return found;
    }

    private static int base(int place) {
        return place < 2 ? 0x1f0 : 0x170;
    }

    /** Asks the drive in a place who it is; whether it is a disk. */
    private static boolean identify(int place) {
        int base = base(place);
        Guest.out8(base + CONTROL, NO_INTERRUPTS);
        Guest.out8(base + DEVICE, 0xa0 | (place & 1) << 4);
        int status = Guest.in8(base + CONTROL);
        if (status == 0 || status == 0xff || !idle(base)) {
            return false;
        }
        Guest.out8(base + STATUS, IDENTIFY_DEVICE);
        if (!idle(base) || (Guest.in8(base + STATUS) & (ERR | DRQ)) != DRQ) {
            return false;
        }
        Guest.inWords(base + DATA, IDENTITY, 256);
        return true;
    }

    private static boolean idle(int base) {
        long begin = Guest.tsc();
        while ((Guest.in8(base + CONTROL) & BSY) != 0) {
            if (Tsc.toNanos(Guest.tsc() - begin) > PROBE_NANOS) {
                return false;
            }
        }
        return true;
    }

    private static int word(int index) {
        return Guest.load16(IDENTITY + 2L * index);
    }

    static long attach(int function, int index, int depth, int flags) {
        int place = -1;
        int seen = -1;
        while (seen < index) {
            place++;
            seen += identify(place) ? 1 : 0;
        }
        long disk = Memory.allocateZeroed(DISK_SIZE, 64);
        int base = base(place);
        Guest.store32(disk + Disk.KIND, Disk.IDE);
        Guest.store32(disk + BASE, base);
        Guest.store32(disk + UNIT, 0xe0 | (place & 1) << 4);
        Guest.store32(disk + MASTER, (int) Pci.bar(function, 4) + (place < 2 ? 0 : 8));
        describe(disk);
        Guest.store32(disk + Disk.FLAGS, flags & (Disk.POLL | Disk.PROGRAMMED));
        Guest.store32(disk + Disk.QUEUES, 1);
        Guest.store32(disk + Disk.DEPTH, depth);
        Guest.store32(disk + ACTIVE, Disk.NONE);
        Guest.store64(disk + REQUESTS, Memory.allocateZeroed((long) REQUEST_SIZE * depth, 64));
        Guest.store64(disk + FIFO, Memory.allocateZeroed(4L * depth, 64));
        Guest.store64(disk + TABLE, Memory.allocateZeroed(TABLE_SIZE, TABLE_SIZE));
        int vector = FIRST_VECTOR + (place >> 1);
        Guest.store32(disk + VECTOR, vector);
        Guest.store64(disk + COUNTER, GuestLayout.INTERRUPT_COUNTERS + 8L * vector);
        setUp(disk, SET_MULTIPLE, 0, BLOCK_SECTORS);
        setUp(disk, SET_FEATURES, TRANSFER_MODE, MULTIWORD_DMA_2);
        // Polling too: without the drive's interrupt the bus master does not show the end of a transfer.
        Guest.out8(base + CONTROL, 0);
        bind(disk);
        return disk;
    }

    private static void describe(long disk) {
        long sectors = (word(83) & 0x0400) != 0
                ? Guest.load64(IDENTITY + 200) & 0xffff_ffff_ffffL
                : Guest.load32Unsigned(IDENTITY + 120);
        boolean large = (word(106) & 0xd000) == 0x5000;
        int blockSize = large ? 2 * Guest.load32(IDENTITY + 234) : Disk.SECTOR;
        Guest.store64(disk + Disk.SECTORS, sectors * (blockSize / Disk.SECTOR));
        Guest.store32(disk + Disk.BLOCK_SIZE, blockSize);
        int abilities = 1 << Disk.IDENTIFY | 1 << Disk.WRITE | 1 << Disk.FLUSH;
        if ((word(169) & 1) != 0) {
            abilities |= 1 << Disk.DISCARD;
        }
        Guest.store32(disk + Disk.ABILITIES, abilities);
        long serial = Memory.allocateZeroed(24, 8);
        int length = 20;
        for (int i = 0; i < 20; i++) {
            Guest.store8(serial + i, Guest.load8(IDENTITY + 20 + (i ^ 1)));
        }
        while (length > 0 && Guest.load8(serial + length - 1) == ' ') {
            length--;
            Guest.store8(serial + length, 0);
        }
        Guest.store64(disk + SERIAL, serial);
    }

    private static void setUp(long disk, int command, int features, int count) {
        int base = Guest.load32(disk + BASE);
        Guest.out8(base + DEVICE, Guest.load32(disk + UNIT));
        Guest.out8(base + FEATURES, features);
        Guest.out8(base + COUNT, count);
        Guest.out8(base + STATUS, command);
        if (!idle(base) || (Guest.in8(base + STATUS) & ERR) != 0) {
            Exit.fail(Exit.DEVICE_ERROR, "the IDE disk refuses a setting that it has to know");
        }
    }

    static void bind(long disk) {
        if ((Guest.load32(disk + Disk.FLAGS) & Disk.POLL) == 0) {
            int vector = Guest.load32(disk + VECTOR);
            IoApic.route(FIRST_IRQ + vector - FIRST_VECTOR, vector, false);
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
        if (Guest.load32(disk + ACTIVE) == Disk.NONE) {
            startNext(disk);
        }
    }

    /** Starts the oldest request that has been kicked. */
    private static void startNext(long disk) {
        int head = Guest.load32(disk + HEAD);
        if (head == Guest.load32(disk + KICKED)) {
            return;
        }
        int tag = Guest.load32(Guest.load64(disk + FIFO) + 4L * (head % Guest.load32(disk + Disk.DEPTH)));
        Guest.store32(disk + HEAD, head + 1);
        Guest.store32(disk + ACTIVE, tag);
        Guest.store64(disk + SEEN, Guest.load64(Guest.load64(disk + COUNTER)));
        long request = request(disk, tag);
        long buffer = Guest.load64(request + BUFFER);
        int size = Guest.load32(request + SIZE);
        int operation = Guest.load32(request + OPERATION);
        boolean programmed = (Guest.load32(disk + Disk.FLAGS) & Disk.PROGRAMMED) != 0;
        switch (operation) {
            case Disk.READ, Disk.WRITE -> {
                if (programmed) {
                    startProgrammed(disk, operation, Guest.load64(request + SECTOR), buffer, size);
                } else {
                    startDma(disk, operation, Guest.load64(request + SECTOR), buffer, size);
                }
            }
            case Disk.FLUSH -> issue(disk, FLUSH_CACHE, 0, 0, 0, false);
            case Disk.DISCARD -> {
                long range = Guest.load64(disk + TABLE) + 512;
                int block = Guest.load32(disk + Disk.BLOCK_SIZE);
                Guest.fill8(range, 0, 512);
                long first = Guest.load64(request + SECTOR) / (block / Disk.SECTOR);
                Guest.store64(range, first | (long) (size / block) << 48);
                describeRegions(disk, range, 512);
                armMaster(disk, false);
                issue(disk, DATA_SET_MANAGEMENT, 1, 0, 1, true);
                startMaster(disk, false);
            }
            default -> Guest.copy(buffer, Guest.load64(disk + SERIAL), Math.min(size, 20));
        }
    }

    /** Writes a command to the drive; an extended one has 48-bit addresses. */
    private static void issue(long disk, int command, int features, long lba, int count, boolean extended) {
        int base = Guest.load32(disk + BASE);
        int unit = Guest.load32(disk + UNIT);
        Guest.store64(disk + COMMANDS, Guest.load64(disk + COMMANDS) + 1);
        if (extended) {
            Guest.out8(base + FEATURES, features >> 8);
            Guest.out8(base + COUNT, count >> 8);
            Guest.out8(base + LBA_LOW, (int) (lba >> 24));
            Guest.out8(base + LBA_MID, (int) (lba >> 32));
            Guest.out8(base + LBA_HIGH, (int) (lba >> 40));
            Guest.out8(base + FEATURES, features);
        } else {
            unit |= (int) (lba >> 24) & 15;
        }
        Guest.out8(base + COUNT, count);
        Guest.out8(base + LBA_LOW, (int) lba);
        Guest.out8(base + LBA_MID, (int) (lba >> 8));
        Guest.out8(base + LBA_HIGH, (int) (lba >> 16));
        Guest.out8(base + DEVICE, unit);
        Guest.out8(base + STATUS, command);
    }

    private static boolean needsExtended(long lba, int count) {
        return count > MAX_LBA28_SECTORS || lba + count > MAX_LBA28;
    }

    private static void startDma(long disk, int operation, long sector, long buffer, int size) {
        int block = Guest.load32(disk + Disk.BLOCK_SIZE);
        long lba = sector / (block / Disk.SECTOR);
        int count = size / block;
        boolean read = operation == Disk.READ;
        boolean extended = needsExtended(lba, count);
        describeRegions(disk, buffer, size);
        armMaster(disk, read);
        issue(disk, dmaCommand(read, extended), 0, lba, count, extended);
        startMaster(disk, read);
    }

    private static int dmaCommand(boolean read, boolean extended) {
        if (read) {
            return extended ? READ_DMA_EXT : READ_DMA;
        }
        return extended ? WRITE_DMA_EXT : WRITE_DMA;
    }

    private static void describeRegions(long disk, long buffer, int size) {
        long entry = Guest.load64(disk + TABLE);
        long at = buffer;
        int left = size;
        while (left > 0) {
            int part = Math.min(left, REGION_LIMIT - (int) (at & REGION_LIMIT - 1));
            left -= part;
            Guest.store32(entry, (int) at);
            Guest.store32(entry + 4, part & 0xffff | (left == 0 ? LAST_REGION : 0));
            at += part;
            entry += 8;
        }
    }

    private static void armMaster(long disk, boolean read) {
        int master = Guest.load32(disk + MASTER);
        Guest.out32(master + 4, (int) Guest.load64(disk + TABLE));
        Guest.out8(master, read ? MASTER_TO_MEMORY : 0);
    }

    private static void startMaster(long disk, boolean read) {
        Guest.out8(Guest.load32(disk + MASTER), (read ? MASTER_TO_MEMORY : 0) | MASTER_START);
    }

    private static void startProgrammed(long disk, int operation, long sector, long buffer, int size) {
        int block = Guest.load32(disk + Disk.BLOCK_SIZE);
        long lba = sector / (block / Disk.SECTOR);
        int count = size / block;
        boolean extended = needsExtended(lba, count);
        Guest.store64(disk + CURSOR, buffer);
        Guest.store32(disk + BLOCKS_LEFT, count);
        if (operation == Disk.READ) {
            issue(disk, extended ? READ_MULTIPLE_EXT : READ_MULTIPLE, 0, lba, count, extended);
        } else {
            issue(disk, extended ? WRITE_MULTIPLE_EXT : WRITE_MULTIPLE, 0, lba, count, extended);
            int base = Guest.load32(disk + BASE);
            if (idle(base) && (Guest.in8(base + CONTROL) & DRQ) != 0) {
                moveBlock(disk, false);
            }
        }
    }

    private static void moveBlock(long disk, boolean read) {
        int left = Guest.load32(disk + BLOCKS_LEFT);
        int sectors = Math.min(left, BLOCK_SECTORS);
        int bytes = sectors * Guest.load32(disk + Disk.BLOCK_SIZE);
        long at = Guest.load64(disk + CURSOR);
        Guest.store32(disk + BLOCKS_LEFT, left - sectors);
        Guest.store64(disk + CURSOR, at + bytes);
        Guest.store64(disk + SEEN, Guest.load64(Guest.load64(disk + COUNTER)));
        if (read) {
            Guest.inWords(Guest.load32(disk + BASE) + DATA, at, bytes / 2);
        } else {
            Guest.outWords(Guest.load32(disk + BASE) + DATA, at, bytes / 2);
        }
    }

    /** Whether an interrupt has come since the command or its last block; always when polling. */
    private static boolean signalled(long disk) {
        return (Guest.load32(disk + Disk.FLAGS) & Disk.POLL) != 0
                || Guest.load64(Guest.load64(disk + COUNTER)) != Guest.load64(disk + SEEN);
    }

    static int poll(long disk) {
        int tag = Guest.load32(disk + ACTIVE);
        if (tag == Disk.NONE) {
            return Disk.NONE;
        }
        int operation = Guest.load32(request(disk, tag) + OPERATION);
        int status = 0;
        if (operation != Disk.IDENTIFY) {
            if (!signalled(disk)) {
                return Disk.NONE;
            }
            status = look(disk, operation);
            if (status < 0) {
                return Disk.NONE;
            }
        }
        Guest.store32(disk + ACTIVE, Disk.NONE);
        startNext(disk);
        return tag | status << 16;
    }

    /** The status of the active command; negative while it goes on. */
    private static int look(long disk, int operation) {
        boolean programmed = (Guest.load32(disk + Disk.FLAGS) & Disk.PROGRAMMED) != 0;
        boolean data = operation == Disk.READ || operation == Disk.WRITE;
        if (operation == Disk.DISCARD || data && !programmed) {
            return finishDma(disk);
        }
        int base = Guest.load32(disk + BASE);
        if ((Guest.in8(base + CONTROL) & BSY) != 0) {
            return -1;
        }
        int status = Guest.in8(base + STATUS);
        if ((status & (ERR | DF)) != 0) {
            return status;
        }
        if (!data) {
            return 0;
        }
        boolean read = operation == Disk.READ;
        if ((status & DRQ) != 0) {
            moveBlock(disk, read);
            return read && Guest.load32(disk + BLOCKS_LEFT) == 0 ? 0 : -1;
        }
        return Guest.load32(disk + BLOCKS_LEFT) == 0 ? 0 : status | ERR;
    }

    private static int finishDma(long disk) {
        int master = Guest.load32(disk + MASTER);
        int masterStatus = Guest.in8(master + 2);
        if ((masterStatus & MASTER_INTERRUPT) == 0) {
            return -1;
        }
        Guest.out8(master, 0);
        int status = Guest.in8(Guest.load32(disk + BASE) + STATUS);
        Guest.out8(master + 2, MASTER_INTERRUPT | MASTER_ERROR);
        return (status & (ERR | DF)) | ((masterStatus & MASTER_ERROR) != 0 ? ERR : 0);
    }

    static void await(long disk) {
        int tag = Guest.load32(disk + ACTIVE);
        if (tag == Disk.NONE || Guest.load32(request(disk, tag) + OPERATION) == Disk.IDENTIFY) {
            return;
        }
        long begin = Guest.tsc();
        if ((Guest.load32(disk + Disk.FLAGS) & Disk.POLL) != 0) {
            while ((Guest.in8(Guest.load32(disk + BASE) + CONTROL) & BSY) != 0) {
                checkSilence(disk, begin);
            }
            return;
        }
        long counter = Guest.load64(disk + COUNTER);
        long seen = Guest.load64(disk + SEEN);
        while (Guest.load64(counter) == seen) {
            Guest.waitWhileEqual(counter, seen);
            if (Guest.load64(counter) == seen) {
                if ((Guest.in8(Guest.load32(disk + MASTER) + 2) & MASTER_INTERRUPT) != 0
                        && Guest.load64(counter) == seen) {
                    Guest.store64(disk + MISSED, Guest.load64(disk + MISSED) + 1);
                    Guest.store64(disk + SEEN, seen - 1);
                    return;
                }
                checkSilence(disk, begin);
            }
        }
    }

    private static void checkSilence(long disk, long begin) {
        int base = Guest.load32(disk + BASE);
        int status = Guest.in8(base + CONTROL);
        int masterStatus = Guest.in8(Guest.load32(disk + MASTER) + 2);
        if (Tsc.toNanos(Guest.tsc() - begin) < SILENCE_NANOS) {
            return;
        }
        Console.print("error: no interrupt of the IDE disk for 20 s: status ");
        Console.printHex(status);
        Console.print(", bus master status ");
        Console.printHex(masterStatus);
        Console.print(", interrupts ");
        Console.printDecimal(Guest.load64(Guest.load64(disk + COUNTER)));
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
