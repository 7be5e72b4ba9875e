package org.benchtop.guests.drivers;

import org.benchtop.guests.GuestLayout;
import org.benchtop.guests.lang.Guest;
import org.benchtop.guests.rt.Console;
import org.benchtop.guests.rt.Exit;
import org.benchtop.guests.rt.LocalApic;
import org.benchtop.guests.rt.Memory;
import org.benchtop.guests.rt.Pci;
import org.benchtop.guests.rt.Tsc;

/**
 * Driver for SATA disks behind AHCI (1.3.1): native command queuing where the disk has it, one MSI.
 *
 * <p>A tag is a command slot, so at most 32 requests are with the disk; others wait in the driver.
 */
final class Ahci {
    private static final int CLASS_AHCI = 0x010601;
    private static final int ABAR = 5;
    private static final int CAPABILITY_MSI = 0x05;

    private static final int GHC = 0x04;
    private static final int HBA_STATUS = 0x08;
    private static final int PORTS_IMPLEMENTED = 0x0c;
    private static final int PORTS = 0x100;
    private static final int PORT_SIZE = 0x80;
    private static final int GHC_RESET = 1;
    private static final int GHC_INTERRUPTS = 2;
    private static final int GHC_AHCI = 0x8000_0000;

    private static final int LIST = 0x00;
    private static final int RECEIVED = 0x08;
    private static final int STATUS = 0x10;
    private static final int ENABLE = 0x14;
    private static final int COMMAND = 0x18;
    private static final int TASK_FILE = 0x20;
    private static final int SIGNATURE = 0x24;
    private static final int LINK = 0x28;
    private static final int LINK_ERROR = 0x30;
    private static final int ACTIVE = 0x34;
    private static final int ISSUED = 0x38;
    private static final int START = 1;
    /** Spin up and power on, for ports that wait to be told. */
    private static final int POWERED = 0x6;

    private static final int RECEIVE = 0x10;
    private static final int RUNNING = 0x8000;
    private static final int RECEIVING = 0x4000;
    private static final int TASK_FILE_ERROR = 1 << 30;
    private static final int ERRORS = 0x7900_0000;
    private static final int DISK_SIGNATURE = 0x0101;
    private static final int BUSY = 0x88;

    private static final int READ_QUEUED = 0x60;
    private static final int WRITE_QUEUED = 0x61;
    private static final int READ_DMA_EXT = 0x25;
    private static final int WRITE_DMA_EXT = 0x35;
    private static final int FLUSH_CACHE_EXT = 0xea;
    private static final int DATA_SET_MANAGEMENT = 0x06;
    private static final int IDENTIFY_DEVICE = 0xec;

    private static final int SLOTS = 32;
    private static final int TABLE_SIZE = 1024;
    private static final int REGIONS = 0x80;
    private static final int REGION_LIMIT = 1 << 22;
    private static final int TO_DEVICE = 1 << 6;
    private static final int FIS_DWORDS = 5;
    private static final int VECTOR = 0x72;
    private static final int ONE_SECOND_OF_TICKS = 7_812_500;
    private static final long SILENCE_NANOS = 20_000_000_000L;
    private static final long PROBE_NANOS = 5_000_000_000L;

    /** The driver's structure, after the common head. */
    private static final int PORT = Disk.HEAD_SIZE;

    private static final int HBA = PORT + 8;
    private static final int TABLES = PORT + 16;
    private static final int COMMAND_LIST = PORT + 24;
    private static final int REQUESTS = PORT + 32;
    private static final int FIFO = PORT + 40;
    private static final int COUNTER = PORT + 48;
    private static final int SERIAL = PORT + 56;
    private static final int HEAD = PORT + 64;
    private static final int TAIL = PORT + 68;
    private static final int KICKED = PORT + 72;
    /** Slots that the disk has. */
    private static final int BUSY_SLOTS = PORT + 76;
    /** The tag of each slot. */
    private static final int TAGS = PORT + 80;
    /** Slots seen complete and not polled yet. */
    private static final int DONE_SLOTS = PORT + 88;
    /** A command that is not queued is with the disk alone. */
    private static final int ALONE = PORT + 92;

    private static final int QUEUED = PORT + 96;
    private static final int SEEN = PORT + 104;
    private static final int MISSED = PORT + 112;
    private static final int COMMANDS = PORT + 120;
    private static final int FAILED = PORT + 128;
    private static final int DISK_SIZE = PORT + 136;

    private static final int OPERATION = 0;
    private static final int SIZE = 4;
    private static final int SECTOR = 8;
    private static final int BUFFER = 16;
    private static final int REQUEST_SIZE = 32;

    private Ahci() {}

    static boolean matches(int function) {
        return Pci.read32(function, 8) >>> 8 == CLASS_AHCI;
    }

    /** The number of disks on an adapter. */
    static int disks(int function) {
        long hba = reset(function);
        int found = 0;
        for (int port = 0; port < 32; port++) {
            found += disk(hba, port) ? 1 : 0;
        }
        return found;
    }

    private static long reset(int function) {
        Pci.enable(function);
        long hba = Pci.bar(function, ABAR);
        Guest.store32(hba + GHC, GHC_RESET);
        while ((Guest.load32(hba + GHC) & GHC_RESET) != 0) {
            Guest.pause();
        }
        Guest.store32(hba + GHC, GHC_AHCI);
        return hba;
    }

    private static boolean disk(long hba, int port) {
        long registers = hba + PORTS + (long) PORT_SIZE * port;
        if ((Guest.load32(hba + PORTS_IMPLEMENTED) >>> port & 1) == 0 || (Guest.load32(registers + LINK) & 0xf) != 3) {
            return false;
        }
        receive(registers, Memory.allocateZeroed(256, 256));
        return idle(registers) && Guest.load32(registers + SIGNATURE) == DISK_SIGNATURE;
    }

    /**
     * Takes FISes from a port's drive. Only then comes the one with its signature, and its status is valid (AHCI 1.3.1,
     * 10.1.2).
     */
    private static void receive(long port, long area) {
        Guest.store32(port + COMMAND, POWERED);
        long begin = Guest.tsc();
        while ((Guest.load32(port + COMMAND) & (RUNNING | RECEIVING)) != 0) {
            if (Tsc.toNanos(Guest.tsc() - begin) > PROBE_NANOS) {
                Exit.fail(Exit.DEVICE_ERROR, "the AHCI port does not stop");
            }
        }
        store64(port + RECEIVED, area);
        Guest.store32(port + LINK_ERROR, -1);
        Guest.store32(port + COMMAND, POWERED | RECEIVE);
    }

    private static boolean idle(long port) {
        long begin = Guest.tsc();
        while ((Guest.load32(port + TASK_FILE) & BUSY) != 0) {
            if (Tsc.toNanos(Guest.tsc() - begin) > PROBE_NANOS) {
                return false;
            }
        }
        return true;
    }

    static long attach(int function, int index, int depth, int flags) {
        long hba = reset(function);
        int port = -1;
        int seen = -1;
        while (seen < index) {
            port++;
            seen += disk(hba, port) ? 1 : 0;
        }
        long disk = Memory.allocateZeroed(DISK_SIZE, 64);
        long registers = hba + PORTS + (long) PORT_SIZE * port;
        Guest.store32(disk + Disk.KIND, Disk.AHCI);
        Guest.store64(disk + PORT, registers);
        Guest.store64(disk + HBA, hba);
        Guest.store32(disk + Disk.QUEUES, 1);
        Guest.store32(disk + Disk.DEPTH, depth);
        Guest.store64(disk + COMMAND_LIST, Memory.allocateZeroed(1024, 1024));
        Guest.store64(disk + TABLES, Memory.allocateZeroed((long) SLOTS * TABLE_SIZE, 1024));
        Guest.store64(disk + TAGS, Memory.allocateZeroed(4L * SLOTS, 64));
        Guest.store64(disk + REQUESTS, Memory.allocateZeroed((long) REQUEST_SIZE * depth, 64));
        Guest.store64(disk + FIFO, Memory.allocateZeroed(4L * depth, 64));
        Guest.store64(disk + COUNTER, GuestLayout.INTERRUPT_COUNTERS + 8L * VECTOR);
        startPort(disk);
        identify(disk);
        boolean messages = enableMessage(function);
        Guest.store32(disk + Disk.FLAGS, flags & Disk.POLL | (messages ? 0 : Disk.POLL));
        Guest.store32(registers + STATUS, -1);
        Guest.store32(hba + HBA_STATUS, -1);
        if (!Disk.polled(disk)) {
            Guest.store32(registers + ENABLE, ERRORS | 0xf);
            Guest.store32(hba + GHC, GHC_AHCI | GHC_INTERRUPTS);
        }
        return disk;
    }

    private static void startPort(long disk) {
        long port = Guest.load64(disk + PORT);
        long received = Memory.allocateZeroed(256, 256);
        receive(port, received);
        store64(port + LIST, Guest.load64(disk + COMMAND_LIST));
        Guest.store32(port + STATUS, -1);
        Guest.store32(port + COMMAND, POWERED | RECEIVE | START);
        int want = RUNNING | RECEIVING;
        if ((Guest.load32(port + COMMAND) & want) != want) {
            Exit.fail(Exit.DEVICE_ERROR, "the AHCI port does not start");
        }
        for (int slot = 0; slot < SLOTS; slot++) {
            long header = Guest.load64(disk + COMMAND_LIST) + 32L * slot;
            Guest.store64(header + 8, Guest.load64(disk + TABLES) + (long) TABLE_SIZE * slot);
        }
    }

    private static void store64(long address, long value) {
        Guest.store32(address, (int) value);
        Guest.store32(address + 4, (int) (value >>> 32));
    }

    private static boolean enableMessage(int function) {
        int at = Pci.capability(function, CAPABILITY_MSI, 0);
        if (at == 0) {
            return false;
        }
        boolean wide = (Pci.read16(function, at + 2) & 0x80) != 0;
        Pci.write32(function, at + 4, 0xfee0_0000 | LocalApic.id() << 12);
        if (wide) {
            Pci.write32(function, at + 8, 0);
        }
        Pci.write16(function, at + (wide ? 12 : 8), VECTOR);
        Pci.write16(function, at + 2, Pci.read16(function, at + 2) & ~0x70 | 1);
        return true;
    }

    private static void identify(long disk) {
        long identity = Memory.allocateZeroed(512, 512);
        regions(disk, 0, identity, 512);
        command(disk, 0, IDENTIFY_DEVICE, 0, 0, 0, 0, false);
        long port = Guest.load64(disk + PORT);
        Guest.store32(port + ISSUED, 1);
        long begin = Guest.tsc();
        while ((Guest.load32(port + ISSUED) & 1) != 0) {
            if (Tsc.toNanos(Guest.tsc() - begin) > PROBE_NANOS) {
                Exit.fail(Exit.DEVICE_ERROR, "the AHCI disk does not say who it is");
            }
        }
        boolean large = (Guest.load16(identity + 212) & 0xd000) == 0x5000;
        int blockSize = large ? 2 * Guest.load32(identity + 234) : Disk.SECTOR;
        long blocks = Guest.load64(identity + 200) & 0xffff_ffff_ffffL;
        Guest.store64(disk + Disk.SECTORS, blocks * (blockSize / Disk.SECTOR));
        Guest.store32(disk + Disk.BLOCK_SIZE, blockSize);
        int abilities = 1 << Disk.IDENTIFY | 1 << Disk.WRITE | 1 << Disk.FLUSH;
        if ((Guest.load16(identity + 338) & 1) != 0) {
            abilities |= 1 << Disk.DISCARD;
        }
        Guest.store32(disk + Disk.ABILITIES, abilities);
        Guest.store32(disk + QUEUED, (Guest.load16(identity + 152) >> 8) & 1);
        long serial = Memory.allocateZeroed(24, 8);
        int length = 20;
        for (int i = 0; i < 20; i++) {
            Guest.store8(serial + i, Guest.load8(identity + 20 + (i ^ 1)));
        }
        while (length > 0 && Guest.load8(serial + length - 1) == ' ') {
            length--;
            Guest.store8(serial + length, 0);
        }
        Guest.store64(disk + SERIAL, serial);
    }

    static void bind(long disk) {
        if (!Disk.polled(disk)) {
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
        int busy = Guest.load32(disk + BUSY_SLOTS);
        int queuedNow = 0;
        boolean queues = Guest.load32(disk + QUEUED) != 0;
        while (head != kicked && busy != -1 && Guest.load32(disk + ALONE) == 0) {
            int tag = Guest.load32(Guest.load64(disk + FIFO) + 4L * (head % Guest.load32(disk + Disk.DEPTH)));
            int operation = Guest.load32(request(disk, tag) + OPERATION);
            boolean queued = queues && (operation == Disk.READ || operation == Disk.WRITE);
            if (!queued && busy != 0) {
                break;
            }
            int slot = 0;
            while ((busy >>> slot & 1) != 0) {
                slot++;
            }
            busy |= 1 << slot;
            Guest.store32(Guest.load64(disk + TAGS) + 4L * slot, tag);
            head++;
            if (operation == Disk.IDENTIFY) {
                Guest.copy(
                        Guest.load64(request(disk, tag) + BUFFER),
                        Guest.load64(disk + SERIAL),
                        Math.min(Guest.load32(request(disk, tag) + SIZE), 20));
                Guest.store32(disk + DONE_SLOTS, Guest.load32(disk + DONE_SLOTS) | 1 << slot);
                continue;
            }
            prepare(disk, slot, tag, operation, queued);
            if (queued) {
                queuedNow |= 1 << slot;
            } else {
                Guest.store32(disk + ALONE, 1);
                Guest.store32(disk + BUSY_SLOTS, busy);
                issue(disk, 0, 1 << slot);
            }
        }
        Guest.store32(disk + HEAD, head);
        Guest.store32(disk + BUSY_SLOTS, busy);
        if (queuedNow != 0) {
            issue(disk, queuedNow, queuedNow);
        }
    }

    private static void issue(long disk, int queued, int slots) {
        long port = Guest.load64(disk + PORT);
        Guest.store64(disk + COMMANDS, Guest.load64(disk + COMMANDS) + 1);
        if (queued != 0) {
            Guest.store32(port + ACTIVE, queued);
        }
        Guest.store32(port + ISSUED, slots);
    }

    private static void prepare(long disk, int slot, int tag, int operation, boolean queued) {
        long request = request(disk, tag);
        int block = Guest.load32(disk + Disk.BLOCK_SIZE);
        int size = Guest.load32(request + SIZE);
        long lba = Guest.load64(request + SECTOR) / (block / Disk.SECTOR);
        int count = size / block;
        long buffer = Guest.load64(request + BUFFER);
        switch (operation) {
            case Disk.READ, Disk.WRITE -> {
                regions(disk, slot, buffer, size);
                boolean write = operation == Disk.WRITE;
                if (queued) {
                    command(disk, slot, write ? WRITE_QUEUED : READ_QUEUED, count, lba, slot << 3, 0x40, write);
                } else {
                    command(disk, slot, write ? WRITE_DMA_EXT : READ_DMA_EXT, 0, lba, count, 0x40, write);
                }
            }
            case Disk.DISCARD -> {
                long ranges = Guest.load64(disk + TABLES) + (long) TABLE_SIZE * slot + TABLE_SIZE / 2;
                Guest.fill8(ranges, 0, 512);
                Guest.store64(ranges, lba | (long) count << 48);
                regions(disk, slot, ranges, 512);
                command(disk, slot, DATA_SET_MANAGEMENT, 1, 0, 1, 0x40, true);
            }
            default -> {
                regions(disk, slot, 0, 0);
                command(disk, slot, FLUSH_CACHE_EXT, 0, 0, 0, 0x40, false);
            }
        }
    }

    private static void regions(long disk, int slot, long buffer, int size) {
        long table = Guest.load64(disk + TABLES) + (long) TABLE_SIZE * slot;
        int entries = 0;
        int left = size;
        long at = buffer;
        while (left > 0) {
            int part = Math.min(left, REGION_LIMIT);
            long entry = table + REGIONS + 16L * entries;
            Guest.store64(entry, at);
            Guest.store32(entry + 8, 0);
            Guest.store32(entry + 12, part - 1);
            at += part;
            left -= part;
            entries++;
        }
        Guest.store32(Guest.load64(disk + COMMAND_LIST) + 32L * slot, entries << 16);
    }

    private static void command(
            long disk, int slot, int code, int features, long lba, int count, int device, boolean write) {
        long fis = Guest.load64(disk + TABLES) + (long) TABLE_SIZE * slot;
        Guest.store32(fis, 0x8027 | code << 16 | features << 24);
        Guest.store32(fis + 4, (int) (lba & 0xff_ffff) | device << 24);
        Guest.store32(fis + 8, (int) (lba >>> 24 & 0xff_ffff) | (features >> 8) << 24);
        Guest.store32(fis + 12, count & 0xffff);
        Guest.store32(fis + 16, 0);
        long header = Guest.load64(disk + COMMAND_LIST) + 32L * slot;
        int flags = Guest.load32(header) & 0xffff_0000;
        Guest.store32(header, flags | FIS_DWORDS | (write ? TO_DEVICE : 0));
        Guest.store32(header + 4, 0);
    }

    static int poll(long disk) {
        int done = Guest.load32(disk + DONE_SLOTS);
        if (done == 0) {
            if (!signalled(disk)) {
                return Disk.NONE;
            }
            done = collect(disk);
            if (done == 0) {
                return Disk.NONE;
            }
        }
        int slot = 0;
        while ((done >>> slot & 1) == 0) {
            slot++;
        }
        done &= ~(1 << slot);
        Guest.store32(disk + DONE_SLOTS, done);
        Guest.store32(disk + BUSY_SLOTS, Guest.load32(disk + BUSY_SLOTS) & ~(1 << slot));
        int tag = Guest.load32(Guest.load64(disk + TAGS) + 4L * slot);
        int status = Guest.load32(disk + FAILED);
        if (done == 0) {
            startMore(disk);
        }
        return tag | status << 16;
    }

    private static boolean signalled(long disk) {
        return Guest.load32(disk + BUSY_SLOTS) != 0
                && (Disk.polled(disk) || Guest.load64(Guest.load64(disk + COUNTER)) != Guest.load64(disk + SEEN));
    }

    /** Takes what has completed: a look at the port, after taking back its interrupt. */
    private static int collect(long disk) {
        long port = Guest.load64(disk + PORT);
        Guest.store64(disk + SEEN, Guest.load64(Guest.load64(disk + COUNTER)));
        int status = Guest.load32(port + STATUS);
        if (status != 0) {
            Guest.store32(port + STATUS, status);
        }
        if ((status & TASK_FILE_ERROR) != 0) {
            Guest.store32(disk + FAILED, Guest.load32(port + TASK_FILE) & 0xffff);
            int all = Guest.load32(disk + BUSY_SLOTS);
            Guest.store32(disk + DONE_SLOTS, all);
            return all;
        }
        int open = Guest.load32(port + ISSUED);
        if (Guest.load32(disk + ALONE) == 0) {
            open |= Guest.load32(port + ACTIVE);
        }
        int done = Guest.load32(disk + BUSY_SLOTS) & ~open;
        if (done != 0) {
            Guest.store32(disk + ALONE, 0);
        }
        Guest.store32(disk + DONE_SLOTS, done);
        return done;
    }

    static void await(long disk) {
        long begin = Guest.tsc();
        if (Guest.load32(disk + DONE_SLOTS) != 0) {
            return;
        }
        if (Disk.polled(disk)) {
            while (Guest.load32(disk + BUSY_SLOTS) != 0 && collect(disk) == 0) {
                checkSilence(disk, begin);
            }
            return;
        }
        long counter = Guest.load64(disk + COUNTER);
        long seen = Guest.load64(disk + SEEN);
        while (Guest.load64(counter) == seen) {
            Guest.waitWhileEqual(counter, seen);
            if (Guest.load64(counter) == seen) {
                if (collect(disk) != 0) {
                    Guest.store64(disk + MISSED, Guest.load64(disk + MISSED) + 1);
                    return;
                }
                checkSilence(disk, begin);
            }
        }
    }

    private static void checkSilence(long disk, long begin) {
        if (Tsc.toNanos(Guest.tsc() - begin) < SILENCE_NANOS) {
            return;
        }
        long port = Guest.load64(disk + PORT);
        Console.print("error: no completion of the AHCI disk for 20 s: task file ");
        Console.printHex(Guest.load32Unsigned(port + TASK_FILE));
        Console.print(", interrupt status ");
        Console.printHex(Guest.load32Unsigned(port + STATUS));
        Console.print(", active ");
        Console.printHex(Guest.load32Unsigned(port + ACTIVE));
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
