package org.benchtop.guests.programs;

import org.benchtop.guests.drivers.Disk;
import org.benchtop.guests.rt.Cmdline;
import org.benchtop.guests.rt.Console;
import org.benchtop.guests.rt.Exit;

/** The command-line keys that the disk programs share. */
final class DiskOptions {
    private static final int ALIGNMENT = 4096;
    static int index;
    static int flags;
    static long seed;
    static long firstByte;
    static long sizeBytes;

    private DiskOptions() {}

    /** Reads the keys and opens the disk. */
    static long open(int queues, int depth) {
        index = (int) Cmdline.number("disk", 0, 0, 31);
        flags = 0;
        if (Cmdline.flag("poll", false)) {
            flags |= Disk.POLL;
        }
        if (Cmdline.flag("event_idx", true)) {
            flags |= Disk.EVENT_INDEX;
        }
        if (Cmdline.flag("indirect", false)) {
            flags |= Disk.INDIRECT;
        }
        if (Cmdline.flag("pio", false)) {
            flags |= Disk.PROGRAMMED;
        }
        seed = Cmdline.number("seed", 1, 0, Long.MAX_VALUE);
        long disk = Disk.open(index, queues, depth, flags);
        long bytes = Disk.sectors(disk) * Disk.SECTOR;
        firstByte = Cmdline.number("offset", 0, 0, Math.max(bytes - ALIGNMENT, 0));
        sizeBytes = Cmdline.number("size", bytes - firstByte, ALIGNMENT, bytes - firstByte) & -ALIGNMENT;
        if (firstByte % ALIGNMENT != 0 || sizeBytes <= 0) {
            Exit.fail(Exit.BAD_PARAMETER, "offset= must be a multiple of 4096 and leave at least 4096 bytes");
        }
        return disk;
    }

    static void describe(long disk) {
        Console.print("disk ");
        Console.printDecimal(index);
        Console.print(": ");
        printSize(Disk.sectors(disk) * Disk.SECTOR);
        Console.print(", blocks of ");
        Console.printDecimal(Disk.blockSize(disk));
        Console.print(", queues ");
        Console.printDecimal(Disk.queues(disk));
        Console.print(Disk.polled(disk) ? ", polled" : ", interrupts");
        Console.print(Disk.can(disk, Disk.FLUSH) ? ", flush" : "");
        Console.print(Disk.can(disk, Disk.DISCARD) ? ", discard" : "");
        Console.print(Disk.can(disk, Disk.WRITE_ZEROES) ? ", write zeroes" : "");
        Console.println(Disk.can(disk, Disk.WRITE) ? "" : ", read-only");
    }

    static void printSize(long bytes) {
        if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) {
            Console.printDecimal(bytes >> 20);
            Console.print(" MiB");
        } else if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) {
            Console.printDecimal(bytes >> 10);
            Console.print(" KiB");
        } else {
            Console.printDecimal(bytes);
            Console.print(" B");
        }
    }
}
