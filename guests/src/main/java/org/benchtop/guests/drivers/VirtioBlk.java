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
 * Driver for virtio block devices on PCI, modern interface only (virtio 1.2, sections 2.7, 4.1 and 5.2).
 *
 * <p>Every tag owns three descriptors (header, data, status) or, with indirect descriptors, one table of three, filled
 * in once; a request then takes five stores.
 */
final class VirtioBlk {
    private static final int ID_MODERN = 0x1042_1af4;
    private static final int ID_TRANSITIONAL = 0x1001_1af4;

    private static final int VIRTIO_PCI_CAP_COMMON_CFG = 1;
    private static final int VIRTIO_PCI_CAP_NOTIFY_CFG = 2;
    private static final int VIRTIO_PCI_CAP_DEVICE_CFG = 4;
    private static final int CAPABILITY_VENDOR = 0x09;
    private static final int CAPABILITY_MSIX = 0x11;

    /** Registers of the common configuration. */
    private static final int DEVICE_FEATURE_SELECT = 0;

    private static final int DEVICE_FEATURE = 4;
    private static final int DRIVER_FEATURE_SELECT = 8;
    private static final int DRIVER_FEATURE = 12;
    static final int CONFIG_MSIX_VECTOR = 16;
    static final int DEVICE_STATUS = 20;
    private static final int QUEUE_SELECT = 22;
    private static final int QUEUE_SIZE = 24;
    private static final int QUEUE_MSIX_VECTOR = 26;
    private static final int QUEUE_ENABLE = 28;
    private static final int QUEUE_NOTIFY_OFF = 30;
    private static final int QUEUE_DESC = 32;
    private static final int QUEUE_DRIVER = 40;
    private static final int QUEUE_DEVICE = 48;

    static final int ACKNOWLEDGE = 1;
    static final int DRIVER = 2;
    static final int DRIVER_OK = 4;
    static final int FEATURES_OK = 8;
    private static final int NEEDS_RESET = 64;

    private static final long VIRTIO_BLK_F_RO = 1L << 5;
    private static final long VIRTIO_BLK_F_BLK_SIZE = 1L << 6;
    private static final long VIRTIO_BLK_F_FLUSH = 1L << 9;
    private static final long VIRTIO_BLK_F_MQ = 1L << 12;
    private static final long VIRTIO_BLK_F_DISCARD = 1L << 13;
    private static final long VIRTIO_BLK_F_WRITE_ZEROES = 1L << 14;
    static final long VIRTIO_F_INDIRECT_DESC = 1L << 28;
    static final long VIRTIO_F_EVENT_IDX = 1L << 29;
    static final long VIRTIO_F_VERSION_1 = 1L << 32;

    private static final int VIRTIO_BLK_T_OUT = 1;
    private static final int VIRTIO_BLK_T_FLUSH = 4;
    private static final int VIRTIO_BLK_T_GET_ID = 8;
    private static final int VIRTIO_BLK_T_DISCARD = 11;
    private static final int VIRTIO_BLK_T_WRITE_ZEROES = 13;

    static final int DESC_NEXT = 1;
    static final int DESC_WRITE = 2;
    private static final int DESC_INDIRECT = 4;

    /** The driver's structure, after the common head. */
    static final int COMMON = Disk.HEAD_SIZE;

    private static final int NOTIFY = COMMON + 8;
    private static final int NOTIFY_MULTIPLIER = COMMON + 16;
    private static final int MSIX_TABLE = COMMON + 24;
    private static final int QUEUE_TABLE = COMMON + 32;
    static final int DISK_SIZE = QUEUE_TABLE + 8 * GuestLayout.MAX_CPUS;

    /** One queue's structure. */
    static final int DESC = 0;

    static final int AVAIL = 8;
    private static final int USED = 16;
    private static final int DOORBELL = 24;
    private static final int HEADERS = 32;
    private static final int STATUSES = 40;
    private static final int TABLES = 48;
    private static final int COUNTER = 56;
    static final int SIZE = 64;
    private static final int LAST_USED = 68;
    static final int AVAIL_INDEX = 72;
    private static final int KICKED = 76;
    static final int MODE = 80;
    private static final int NUMBER = 84;
    private static final int MISSED = 88;
    private static final int NOTIFICATIONS = 96;
    private static final int QUEUE_STRUCT_SIZE = 128;

    private static final int HEADER_STRIDE = 32;
    private static final int TABLE_STRIDE = 64;
    private static final int MAX_QUEUE_SIZE = 1024;
    private static final int FIRST_VECTOR = 0x30;
    private static final int DISK_VECTORS = 16;
    private static final int ONE_SECOND_OF_TICKS = 7_812_500;
    private static final long SILENCE_NANOS = 20_000_000_000L;
    private static final int SPINS_PER_LOOK_AT_CLOCK = 1 << 16;
    private static int disks;

    private VirtioBlk() {}

    static boolean matches(int id) {
        return id == ID_MODERN || id == ID_TRANSITIONAL;
    }

    static long attach(int function, int queues, int depth, int flags) {
        Pci.enable(function);
        long disk = Memory.allocateZeroed(DISK_SIZE, 64);
        Guest.store32(disk + Disk.KIND, Disk.VIRTIO_BLK);
        long config = findRegisters(disk, function);
        long common = Guest.load64(disk + COMMON);
        reset(common);
        long wanted = VIRTIO_BLK_F_RO
                | VIRTIO_BLK_F_BLK_SIZE
                | VIRTIO_BLK_F_FLUSH
                | VIRTIO_BLK_F_MQ
                | VIRTIO_BLK_F_DISCARD
                | VIRTIO_BLK_F_WRITE_ZEROES;
        long features = negotiate(common, wanted, flags);
        readConfiguration(disk, config, features);
        int usedQueues = 1;
        if ((features & VIRTIO_BLK_F_MQ) != 0) {
            usedQueues = Math.max(1, Math.min(Math.min(queues, GuestLayout.MAX_CPUS), Guest.load16(config + 34)));
        }
        int mode = mode(disk, function, features, flags);
        Guest.store32(disk + Disk.FLAGS, mode);
        Guest.store32(disk + Disk.QUEUES, usedQueues);
        Guest.store32(disk + Disk.DEPTH, depth);
        Guest.store16(common + CONFIG_MSIX_VECTOR, 0xffff);
        for (int queue = 0; queue < usedQueues; queue++) {
            setUpQueue(disk, queue, queue, depth, mode);
        }
        start(common);
        return disk;
    }

    static void reset(long common) {
        Guest.store8(common + DEVICE_STATUS, 0);
        while (Guest.load8(common + DEVICE_STATUS) != 0) {
            Guest.pause();
        }
        Guest.store8(common + DEVICE_STATUS, ACKNOWLEDGE);
        Guest.store8(common + DEVICE_STATUS, ACKNOWLEDGE | DRIVER);
    }

    /** How queues are used, from what was negotiated. */
    static int mode(long disk, int function, long features, int flags) {
        int mode = flags & Disk.POLL;
        if (!enableMsix(disk, function)) {
            mode |= Disk.POLL;
        }
        if ((features & VIRTIO_F_EVENT_IDX) != 0) {
            mode |= Disk.EVENT_INDEX;
        }
        if ((features & VIRTIO_F_INDIRECT_DESC) != 0) {
            mode |= Disk.INDIRECT;
        }
        return mode;
    }

    static void start(long common) {
        disks++;
        Guest.store8(common + DEVICE_STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK);
    }

    /** Fills in the register addresses and returns the one of the device configuration. */
    static long findRegisters(long disk, int function) {
        long config = 0;
        int at = Pci.capability(function, CAPABILITY_VENDOR, 0);
        while (at != 0) {
            int type = Pci.read8(function, at + 3);
            int bar = Pci.read8(function, at + 4);
            if (bar < 6
                    && (type == VIRTIO_PCI_CAP_COMMON_CFG
                            || type == VIRTIO_PCI_CAP_NOTIFY_CFG
                            || type == VIRTIO_PCI_CAP_DEVICE_CFG)) {
                long address = Pci.bar(function, bar) + Integer.toUnsignedLong(Pci.read32(function, at + 8));
                switch (type) {
                    case VIRTIO_PCI_CAP_COMMON_CFG -> Guest.store64(disk + COMMON, address);
                    case VIRTIO_PCI_CAP_NOTIFY_CFG -> {
                        Guest.store64(disk + NOTIFY, address);
                        Guest.store32(disk + NOTIFY_MULTIPLIER, Pci.read32(function, at + 16));
                    }
                    default -> config = address;
                }
            }
            at = Pci.capability(function, CAPABILITY_VENDOR, at);
        }
        if (Guest.load64(disk + COMMON) == 0 || Guest.load64(disk + NOTIFY) == 0 || config == 0) {
            Exit.fail(Exit.NO_DEVICE, "the virtio device has no modern (virtio 1.x) registers");
        }
        return config;
    }

    /** Agrees on what is wanted of the device type's own features and on the common ones. */
    static long negotiate(long common, long ownFeatures, int flags) {
        Guest.store32(common + DEVICE_FEATURE_SELECT, 0);
        long offered = Guest.load32Unsigned(common + DEVICE_FEATURE);
        Guest.store32(common + DEVICE_FEATURE_SELECT, 1);
        offered |= Guest.load32Unsigned(common + DEVICE_FEATURE) << 32;
        long wanted = VIRTIO_F_VERSION_1 | ownFeatures;
        if ((flags & Disk.EVENT_INDEX) != 0) {
            wanted |= VIRTIO_F_EVENT_IDX;
        }
        if ((flags & Disk.INDIRECT) != 0) {
            wanted |= VIRTIO_F_INDIRECT_DESC;
        }
        long features = offered & wanted;
        Guest.store32(common + DRIVER_FEATURE_SELECT, 0);
        Guest.store32(common + DRIVER_FEATURE, (int) features);
        Guest.store32(common + DRIVER_FEATURE_SELECT, 1);
        Guest.store32(common + DRIVER_FEATURE, (int) (features >> 32));
        Guest.store8(common + DEVICE_STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK);
        if ((features & VIRTIO_F_VERSION_1) == 0 || (Guest.load8(common + DEVICE_STATUS) & FEATURES_OK) == 0) {
            Exit.fail(Exit.DEVICE_ERROR, "the virtio device refuses the driver's features");
        }
        return features;
    }

    private static void readConfiguration(long disk, long config, long features) {
        long sectors = Guest.load32Unsigned(config) | Guest.load32Unsigned(config + 4) << 32;
        Guest.store64(disk + Disk.SECTORS, sectors);
        int blockSize = (features & VIRTIO_BLK_F_BLK_SIZE) != 0 ? Guest.load32(config + 20) : Disk.SECTOR;
        Guest.store32(disk + Disk.BLOCK_SIZE, Math.max(blockSize, Disk.SECTOR));
        int abilities = 1 << Disk.IDENTIFY;
        if ((features & VIRTIO_BLK_F_RO) == 0) {
            abilities |= 1 << Disk.WRITE;
        }
        if ((features & VIRTIO_BLK_F_FLUSH) != 0) {
            abilities |= 1 << Disk.FLUSH;
        }
        if ((features & VIRTIO_BLK_F_DISCARD) != 0) {
            abilities |= 1 << Disk.DISCARD;
        }
        if ((features & VIRTIO_BLK_F_WRITE_ZEROES) != 0) {
            abilities |= 1 << Disk.WRITE_ZEROES;
        }
        Guest.store32(disk + Disk.ABILITIES, abilities);
    }

    private static boolean enableMsix(long disk, int function) {
        int at = Pci.capability(function, CAPABILITY_MSIX, 0);
        if (at == 0) {
            return false;
        }
        int table = Pci.read32(function, at + 4);
        Guest.store64(disk + MSIX_TABLE, Pci.bar(function, table & 7) + Integer.toUnsignedLong(table & ~7));
        Pci.write16(function, at + 2, Pci.read16(function, at + 2) & ~0x4000 | 0x8000);
        return true;
    }

    /** Sets up the device's queue {@code number} as the disk's queue {@code queue}. */
    static void setUpQueue(long disk, int queue, int number, int depth, int mode) {
        long common = Guest.load64(disk + COMMON);
        Guest.store16(common + QUEUE_SELECT, number);
        int size = Math.min(Guest.load16(common + QUEUE_SIZE), MAX_QUEUE_SIZE);
        boolean indirect = (mode & Disk.INDIRECT) != 0;
        if (size == 0 || (indirect ? depth : 3 * depth) > size) {
            Console.print("error: the queue has ");
            Console.printDecimal(size);
            Console.print(" descriptors, too few for ");
            Console.printDecimal(depth);
            Console.println(indirect ? " requests" : " requests of 3 (indirect=1 needs only 1)");
            Exit.exit(Exit.NO_DEVICE);
        }
        long q = Memory.allocateZeroed(QUEUE_STRUCT_SIZE, 128);
        Guest.store64(disk + QUEUE_TABLE + 8L * queue, q);
        long desc = Memory.allocateZeroed(16L * size, 4096);
        long avail = Memory.allocateZeroed(6 + 2L * size, 4096);
        long used = Memory.allocateZeroed(6 + 8L * size, 4096);
        int vector = FIRST_VECTOR + (disks % 4) * DISK_VECTORS + queue;
        Guest.store64(q + DESC, desc);
        Guest.store64(q + AVAIL, avail);
        Guest.store64(q + USED, used);
        Guest.store32(q + SIZE, size);
        Guest.store32(q + MODE, mode);
        Guest.store32(q + NUMBER, number);
        Guest.store64(q + COUNTER, GuestLayout.INTERRUPT_COUNTERS + 8L * vector);
        Guest.store64(q + HEADERS, Memory.allocateZeroed((long) HEADER_STRIDE * depth, 64));
        Guest.store64(q + STATUSES, Memory.allocateZeroed(depth, 64));
        if (indirect) {
            Guest.store64(q + TABLES, Memory.allocateZeroed((long) TABLE_STRIDE * depth, 64));
        }
        for (int tag = 0; tag < depth; tag++) {
            describe(q, tag, indirect);
        }
        if ((mode & Disk.POLL) != 0) {
            Guest.store16(avail, 1);
        }
        Guest.store16(common + QUEUE_SIZE, size);
        if ((mode & Disk.POLL) != 0) {
            Guest.store16(common + QUEUE_MSIX_VECTOR, 0xffff);
        } else {
            route(disk, queue, vector);
            Guest.store16(common + QUEUE_MSIX_VECTOR, queue);
            if (Guest.load16(common + QUEUE_MSIX_VECTOR) != queue) {
                Exit.fail(Exit.DEVICE_ERROR, "the virtio device has no interrupt vector for the queue");
            }
        }
        store64(common + QUEUE_DESC, desc);
        store64(common + QUEUE_DRIVER, avail);
        store64(common + QUEUE_DEVICE, used);
        Guest.store64(
                q + DOORBELL,
                Guest.load64(disk + NOTIFY)
                        + (long) Guest.load16(common + QUEUE_NOTIFY_OFF) * Guest.load32(disk + NOTIFY_MULTIPLIER));
        Guest.store16(common + QUEUE_ENABLE, 1);
    }

    private static void store64(long address, long value) {
        Guest.store32(address, (int) value);
        Guest.store32(address + 4, (int) (value >>> 32));
    }

    private static void route(long disk, int queue, int vector) {
        long entry = Guest.load64(disk + MSIX_TABLE) + 16L * queue;
        Guest.store32(entry, 0xfee0_0000 | LocalApic.id() << 12);
        Guest.store32(entry + 4, 0);
        Guest.store32(entry + 8, vector);
        Guest.store32(entry + 12, 0);
    }

    /** Fills in what stays the same in a tag's descriptors. */
    private static void describe(long q, int tag, boolean indirect) {
        long desc = Guest.load64(q + DESC);
        int first = 3 * tag;
        long chain = desc + 16L * first;
        if (indirect) {
            chain = Guest.load64(q + TABLES) + (long) TABLE_STRIDE * tag;
            Guest.store64(desc + 16L * tag, chain);
            Guest.store32(desc + 16L * tag + 8, 48);
            Guest.store16(desc + 16L * tag + 12, DESC_INDIRECT);
            first = 0;
        }
        Guest.store64(chain, Guest.load64(q + HEADERS) + (long) HEADER_STRIDE * tag);
        Guest.store32(chain + 8, 16);
        Guest.store16(chain + 12, DESC_NEXT);
        Guest.store16(chain + 14, first + 1);
        Guest.store64(chain + 32, Guest.load64(q + STATUSES) + tag);
        Guest.store32(chain + 40, 1);
        Guest.store16(chain + 44, DESC_WRITE);
    }

    static long queue(long disk, int queue) {
        return Guest.load64(disk + QUEUE_TABLE + 8L * queue);
    }

    static void bind(long disk, int queue) {
        long q = queue(disk, queue);
        if ((Guest.load32(q + MODE) & Disk.POLL) == 0) {
            route(disk, queue, (int) (Guest.load64(q + COUNTER) - GuestLayout.INTERRUPT_COUNTERS) / 8);
            LocalApic.startTicks(ONE_SECOND_OF_TICKS);
        }
    }

    static void submit(long disk, int queue, int tag, int operation, long sector, long buffer, int sizeBytes) {
        long q = queue(disk, queue);
        boolean indirect = (Guest.load32(q + MODE) & Disk.INDIRECT) != 0;
        int first = indirect ? 0 : 3 * tag;
        long chain =
                indirect ? Guest.load64(q + TABLES) + (long) TABLE_STRIDE * tag : Guest.load64(q + DESC) + 48L * tag;
        long header = Guest.load64(q + HEADERS) + (long) HEADER_STRIDE * tag;
        int flags = DESC_NEXT;
        int type = operation;
        int length = sizeBytes;
        long data = buffer;
        switch (operation) {
            case Disk.READ -> flags |= DESC_WRITE;
            case Disk.WRITE -> type = VIRTIO_BLK_T_OUT;
            case Disk.FLUSH -> type = VIRTIO_BLK_T_FLUSH;
            case Disk.IDENTIFY -> {
                type = VIRTIO_BLK_T_GET_ID;
                flags |= DESC_WRITE;
            }
            default -> {
                type = operation == Disk.DISCARD ? VIRTIO_BLK_T_DISCARD : VIRTIO_BLK_T_WRITE_ZEROES;
                data = header + 16;
                length = 16;
                Guest.store64(data, sector);
                Guest.store32(data + 8, sizeBytes / Disk.SECTOR);
                Guest.store32(data + 12, 0);
            }
        }
        boolean onSectors = operation == Disk.READ || operation == Disk.WRITE;
        Guest.store64(header, type);
        Guest.store64(header + 8, onSectors ? sector : 0);
        Guest.store8(Guest.load64(q + STATUSES) + tag, 0xff);
        Guest.store64(chain + 16, data);
        Guest.store64(chain + 24, length | (long) flags << 32 | (long) (first + 2) << 48);
        Guest.store16(chain + 14, operation == Disk.FLUSH ? first + 2 : first + 1);
        makeAvailable(q, indirect ? tag : first);
    }

    /** Puts a chain into the available ring; the device sees it after {@link #kick}. */
    static void makeAvailable(long q, int descriptor) {
        int index = Guest.load32(q + AVAIL_INDEX);
        int mask = Guest.load32(q + SIZE) - 1;
        Guest.store16(Guest.load64(q + AVAIL) + 4 + 2L * (index & mask), descriptor);
        Guest.store32(q + AVAIL_INDEX, index + 1);
    }

    static void kick(long disk, int queue) {
        long q = queue(disk, queue);
        int now = Guest.load32(q + AVAIL_INDEX);
        int before = Guest.load32(q + KICKED);
        if (now == before) {
            return;
        }
        Guest.store32(q + KICKED, now);
        Guest.store16Release(Guest.load64(q + AVAIL) + 2, now);
        Guest.fence();
        long used = Guest.load64(q + USED);
        boolean wanted;
        if ((Guest.load32(q + MODE) & Disk.EVENT_INDEX) != 0) {
            int event = Guest.load16(used + 4 + 8L * Guest.load32(q + SIZE));
            wanted = (now - event - 1 & 0xffff) < (now - before & 0xffff);
        } else {
            wanted = (Guest.load16(used) & 1) == 0;
        }
        if (wanted) {
            Guest.store64(q + NOTIFICATIONS, Guest.load64(q + NOTIFICATIONS) + 1);
            Guest.store16(Guest.load64(q + DOORBELL), Guest.load32(q + NUMBER));
        }
    }

    static int poll(long disk, int queue) {
        int tag = completed(disk, queue);
        return tag == Disk.NONE
                ? Disk.NONE
                : tag | Guest.load8(Guest.load64(queue(disk, queue) + STATUSES) + tag) << 16;
    }

    /** The tag of a completed request, or {@link Disk#NONE}. */
    static int completed(long disk, int queue) {
        long q = queue(disk, queue);
        long used = Guest.load64(q + USED);
        int last = Guest.load32(q + LAST_USED);
        if (Guest.load16Acquire(used + 2) == (last & 0xffff)) {
            return Disk.NONE;
        }
        int id = Guest.load32(used + 4 + 8L * (last & Guest.load32(q + SIZE) - 1));
        Guest.store32(q + LAST_USED, last + 1);
        int mode = Guest.load32(q + MODE);
        if ((mode & (Disk.POLL | Disk.EVENT_INDEX)) == (Disk.POLL | Disk.EVENT_INDEX)) {
            // An index just behind is the farthest away: no interrupt for 65535 completions.
            Guest.store16(eventSlot(q), last);
        }
        int tag = (mode & Disk.INDIRECT) != 0 ? id : Integer.divideUnsigned(id, 3);
        if (Integer.compareUnsigned(tag, Guest.load32(disk + Disk.DEPTH)) >= 0) {
            Exit.fail(Exit.DEVICE_ERROR, "the virtio device completed a request that does not exist");
        }
        return tag;
    }

    private static long eventSlot(long q) {
        return Guest.load64(q + AVAIL) + 4 + 2L * Guest.load32(q + SIZE);
    }

    private static boolean idle(long q) {
        return Guest.load16Acquire(Guest.load64(q + USED) + 2) == (Guest.load32(q + LAST_USED) & 0xffff);
    }

    static void await(long disk, int queue) {
        long q = queue(disk, queue);
        if (!idle(q)) {
            return;
        }
        int mode = Guest.load32(q + MODE);
        if ((mode & Disk.POLL) != 0) {
            spin(disk, q);
            return;
        }
        long counter = Guest.load64(q + COUNTER);
        long begin = Guest.tsc();
        while (true) {
            long seen = Guest.load64(counter);
            if ((mode & Disk.EVENT_INDEX) != 0) {
                Guest.store16(eventSlot(q), Guest.load32(q + LAST_USED));
            } else {
                Guest.store16(Guest.load64(q + AVAIL), 0);
            }
            Guest.fence();
            if (!idle(q)) {
                break;
            }
            Guest.waitWhileEqual(counter, seen);
            if (!idle(q)) {
                if (Guest.load64(counter) == seen) {
                    Guest.store64(q + MISSED, Guest.load64(q + MISSED) + 1);
                }
                break;
            }
            checkSilence(disk, q, begin);
        }
        if ((mode & Disk.EVENT_INDEX) == 0) {
            Guest.store16(Guest.load64(q + AVAIL), 1);
        }
    }

    private static void spin(long disk, long q) {
        long begin = Guest.tsc();
        long index = Guest.load64(q + USED) + 2;
        int last = Guest.load32(q + LAST_USED) & 0xffff;
        while (true) {
            for (int spins = 0; spins < SPINS_PER_LOOK_AT_CLOCK; spins++) {
                if (Guest.load16Acquire(index) != last) {
                    return;
                }
                Guest.pause();
            }
            checkSilence(disk, q, begin);
        }
    }

    private static void checkSilence(long disk, long q, long begin) {
        int status = Guest.load8(Guest.load64(disk + COMMON) + DEVICE_STATUS);
        if ((status & NEEDS_RESET) != 0) {
            Exit.fail(Exit.DEVICE_ERROR, "the virtio device needs a reset");
        }
        if (Tsc.toNanos(Guest.tsc() - begin) < SILENCE_NANOS) {
            return;
        }
        Console.print("error: no completion for 20 s on queue ");
        Console.printDecimal(Guest.load32(q + NUMBER));
        Console.print(": available ");
        Console.printDecimal(Guest.load32(q + AVAIL_INDEX));
        Console.print(", used ");
        Console.printDecimal(Guest.load32(q + LAST_USED));
        Console.print(", interrupts ");
        Console.printDecimal(Guest.load64(Guest.load64(q + COUNTER)));
        Console.print(", device status ");
        Console.printHex(status);
        Console.newLine();
        Exit.exit(Exit.DEVICE_ERROR);
    }

    static long interrupts(long disk, int queue) {
        return Guest.load64(Guest.load64(queue(disk, queue) + COUNTER));
    }

    static long missedInterrupts(long disk, int queue) {
        return Guest.load64(queue(disk, queue) + MISSED);
    }

    static long notifications(long disk, int queue) {
        return Guest.load64(queue(disk, queue) + NOTIFICATIONS);
    }
}
