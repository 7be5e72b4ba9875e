package org.benchtop.guests.programs;

import org.benchtop.guests.DiskBenchLayout;
import org.benchtop.guests.drivers.Disk;
import org.benchtop.guests.lang.Guest;
import org.benchtop.guests.rt.Console;
import org.benchtop.guests.rt.Exit;
import org.benchtop.guests.rt.Memory;
import org.benchtop.guests.rt.Random;
import org.benchtop.guests.rt.Tsc;

/**
 * The measuring loop: keeps a number of requests in flight on one queue for a while and records their latency.
 *
 * <p>Parameters are the same for all jobs; each job has its own region of the disk (for sequential access), queue,
 * buffers and statistics.
 */
final class IoJob {
    static final int READ_ONLY = 0;
    static final int WRITE_ONLY = 1;
    static final int RANDOM_READ = 2;
    static final int RANDOM_WRITE = 3;
    static final int MIXED = 4;
    static final int RANDOM_MIXED = 5;

    /** A job's structure. */
    private static final int FREE = 0;

    private static final int STARTED = 8;
    private static final int ISSUED = 16;
    private static final int DIRECTIONS = 24;
    private static final int BUFFERS = 32;
    private static final int READ_STATS = 40;
    private static final int WRITE_STATS = 48;
    private static final int FLUSHES = 56;
    private static final int FIRST = 64;
    private static final int LAST = 72;
    private static final int JOB_SIZE = 128;

    static long disk;
    static int workload;
    static int mixRead;
    static int requestSize;
    static int depth;
    static int jobs;
    static int flushInterval;
    static long seed;
    static long firstByte;
    static long sizeBytes;
    static long rampNanos;
    static long runNanos;
    static long limit;
    private static long table;

    private IoJob() {}

    /** Takes memory for all jobs; call after the parameters are set. */
    static void prepare() {
        table = Memory.allocateZeroed((long) JOB_SIZE * jobs, 128);
        for (int i = 0; i < jobs; i++) {
            long job = table + (long) JOB_SIZE * i;
            Guest.store64(job + FREE, Memory.allocateZeroed(4L * depth, 64));
            Guest.store64(job + STARTED, Memory.allocateZeroed(8L * depth, 64));
            Guest.store64(job + ISSUED, Memory.allocateZeroed(8L * depth, 64));
            Guest.store64(job + DIRECTIONS, Memory.allocateZeroed(depth, 64));
            long buffers = Memory.allocate((long) depth * requestSize, 4096);
            Guest.store64(job + BUFFERS, buffers);
            fill(buffers, (long) depth * requestSize, seed + i);
            long stats = Memory.allocateZeroed(2L * DiskBenchLayout.DIRECTION_SIZE, 64);
            Guest.store64(job + READ_STATS, stats);
            Guest.store64(job + WRITE_STATS, stats + DiskBenchLayout.DIRECTION_SIZE);
            Latency.open(stats);
            Latency.open(stats + DiskBenchLayout.DIRECTION_SIZE);
        }
    }

    private static void fill(long address, long bytes, long start) {
        long state = Random.seed(start);
        for (long at = 0; at < bytes; at += 8) {
            state = Random.next(state);
            Guest.store64(address + at, state);
        }
    }

    private static long job(int index) {
        return table + (long) JOB_SIZE * index;
    }

    static long stats(int index, int direction) {
        return Guest.load64(job(index) + (direction == Disk.READ ? READ_STATS : WRITE_STATS));
    }

    static long flushes(int index) {
        return Guest.load64(job(index) + FLUSHES);
    }

    /** From the first job's start of measurement to the last job's last completion. */
    static long elapsedNanos() {
        long begin = Guest.load64(job(0) + FIRST);
        long end = Guest.load64(job(0) + LAST);
        for (int i = 1; i < jobs; i++) {
            begin = Math.min(begin, Guest.load64(job(i) + FIRST));
            end = Math.max(end, Guest.load64(job(i) + LAST));
        }
        return Tsc.toNanos(end - begin);
    }

    static void run(int index) {
        long job = job(index);
        int queue = index % Disk.queues(disk);
        Disk.bind(disk, queue);
        long free = Guest.load64(job + FREE);
        long started = Guest.load64(job + STARTED);
        long issued = Guest.load64(job + ISSUED);
        long directions = Guest.load64(job + DIRECTIONS);
        long buffers = Guest.load64(job + BUFFERS);
        long readStats = Guest.load64(job + READ_STATS);
        long writeStats = Guest.load64(job + WRITE_STATS);
        for (int tag = 0; tag < depth; tag++) {
            Guest.store32(free + 4L * tag, depth - 1 - tag);
        }
        int freeTags = depth;
        boolean random = workload == RANDOM_READ || workload == RANDOM_WRITE || workload == RANDOM_MIXED;
        boolean mixed = workload == MIXED || workload == RANDOM_MIXED;
        int direction = workload == WRITE_ONLY || workload == RANDOM_WRITE ? Disk.WRITE : Disk.READ;
        long blocks = sizeBytes / requestSize;
        long regionBlocks = blocks / jobs;
        long regionStart = random ? 0 : regionBlocks * index;
        long regionSize = random ? blocks : regionBlocks;
        int sectorsPerBlock = requestSize / Disk.SECTOR;
        long firstSector = firstByte / Disk.SECTOR;
        long state = Random.seed(seed * 31 + index);
        long cursor = 0;
        long issuedCount = 0;
        int writesSinceFlush = 0;
        long now = Guest.tsc();
        long measureFrom = now + Tsc.fromNanos(rampNanos);
        long end = measureFrom + Tsc.fromNanos(runNanos);
        Guest.store64(job + FIRST, measureFrom);
        while (true) {
            boolean stop = now - end >= 0 || limit != 0 && issuedCount >= limit;
            boolean flushDue = flushInterval != 0 && writesSinceFlush >= flushInterval;
            int before = freeTags;
            while (!stop && !flushDue && freeTags > 0) {
                freeTags--;
                int tag = Guest.load32(free + 4L * freeTags);
                if (mixed) {
                    state = Random.next(state);
                    direction = Random.below(state, 100) < mixRead ? Disk.READ : Disk.WRITE;
                }
                long block;
                if (random) {
                    state = Random.next(state);
                    block = Random.below(state, regionSize);
                } else {
                    block = cursor;
                    cursor = cursor + 1 == regionSize ? 0 : cursor + 1;
                }
                Guest.store8(directions + tag, direction);
                Guest.store64(started + 8L * tag, Guest.tsc());
                Disk.submit(
                        disk,
                        queue,
                        tag,
                        direction,
                        firstSector + (regionStart + block) * sectorsPerBlock,
                        buffers + (long) tag * requestSize,
                        requestSize);
                issuedCount++;
                if (direction == Disk.WRITE) {
                    writesSinceFlush++;
                    flushDue = flushInterval != 0 && writesSinceFlush >= flushInterval;
                }
                stop = limit != 0 && issuedCount >= limit;
            }
            if (freeTags < before) {
                Disk.kick(disk, queue);
                now = Guest.tsc();
                for (int i = freeTags; i < before; i++) {
                    int tag = Guest.load32(free + 4L * i);
                    Guest.store64(issued + 8L * tag, now);
                    long start = Guest.load64(started + 8L * tag);
                    if (start - measureFrom >= 0) {
                        Latency.submitted(
                                Guest.load8(directions + tag) == Disk.READ ? readStats : writeStats,
                                Tsc.toNanos(now - start));
                    }
                }
            }
            if (freeTags == depth) {
                if (stop) {
                    break;
                }
                flush(queue);
                Guest.store64(job + FLUSHES, Guest.load64(job + FLUSHES) + 1);
                writesSinceFlush = 0;
                now = Guest.tsc();
                continue;
            }
            Disk.await(disk, queue);
            int completion = Disk.poll(disk, queue);
            while (completion != Disk.NONE) {
                int tag = completion & 0xffff;
                now = Guest.tsc();
                if (completion >> 16 != 0) {
                    fail(Guest.load8(directions + tag), completion >> 16);
                }
                if (Guest.load64(started + 8L * tag) - measureFrom >= 0) {
                    Latency.completed(
                            Guest.load8(directions + tag) == Disk.READ ? readStats : writeStats,
                            Tsc.toNanos(now - Guest.load64(issued + 8L * tag)),
                            requestSize);
                }
                Guest.store32(free + 4L * freeTags, tag);
                freeTags++;
                completion = Disk.poll(disk, queue);
            }
        }
        Guest.store64(job + LAST, now);
    }

    private static void flush(int queue) {
        int status = Disk.execute(disk, queue, Disk.FLUSH, 0, 0, 0);
        if (status != 0) {
            fail(Disk.FLUSH, status);
        }
    }

    static void fail(int operation, int status) {
        Console.print("error: the disk answered status ");
        Console.printDecimal(status);
        Console.print(" to a ");
        switch (operation) {
            case Disk.READ -> Console.println("read");
            case Disk.WRITE -> Console.println("write");
            case Disk.FLUSH -> Console.println("flush");
            default -> Console.println("request");
        }
        Exit.exit(Exit.DEVICE_ERROR);
    }
}
