package org.benchtop.guests.programs;

import org.benchtop.guests.DiskBenchLayout;
import org.benchtop.guests.DiskPattern;
import org.benchtop.guests.drivers.Disk;
import org.benchtop.guests.lang.Guest;
import org.benchtop.guests.rt.Cmdline;
import org.benchtop.guests.rt.Console;
import org.benchtop.guests.rt.Exit;
import org.benchtop.guests.rt.Memory;
import org.benchtop.guests.rt.Tsc;

/**
 * Writes a pattern over a disk in several block sizes and orders, flushes, reads everything back and compares; then
 * reads at random for a moment and says how fast that was.
 *
 * <p>What is on the disk afterwards is {@link DiskPattern} with the given seed.
 */
final class DiskCheck {
    private static final int PASSES = 4;
    private static final int MAX_BLOCK = 1 << 20;
    private static final long NANOS = 1_000_000_000L;
    private static final long PROGRESS_NANOS = 1_000_000_000L;
    private static final int IDENTITY_SIZE = 20;
    private static long disk;
    private static int maxDepth;
    private static long buffers;
    private static long bufferBytes;
    private static long free;
    private static long blockOfTag;
    private static long verifiedBytes;

    private DiskCheck() {}

    static int main() {
        Cmdline.allow("disk poll pio event_idx indirect offset size seed iodepth seconds");
        maxDepth = (int) Cmdline.number("iodepth", 16, 1, 256);
        long seconds = Cmdline.number("seconds", 1, 0, 86_400);
        Tsc.khz();
        disk = DiskOptions.open(1, maxDepth);
        DiskOptions.describe(disk);
        if (!Disk.can(disk, Disk.WRITE)) {
            Exit.fail(Exit.BAD_PARAMETER, "the disk is read-only, diskcheck has to write");
        }
        Disk.bind(disk, 0);
        prepare(seconds > 0);
        identify();
        zeroes();
        for (int pass = 0; pass < PASSES; pass++) {
            check(pass);
        }
        Console.print("verified ");
        DiskOptions.printSize(verifiedBytes);
        Console.println(": all data as written");
        if (seconds > 0) {
            timedReads(seconds);
        }
        report();
        return Exit.OK;
    }

    private static void prepare(boolean timed) {
        free = Memory.allocateZeroed(4L * maxDepth, 64);
        blockOfTag = Memory.allocateZeroed(8L * maxDepth, 64);
        if (timed) {
            IoJob.disk = disk;
            IoJob.workload = IoJob.RANDOM_READ;
            IoJob.requestSize = 4096;
            IoJob.depth = maxDepth;
            IoJob.jobs = 1;
            IoJob.seed = DiskOptions.seed;
            IoJob.firstByte = DiskOptions.firstByte;
            IoJob.sizeBytes = DiskOptions.sizeBytes;
            IoJob.prepare();
        }
        bufferBytes = Math.min((long) maxDepth * MAX_BLOCK, Memory.available() / 2 & -MAX_BLOCK);
        if (bufferBytes < MAX_BLOCK) {
            Exit.fail(Exit.NO_DEVICE, "diskcheck needs at least 16 MiB of memory");
        }
        buffers = Memory.allocate(bufferBytes, 4096);
    }

    private static void identify() {
        Guest.fill8(buffers, 0, IDENTITY_SIZE);
        if (Disk.execute(disk, 0, Disk.IDENTIFY, 0, buffers, IDENTITY_SIZE) == 0) {
            int length = 0;
            while (length < IDENTITY_SIZE && Guest.load8(buffers + length) != 0) {
                length++;
            }
            Console.print("serial number: \"");
            Console.printBytes(buffers, length);
            Console.println("\"");
        }
    }

    /** The first 64 KiB: data, then write-zeroes over its middle, then discard, which may leave anything. */
    private static void zeroes() {
        if (!Disk.can(disk, Disk.WRITE_ZEROES) || DiskOptions.sizeBytes < 65536) {
            return;
        }
        long first = DiskOptions.firstByte / Disk.SECTOR;
        Guest.fill8(buffers, 0xa5, 65536);
        require(Disk.execute(disk, 0, Disk.WRITE, first, buffers, 65536), Disk.WRITE);
        require(Disk.execute(disk, 0, Disk.WRITE_ZEROES, first + 32, 0, 32768), Disk.WRITE_ZEROES);
        Guest.fill8(buffers, 0x11, 65536);
        require(Disk.execute(disk, 0, Disk.READ, first, buffers, 65536), Disk.READ);
        for (int at = 0; at < 65536; at += 8) {
            boolean zeroed = at >= 16384 && at < 49152;
            long expected = zeroed ? 0 : 0xa5a5_a5a5_a5a5_a5a5L;
            if (Guest.load64(buffers + at) != expected) {
                mismatch(DiskOptions.firstByte + at, expected, Guest.load64(buffers + at));
            }
        }
        if (Disk.can(disk, Disk.DISCARD)) {
            require(Disk.execute(disk, 0, Disk.DISCARD, first, 0, 65536), Disk.DISCARD);
        }
        Console.println("write zeroes: as expected");
    }

    private static void require(int status, int operation) {
        if (status != 0) {
            IoJob.fail(operation, status);
        }
    }

    private static void check(int pass) {
        long bytes = DiskOptions.sizeBytes;
        int block = 4096;
        boolean scattered = false;
        switch (pass) {
            case 0 -> {
                block = Disk.blockSize(disk);
                bytes = Math.min(bytes, MAX_BLOCK);
            }
            case 1 -> scattered = true;
            case 2 -> block = 65536;
            default -> block = MAX_BLOCK;
        }
        int depth = (int) Math.min(maxDepth, bufferBytes / block);
        long seed = DiskPattern.seedOfPass(DiskOptions.seed, pass, PASSES);
        phase(Disk.WRITE, pass, block, depth, bytes, scattered, seed);
        if (Disk.can(disk, Disk.FLUSH)) {
            require(Disk.execute(disk, 0, Disk.FLUSH, 0, 0, 0), Disk.FLUSH);
        }
        phase(Disk.READ, pass, block == MAX_BLOCK ? 4096 * 8 : block * 2, depth, bytes, !scattered, seed);
        verifiedBytes += bytes;
    }

    /** Transfers the whole range once, in one direction, with {@code depth} requests in flight. */
    private static void phase(int direction, int pass, int block, int depth, long bytes, boolean scattered, long seed) {
        long blocks = (bytes + block - 1) / block;
        long stride = scattered ? stride(blocks) : 1;
        int available = (int) Math.min(depth, bufferBytes / block);
        for (int tag = 0; tag < available; tag++) {
            Guest.store32(free + 4L * tag, tag);
        }
        int freeTags = available;
        long issued = 0;
        long done = 0;
        long cursor = 0;
        long begin = Tsc.nanos();
        long nextReport = begin + PROGRESS_NANOS;
        while (done < blocks) {
            while (freeTags > 0 && issued < blocks) {
                freeTags--;
                int tag = Guest.load32(free + 4L * freeTags);
                long buffer = buffers + (long) tag * block;
                int size = (int) Math.min(block, bytes - cursor * block);
                if (direction == Disk.WRITE) {
                    fill(buffer, size, seed, cursor * block / 8);
                } else {
                    Guest.fill8(buffer, 0, size);
                }
                Guest.store64(blockOfTag + 8L * tag, cursor);
                long sector = (DiskOptions.firstByte + cursor * block) / Disk.SECTOR;
                Disk.submit(disk, 0, tag, direction, sector, buffer, size);
                issued++;
                cursor += stride;
                if (cursor >= blocks) {
                    cursor -= blocks;
                }
            }
            Disk.kick(disk, 0);
            Disk.await(disk, 0);
            int completion = Disk.poll(disk, 0);
            while (completion != Disk.NONE) {
                int tag = completion & 0xffff;
                require(completion >> 16, direction);
                if (direction == Disk.READ) {
                    long at = Guest.load64(blockOfTag + 8L * tag) * block;
                    verify(buffers + (long) tag * block, (int) Math.min(block, bytes - at), seed, at);
                }
                Guest.store32(free + 4L * freeTags, tag);
                freeTags++;
                done++;
                completion = Disk.poll(disk, 0);
            }
            long now = Tsc.nanos();
            if (now > nextReport && done < blocks) {
                nextReport = now + PROGRESS_NANOS;
                heading(direction, pass, block, available);
                Console.printDecimal(done * 100 / blocks);
                Console.println(" %");
            }
        }
        heading(direction, pass, block, available);
        DiskOptions.printSize(bytes);
        Console.print(" in ");
        long micros = Math.max((Tsc.nanos() - begin) / 1000, 1);
        Console.printFixed(micros / 10_000, 2);
        Console.print(" s, ");
        Console.printFixed(bytes * 10 / micros, 1);
        Console.println(" MB/s");
    }

    private static void heading(int direction, int pass, int block, int depth) {
        Console.print("pass ");
        Console.printDecimal(pass + 1);
        Console.print("/");
        Console.printDecimal(PASSES);
        Console.print(direction == Disk.WRITE ? " write " : " verify ");
        DiskOptions.printSize(block);
        Console.print(" x");
        Console.printDecimal(depth);
        Console.print(": ");
    }

    /** A step that visits every block once and jumps about. */
    private static long stride(long blocks) {
        long stride = blocks * 5 / 13 + 1;
        while (stride > 1 && divisor(stride, blocks) != 1) {
            stride--;
        }
        return stride;
    }

    private static long divisor(long a, long b) {
        return b == 0 ? a : divisor(b, a % b);
    }

    private static void fill(long buffer, int size, long seed, long firstWord) {
        for (int at = 0; at < size; at += 8) {
            Guest.store64(buffer + at, DiskPattern.word(seed, firstWord + (at >> 3)));
        }
    }

    private static void verify(long buffer, int size, long seed, long firstByte) {
        for (int at = 0; at < size; at += 8) {
            long expected = DiskPattern.word(seed, (firstByte + at) >> 3);
            if (Guest.load64(buffer + at) != expected) {
                mismatch(DiskOptions.firstByte + firstByte + at, expected, Guest.load64(buffer + at));
            }
        }
    }

    private static void mismatch(long place, long expected, long found) {
        Console.print("error: data mismatch at LBA ");
        Console.printDecimal(place / Disk.SECTOR);
        Console.print(", byte ");
        Console.printDecimal(place % Disk.SECTOR);
        Console.print(": expected ");
        Console.printHex(expected);
        Console.print(", found ");
        Console.printHex(found);
        long index = (place - DiskOptions.firstByte) >> 3;
        for (int pass = 0; pass < PASSES; pass++) {
            if (found == DiskPattern.word(DiskPattern.seedOfPass(DiskOptions.seed, pass, PASSES), index)) {
                Console.print(" (the data of pass ");
                Console.printDecimal(pass + 1);
                Console.print(")");
            }
        }
        Console.newLine();
        Exit.exit(Exit.CHECK_FAILED);
    }

    private static void timedReads(long seconds) {
        IoJob.runNanos = seconds * NANOS;
        IoJob.run(0);
        long block = IoJob.stats(0, Disk.READ);
        long ios = Guest.load64(block + DiskBenchLayout.IOS);
        Console.print("random reads 4 KiB x");
        Console.printDecimal(maxDepth);
        Console.print(": ");
        Console.printDecimal(iops());
        Console.print(" IOPS, mean ");
        Console.printFixed(Latency.mean(block + DiskBenchLayout.COMPLETION, ios) / 10, 2);
        Console.print(" us, p99 ");
        Console.printFixed(Latency.percentile(block + DiskBenchLayout.COMPLETION, ios, 9900) / 10, 2);
        Console.println(" us");
    }

    private static long iops() {
        long ios = Guest.load64(IoJob.stats(0, Disk.READ) + DiskBenchLayout.IOS);
        return ios * 1_000_000 / Math.max(IoJob.elapsedNanos() / 1000, 1);
    }

    private static void report() {
        Console.println("@@benchtop:result:begin");
        Console.print("{\"program\":\"diskcheck\",\"verified_bytes\":");
        Console.printDecimal(verifiedBytes);
        Console.print(",\"size\":");
        Console.printDecimal(DiskOptions.sizeBytes);
        Console.print(",\"offset\":");
        Console.printDecimal(DiskOptions.firstByte);
        Console.print(",\"seed\":");
        Console.printDecimal(DiskOptions.seed);
        Console.print(",\"interrupts\":");
        Console.printDecimal(Disk.interrupts(disk, 0));
        Console.print(",\"missed_interrupts\":");
        Console.printDecimal(Disk.missedInterrupts(disk, 0));
        Console.print(",\"notifications\":");
        Console.printDecimal(Disk.notifications(disk, 0));
        if (IoJob.jobs != 0) {
            long block = IoJob.stats(0, Disk.READ);
            Console.print(",\"randread_iops\":");
            Console.printDecimal(iops());
            Console.print(",\"randread_p99_ns\":");
            Console.printDecimal(Latency.percentile(
                    block + DiskBenchLayout.COMPLETION, Guest.load64(block + DiskBenchLayout.IOS), 9900));
        }
        Console.println("}");
        Console.println("@@benchtop:result:end");
    }
}
