package org.benchtop.guests.drivers;

import org.benchtop.guests.lang.Guest;
import org.benchtop.guests.rt.Console;
import org.benchtop.guests.rt.Exit;
import org.benchtop.guests.rt.Pci;

/**
 * A disk behind any driver: asynchronous requests with caller-chosen tags, on one or more queues.
 *
 * <p>A disk is the address of its driver's structure, whose first word is the kind of driver. One CPU at a time may use
 * a queue.
 */
public final class Disk {
    /** Operations. */
    public static final int READ = 0;

    public static final int WRITE = 1;
    public static final int FLUSH = 2;
    public static final int DISCARD = 3;
    public static final int WRITE_ZEROES = 4;
    public static final int IDENTIFY = 5;

    /** Bytes per sector, the unit of addresses. */
    public static final int SECTOR = 512;

    /** Look for completions without interrupts. */
    public static final int POLL = 1;

    /** Use event indices if the device offers them. */
    public static final int EVENT_INDEX = 2;

    /** Use indirect descriptors if the device offers them. */
    public static final int INDIRECT = 4;

    /** Move data by the CPU instead of DMA, where the disk can do both. */
    public static final int PROGRAMMED = 8;

    /** What {@link #poll} returns when nothing has completed. */
    public static final int NONE = -1;

    /** Common head of every driver's structure. */
    static final int KIND = 0;

    static final int FLAGS = 4;
    static final int SECTORS = 8;
    static final int BLOCK_SIZE = 16;
    static final int QUEUES = 20;
    static final int ABILITIES = 24;
    static final int DEPTH = 28;
    static final int HEAD_SIZE = 32;

    static final int VIRTIO_BLK = 1;
    static final int IDE = 2;
    static final int AHCI = 3;
    static final int LSI = 4;
    static final int VIRTIO_SCSI = 5;

    private Disk() {}

    /**
     * Opens the {@code index}-th disk in PCI order with up to {@code queues} queues of {@code depth} requests each; ends
     * the guest if there is no such disk.
     */
    public static long open(int index, int queues, int depth, int flags) {
        int seen = 0;
        for (int function = Pci.next(-1); function >= 0; function = Pci.next(function)) {
            int kind = kind(function);
            int disks = disks(kind, function);
            if (index < seen + disks) {
                return attach(kind, function, index - seen, queues, depth, flags);
            }
            seen += disks;
        }
        Console.print("error: no disk ");
        Console.printDecimal(index);
        Console.print(" (found ");
        Console.printDecimal(seen);
        Console.println(")");
        Exit.exit(Exit.NO_DEVICE);
        return 0;
    }

    private static int kind(int function) {
        if (VirtioBlk.matches(Pci.id(function))) {
            return VIRTIO_BLK;
        }
        if (VirtioScsi.matches(Pci.id(function))) {
            return VIRTIO_SCSI;
        }
        if (Ahci.matches(function)) {
            return AHCI;
        }
        if (Lsi.matches(function)) {
            return LSI;
        }
        return Ide.matches(function) ? IDE : 0;
    }

    private static int disks(int kind, int function) {
        return switch (kind) {
            case VIRTIO_BLK -> 1;
            case IDE -> Ide.disks(function);
            case AHCI -> Ahci.disks(function);
            case LSI -> Lsi.disks(function);
            case VIRTIO_SCSI -> VirtioScsi.disks(function);
            default -> 0;
        };
    }

    private static long attach(int kind, int function, int index, int queues, int depth, int flags) {
        return switch (kind) {
            case VIRTIO_BLK -> VirtioBlk.attach(function, queues, depth, flags);
            case IDE -> Ide.attach(function, index, depth, flags);
            case AHCI -> Ahci.attach(function, index, depth, flags);
            case LSI -> Lsi.attach(function, index, depth, flags);
            case VIRTIO_SCSI -> VirtioScsi.attach(function, index, queues, depth, flags);
            default -> 0;
        };
    }

    /** Size in sectors of 512 bytes. */
    public static long sectors(long disk) {
        return Guest.load64(disk + SECTORS);
    }

    /** Bytes per logical block. */
    public static int blockSize(long disk) {
        return Guest.load32(disk + BLOCK_SIZE);
    }

    /** Number of queues in use. */
    public static int queues(long disk) {
        return Guest.load32(disk + QUEUES);
    }

    /** Whether the disk can do an operation beyond read. */
    public static boolean can(long disk, int operation) {
        return (Guest.load32(disk + ABILITIES) >> operation & 1) != 0;
    }

    /** Whether completions are found by polling. */
    public static boolean polled(long disk) {
        return (Guest.load32(disk + FLAGS) & POLL) != 0;
    }

    /** Sends completion interrupts of a queue to the CPU that calls this. */
    public static void bind(long disk, int queue) {
        switch (Guest.load32(disk + KIND)) {
            case VIRTIO_BLK, VIRTIO_SCSI -> VirtioBlk.bind(disk, queue);
            case IDE -> Ide.bind(disk);
            case AHCI -> Ahci.bind(disk);
            case LSI -> Lsi.bind(disk);
            default -> {}
        }
    }

    /** Prepares a request; the device sees it after {@link #kick}. The tag must not be in flight. */
    public static void submit(long disk, int queue, int tag, int operation, long sector, long buffer, int sizeBytes) {
        switch (Guest.load32(disk + KIND)) {
            case VIRTIO_BLK -> VirtioBlk.submit(disk, queue, tag, operation, sector, buffer, sizeBytes);
            case VIRTIO_SCSI -> VirtioScsi.submit(disk, queue, tag, operation, sector, buffer, sizeBytes);
            case IDE -> Ide.submit(disk, tag, operation, sector, buffer, sizeBytes);
            case AHCI -> Ahci.submit(disk, tag, operation, sector, buffer, sizeBytes);
            case LSI -> Lsi.submit(disk, tag, operation, sector, buffer, sizeBytes);
            default -> {}
        }
    }

    /** Shows all prepared requests to the device. */
    public static void kick(long disk, int queue) {
        switch (Guest.load32(disk + KIND)) {
            case VIRTIO_BLK, VIRTIO_SCSI -> VirtioBlk.kick(disk, queue);
            case IDE -> Ide.kick(disk);
            case AHCI -> Ahci.kick(disk);
            case LSI -> Lsi.kick(disk);
            default -> {}
        }
    }

    /** A completed request as {@code tag | status << 16} with status 0 for success, or {@link #NONE}. */
    public static int poll(long disk, int queue) {
        return switch (Guest.load32(disk + KIND)) {
            case VIRTIO_BLK -> VirtioBlk.poll(disk, queue);
            case VIRTIO_SCSI -> VirtioScsi.poll(disk, queue);
            case IDE -> Ide.poll(disk);
            case AHCI -> Ahci.poll(disk);
            case LSI -> Lsi.poll(disk);
            default -> NONE;
        };
    }

    /** Waits until {@link #poll} has something; ends the guest if the device stays silent for long. */
    public static void await(long disk, int queue) {
        switch (Guest.load32(disk + KIND)) {
            case VIRTIO_BLK, VIRTIO_SCSI -> VirtioBlk.await(disk, queue);
            case IDE -> Ide.await(disk);
            case AHCI -> Ahci.await(disk);
            case LSI -> Lsi.await(disk);
            default -> {}
        }
    }

    /** Interrupts of a queue so far. */
    public static long interrupts(long disk, int queue) {
        return switch (Guest.load32(disk + KIND)) {
            case VIRTIO_BLK, VIRTIO_SCSI -> VirtioBlk.interrupts(disk, queue);
            case IDE -> Ide.interrupts(disk);
            case AHCI -> Ahci.interrupts(disk);
            case LSI -> Lsi.interrupts(disk);
            default -> 0;
        };
    }

    /** Completions for which the interrupt that was asked for did not come. */
    public static long missedInterrupts(long disk, int queue) {
        return switch (Guest.load32(disk + KIND)) {
            case VIRTIO_BLK, VIRTIO_SCSI -> VirtioBlk.missedInterrupts(disk, queue);
            case IDE -> Ide.missedInterrupts(disk);
            case AHCI -> Ahci.missedInterrupts(disk);
            case LSI -> Lsi.missedInterrupts(disk);
            default -> 0;
        };
    }

    /** Notifications sent to the device for a queue so far. */
    public static long notifications(long disk, int queue) {
        return switch (Guest.load32(disk + KIND)) {
            case VIRTIO_BLK, VIRTIO_SCSI -> VirtioBlk.notifications(disk, queue);
            case IDE -> Ide.notifications(disk);
            case AHCI -> Ahci.notifications(disk);
            case LSI -> Lsi.notifications(disk);
            default -> 0;
        };
    }

    /** Does one request on an idle queue and returns its status. */
    public static int execute(long disk, int queue, int operation, long sector, long buffer, int sizeBytes) {
        submit(disk, queue, 0, operation, sector, buffer, sizeBytes);
        kick(disk, queue);
        int completion = NONE;
        // An interrupt may come without a completion: after a restore, or shared with another device.
        while (completion == NONE) {
            await(disk, queue);
            completion = poll(disk, queue);
        }
        return completion >> 16;
    }
}
