package org.benchtop.guests.drivers;

import org.benchtop.guests.GuestLayout;
import org.benchtop.guests.lang.Guest;
import org.benchtop.guests.rt.Console;
import org.benchtop.guests.rt.Exit;
import org.benchtop.guests.rt.Memory;
import org.benchtop.guests.rt.Pci;
import org.benchtop.guests.rt.Tsc;

/**
 * Driver for disks behind a virtio SCSI host (virtio 1.2, 5.6), logical unit 0 of each target. Its queues are those of
 * {@link VirtioBlk}: three descriptors for each tag, or a table of three.
 */
final class VirtioScsi {
    private static final int ID_MODERN = 0x1048_1af4;
    private static final int ID_TRANSITIONAL = 0x1004_1af4;

    /** Targets that are looked at. */
    private static final int TARGETS = 16;

    /** Before the request queues come those for control and events, which are not used. */
    private static final int FIRST_REQUEST_QUEUE = 2;

    private static final int NUM_QUEUES = 0;
    private static final int REQUEST_SIZE = 51;
    private static final int RESPONSE_SIZE = 108;
    private static final int SIMPLE_LUN = 0x40;

    /** What a tag owns: request, response, parameters of UNMAP. */
    private static final int REQUEST_CDB = 19;

    private static final int RESPONSE = 64;
    private static final int RESPONSE_STATUS = RESPONSE + 10;
    private static final int RESPONSE_CODE = RESPONSE + 11;
    private static final int PARAMETERS = 176;
    private static final int TABLE = 208;
    private static final int SLOT_SIZE = 256;
    private static final int DESC_INDIRECT = 4;
    private static final long SILENCE_NANOS = 20_000_000_000L;

    /** The driver's structure, behind that of {@link VirtioBlk}. */
    private static final int SLOTS = VirtioBlk.DISK_SIZE;

    private static final int SERIAL = SLOTS + 8 * GuestLayout.MAX_CPUS;
    private static final int ZEROES = SERIAL + 8;
    private static final int TARGET = SERIAL + 16;
    private static final int DISK_SIZE = SERIAL + 24;

    private VirtioScsi() {}

    static boolean matches(int id) {
        return id == ID_MODERN || id == ID_TRANSITIONAL;
    }

    /** The number of disks behind a host. */
    static int disks(int function) {
        long disk = start(function, 1, 1, 0);
        int found = 0;
        for (int target = 0; target < TARGETS; target++) {
            found += isDisk(disk, target) ? 1 : 0;
        }
        VirtioBlk.reset(Guest.load64(disk + VirtioBlk.COMMON));
        return found;
    }

    static long attach(int function, int index, int queues, int depth, int flags) {
        long disk = start(function, queues, depth, flags);
        int target = -1;
        int seen = -1;
        while (seen < index) {
            target++;
            seen += isDisk(disk, target) ? 1 : 0;
        }
        Guest.store32(disk + TARGET, target);
        describe(disk);
        return disk;
    }

    private static long start(int function, int queues, int depth, int flags) {
        Pci.enable(function);
        long disk = Memory.allocateZeroed(DISK_SIZE, 64);
        Guest.store32(disk + Disk.KIND, Disk.VIRTIO_SCSI);
        long config = VirtioBlk.findRegisters(disk, function);
        long common = Guest.load64(disk + VirtioBlk.COMMON);
        VirtioBlk.reset(common);
        long features = VirtioBlk.negotiate(common, 0, flags);
        int mode = VirtioBlk.mode(disk, function, features, flags);
        int used = Math.max(1, Math.min(Math.min(queues, GuestLayout.MAX_CPUS), Guest.load32(config + NUM_QUEUES)));
        Guest.store32(disk + Disk.FLAGS, mode);
        Guest.store32(disk + Disk.QUEUES, used);
        Guest.store32(disk + Disk.DEPTH, depth);
        Guest.store16(common + VirtioBlk.CONFIG_MSIX_VECTOR, 0xffff);
        for (int queue = 0; queue < used; queue++) {
            VirtioBlk.setUpQueue(disk, queue, FIRST_REQUEST_QUEUE + queue, depth, mode);
            Guest.store64(disk + SLOTS + 8L * queue, Memory.allocateZeroed((long) SLOT_SIZE * depth, 64));
        }
        VirtioBlk.start(common);
        return disk;
    }

    private static void describe(long disk) {
        int target = Guest.load32(disk + TARGET);
        long answer = Memory.allocateZeroed(Scsi.ANSWER_SIZE, 64);
        long cdb = slot(disk, 0, 0) + REQUEST_CDB;
        Scsi.capacity(cdb);
        int status = execute(disk, target, true, answer, 32);
        if (status != Scsi.GOOD) {
            Exit.fail(Exit.DEVICE_ERROR, "the SCSI disk does not tell its capacity");
        }
        Scsi.describe(disk, answer);
        Guest.store64(disk + ZEROES, Memory.allocateZeroed(Guest.load32(disk + Disk.BLOCK_SIZE), 64));
        Guest.fill8(answer, 0, Scsi.ANSWER_SIZE);
        Scsi.provisioning(cdb);
        if (execute(disk, target, true, answer, Scsi.ANSWER_SIZE) == Scsi.GOOD) {
            Scsi.describeProvisioning(disk, answer);
        }
        long serial = Memory.allocateZeroed(24, 8);
        Guest.fill8(answer, 0, Scsi.ANSWER_SIZE);
        Scsi.serial(cdb);
        if (execute(disk, target, true, answer, Scsi.ANSWER_SIZE) == Scsi.GOOD) {
            Scsi.copySerial(answer, serial);
        }
        Guest.store64(disk + SERIAL, serial);
    }

    private static boolean isDisk(long disk, int target) {
        long cdb = slot(disk, 0, 0) + REQUEST_CDB;
        long answer = Memory.allocateZeroed(Scsi.ANSWER_SIZE, 64);
        Scsi.inquiry(cdb);
        if (execute(disk, target, true, answer, 36) != Scsi.GOOD || Guest.load8(answer) != 0) {
            return false;
        }
        // Takes the unit attention of a reset.
        for (int i = 0; i < 4; i++) {
            Scsi.testUnitReady(cdb);
            if (execute(disk, target, true, answer, 0) == Scsi.GOOD) {
                return true;
            }
        }
        return false;
    }

    private static long slot(long disk, int queue, int tag) {
        return Guest.load64(disk + SLOTS + 8L * queue) + (long) SLOT_SIZE * tag;
    }

    /** Does the command of tag 0 and returns its status; -1 if there is no such target. */
    private static int execute(long disk, int target, boolean in, long buffer, int bytes) {
        send(disk, 0, 0, target, in, buffer, bytes);
        VirtioBlk.kick(disk, 0);
        long begin = Guest.tsc();
        while (VirtioBlk.completed(disk, 0) == Disk.NONE) {
            if (Tsc.toNanos(Guest.tsc() - begin) > SILENCE_NANOS) {
                Console.println("error: the virtio SCSI host does not answer");
                Exit.exit(Exit.DEVICE_ERROR);
            }
            Guest.pause();
        }
        long slot = slot(disk, 0, 0);
        return Guest.load8(slot + RESPONSE_CODE) != 0 ? -1 : Guest.load8(slot + RESPONSE_STATUS);
    }

    /** Makes a request, whose CDB is there, available. */
    private static void send(long disk, int queue, int tag, int target, boolean in, long buffer, int bytes) {
        long q = VirtioBlk.queue(disk, queue);
        long slot = slot(disk, queue, tag);
        Guest.store32(slot, 1 | target << 8 | SIMPLE_LUN << 16);
        Guest.store32(slot + 4, 0);
        Guest.store64(slot + 8, tag);
        Guest.store16(slot + 16, 0);
        Guest.store8(slot + 18, 0);
        Guest.store8(slot + RESPONSE_CODE, 0xff);
        boolean indirect = (Guest.load32(q + VirtioBlk.MODE) & Disk.INDIRECT) != 0;
        int first = indirect ? 0 : 3 * tag;
        long desc = Guest.load64(q + VirtioBlk.DESC);
        long chain = indirect ? slot + TABLE : desc + 16L * first;
        // Request, then what the device reads, then what it writes.
        descriptor(chain, slot, REQUEST_SIZE, VirtioBlk.DESC_NEXT, first + 1);
        int last = bytes == 0 ? 0 : VirtioBlk.DESC_NEXT;
        if (bytes != 0 && !in) {
            descriptor(chain + 16, buffer, bytes, VirtioBlk.DESC_NEXT, first + 2);
            descriptor(chain + 32, slot + RESPONSE, RESPONSE_SIZE, VirtioBlk.DESC_WRITE, 0);
        } else {
            descriptor(chain + 16, slot + RESPONSE, RESPONSE_SIZE, VirtioBlk.DESC_WRITE | last, first + 2);
            descriptor(chain + 32, buffer, bytes, VirtioBlk.DESC_WRITE, 0);
        }
        if (indirect) {
            descriptor(desc + 16L * tag, chain, bytes == 0 ? 32 : 48, DESC_INDIRECT, 0);
        }
        VirtioBlk.makeAvailable(q, indirect ? tag : first);
    }

    private static void descriptor(long at, long address, int bytes, int flags, int next) {
        Guest.store64(at, address);
        Guest.store64(at + 8, bytes | (long) flags << 32 | (long) next << 48);
    }

    static void submit(long disk, int queue, int tag, int operation, long sector, long buffer, int sizeBytes) {
        long slot = slot(disk, queue, tag);
        long cdb = slot + REQUEST_CDB;
        int blockSize = Guest.load32(disk + Disk.BLOCK_SIZE);
        long lba = sector / (blockSize / Disk.SECTOR);
        int count = sizeBytes / blockSize;
        long data = buffer;
        int bytes = sizeBytes;
        switch (operation) {
            case Disk.READ, Disk.WRITE -> Scsi.transfer(cdb, operation == Disk.WRITE, lba, count);
            case Disk.DISCARD -> {
                data = slot + PARAMETERS;
                bytes = Scsi.UNMAP_SIZE;
                Scsi.unmap(cdb, data, lba, count);
            }
            case Disk.WRITE_ZEROES -> {
                data = Guest.load64(disk + ZEROES);
                bytes = blockSize;
                Scsi.writeZeroes(cdb, lba, count);
            }
            case Disk.IDENTIFY -> {
                Guest.copy(buffer, Guest.load64(disk + SERIAL), Math.min(sizeBytes, 20));
                Scsi.testUnitReady(cdb);
                bytes = 0;
            }
            default -> {
                Scsi.flush(cdb);
                bytes = 0;
            }
        }
        send(disk, queue, tag, Guest.load32(disk + TARGET), operation == Disk.READ, data, bytes);
    }

    static int poll(long disk, int queue) {
        int tag = VirtioBlk.completed(disk, queue);
        if (tag == Disk.NONE) {
            return Disk.NONE;
        }
        long slot = slot(disk, queue, tag);
        int status = Guest.load8(slot + RESPONSE_STATUS) | Guest.load8(slot + RESPONSE_CODE);
        return tag | status << 16;
    }
}
