package org.benchtop.guests.drivers;

import org.benchtop.guests.lang.Guest;

/** Command descriptor blocks of disks and what comes back (SPC-5, SBC-4), for drivers of SCSI host bus adapters. */
final class Scsi {
    static final int CDB_SIZE = 16;

    /** Size of the parameters of UNMAP for one range. */
    static final int UNMAP_SIZE = 24;

    /** Bytes that {@link #capacity}, {@link #serial} and {@link #provisioning} ask for. */
    static final int ANSWER_SIZE = 64;

    static final int GOOD = 0;
    static final int CHECK_CONDITION = 2;

    private static final int INQUIRY = 0x12;
    private static final int READ_10 = 0x28;
    private static final int WRITE_10 = 0x2a;
    private static final int SYNCHRONIZE_CACHE = 0x35;
    private static final int UNMAP = 0x42;
    private static final int READ_16 = 0x88;
    private static final int WRITE_16 = 0x8a;
    private static final int WRITE_SAME_16 = 0x93;
    private static final int SERVICE_ACTION_IN = 0x9e;
    private static final int READ_CAPACITY_16 = 0x10;
    private static final int PAGE_SERIAL = 0x80;
    private static final int PAGE_PROVISIONING = 0xb2;
    private static final int UNMAP_BIT = 8;

    private Scsi() {}

    /** Stores the low {@code bytes} bytes of a value, the most significant one first. */
    static void big(long address, long value, int bytes) {
        for (int i = 0; i < bytes; i++) {
            Guest.store8(address + i, (int) (value >>> 8 * (bytes - 1 - i)));
        }
    }

    static long big(long address, int bytes) {
        long value = 0;
        for (int i = 0; i < bytes; i++) {
            value = value << 8 | Guest.load8(address + i);
        }
        return value;
    }

    private static void clear(long cdb, int operation) {
        Guest.store64(cdb, operation);
        Guest.store64(cdb + 8, 0);
    }

    /** TEST UNIT READY. */
    static void testUnitReady(long cdb) {
        clear(cdb, 0);
    }

    /** READ CAPACITY (16). */
    static void capacity(long cdb) {
        clear(cdb, SERVICE_ACTION_IN);
        Guest.store8(cdb + 1, READ_CAPACITY_16);
        big(cdb + 10, 32, 4);
    }

    /** INQUIRY, standard data. */
    static void inquiry(long cdb) {
        clear(cdb, INQUIRY);
        big(cdb + 3, 36, 2);
    }

    private static void page(long cdb, int page) {
        clear(cdb, INQUIRY);
        Guest.store8(cdb + 1, 1);
        Guest.store8(cdb + 2, page);
        big(cdb + 3, ANSWER_SIZE, 2);
    }

    /** INQUIRY of the unit serial number. */
    static void serial(long cdb) {
        page(cdb, PAGE_SERIAL);
    }

    /** INQUIRY of what the disk says about unmapping. */
    static void provisioning(long cdb) {
        page(cdb, PAGE_PROVISIONING);
    }

    /** READ or WRITE. */
    static void transfer(long cdb, boolean write, long block, int blocks) {
        if (block + blocks <= 0xffff_ffffL) {
            clear(cdb, write ? WRITE_10 : READ_10);
            big(cdb + 2, block, 4);
            big(cdb + 7, blocks, 2);
        } else {
            clear(cdb, write ? WRITE_16 : READ_16);
            big(cdb + 2, block, 8);
            big(cdb + 10, blocks, 4);
        }
    }

    /** SYNCHRONIZE CACHE (10) of everything. */
    static void flush(long cdb) {
        clear(cdb, SYNCHRONIZE_CACHE);
    }

    /** UNMAP of one range, whose parameters are put at {@code parameters}. */
    static void unmap(long cdb, long parameters, long block, int blocks) {
        clear(cdb, UNMAP);
        big(cdb + 7, UNMAP_SIZE, 2);
        big(parameters, UNMAP_SIZE - 2, 2);
        big(parameters + 2, 16, 2);
        big(parameters + 4, 0, 4);
        big(parameters + 8, block, 8);
        big(parameters + 16, blocks, 4);
        big(parameters + 20, 0, 4);
    }

    /** WRITE SAME (16) with a block of zeroes that the caller sends; the disk may unmap. */
    static void writeZeroes(long cdb, long block, int blocks) {
        clear(cdb, WRITE_SAME_16);
        Guest.store8(cdb + 1, UNMAP_BIT);
        big(cdb + 2, block, 8);
        big(cdb + 10, blocks, 4);
    }

    /** Fills the common head of a disk from the answer to {@link #capacity}. */
    static void describe(long disk, long answer) {
        int block = (int) big(answer + 8, 4);
        Guest.store64(disk + Disk.SECTORS, (big(answer, 8) + 1) * (block / Disk.SECTOR));
        Guest.store32(disk + Disk.BLOCK_SIZE, block);
        Guest.store32(disk + Disk.ABILITIES, 1 << Disk.IDENTIFY | 1 << Disk.WRITE | 1 << Disk.FLUSH);
    }

    /** Adds abilities from the answer to {@link #provisioning}. */
    static void describeProvisioning(long disk, long answer) {
        if (Guest.load8(answer + 1) != PAGE_PROVISIONING) {
            return;
        }
        int bits = Guest.load8(answer + 5);
        int abilities = Guest.load32(disk + Disk.ABILITIES);
        abilities |= (bits & 0x80) != 0 ? 1 << Disk.DISCARD : 0;
        abilities |= (bits & 0x40) != 0 ? 1 << Disk.WRITE_ZEROES : 0;
        Guest.store32(disk + Disk.ABILITIES, abilities);
    }

    /** Copies the serial number out of the answer to {@link #serial} into 24 bytes that are 0. */
    static void copySerial(long answer, long serial) {
        if (Guest.load8(answer + 1) == PAGE_SERIAL) {
            Guest.copy(serial, answer + 4, Math.min(Guest.load8(answer + 3), 20));
        }
    }
}
