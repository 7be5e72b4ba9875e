package org.benchtop.guests.programs;

import org.benchtop.guests.DiskBenchLayout;
import org.benchtop.guests.GuestLayout;
import org.benchtop.guests.drivers.Disk;
import org.benchtop.guests.lang.Guest;
import org.benchtop.guests.rt.Cmdline;
import org.benchtop.guests.rt.Console;
import org.benchtop.guests.rt.Exit;
import org.benchtop.guests.rt.Smp;
import org.benchtop.guests.rt.Tsc;

/** Measures a disk the way fio does; see the guests' README for the command line. */
final class DiskBench {
    private static final int MAX_REQUEST = 1 << 20;
    private static final long NANOS = 1_000_000_000L;

    private DiskBench() {}

    static int main() {
        Cmdline.allow(
                "disk poll pio event_idx indirect offset size seed rw rwmixread bs iodepth runtime ramp_time ios fsync numjobs");
        int workload = workload();
        int requestSize = (int) Cmdline.number("bs", 4096, Disk.SECTOR, MAX_REQUEST);
        int depth = (int) Cmdline.number("iodepth", 1, 1, 256);
        int jobs = (int) Cmdline.number("numjobs", 1, 1, GuestLayout.MAX_CPUS);
        if (jobs > 1 && Smp.start() < jobs) {
            Exit.fail(Exit.NO_DEVICE, "numjobs= is more than the machine has CPUs");
        }
        Tsc.khz();
        long disk = DiskOptions.open(jobs, depth);
        check(disk, workload, requestSize, jobs);
        IoJob.disk = disk;
        IoJob.workload = workload;
        IoJob.mixRead = (int) Cmdline.number("rwmixread", 50, 0, 100);
        IoJob.requestSize = requestSize;
        IoJob.depth = depth;
        IoJob.jobs = jobs;
        IoJob.flushInterval = (int) Cmdline.number("fsync", 0, 0, Integer.MAX_VALUE);
        IoJob.seed = DiskOptions.seed;
        IoJob.firstByte = DiskOptions.firstByte;
        IoJob.sizeBytes = DiskOptions.sizeBytes;
        IoJob.limit = Cmdline.number("ios", 0, 0, Long.MAX_VALUE);
        long runtime = Cmdline.number("runtime", 1, 0, 1_000_000);
        IoJob.runNanos = (runtime == 0 ? 1_000_000 : runtime) * NANOS;
        IoJob.rampNanos = Cmdline.number("ramp_time", 0, 0, 1_000_000) * NANOS;
        IoJob.prepare();
        DiskOptions.describe(disk);
        openResults();
        Smp.run(IoJob::run, jobs);
        closeResults(disk);
        report();
        return Exit.OK;
    }

    private static int workload() {
        if (!Cmdline.has("rw") || Cmdline.is("rw", "randread")) {
            return IoJob.RANDOM_READ;
        }
        if (Cmdline.is("rw", "read")) {
            return IoJob.READ_ONLY;
        }
        if (Cmdline.is("rw", "write")) {
            return IoJob.WRITE_ONLY;
        }
        if (Cmdline.is("rw", "randwrite")) {
            return IoJob.RANDOM_WRITE;
        }
        if (Cmdline.is("rw", "rw")) {
            return IoJob.MIXED;
        }
        if (!Cmdline.is("rw", "randrw")) {
            Exit.fail(Exit.BAD_PARAMETER, "rw= must be read, write, randread, randwrite, rw or randrw");
        }
        return IoJob.RANDOM_MIXED;
    }

    private static void check(long disk, int workload, int requestSize, int jobs) {
        if (requestSize % Disk.blockSize(disk) != 0) {
            Exit.fail(Exit.BAD_PARAMETER, "bs= must be a multiple of the disk's block size");
        }
        if (DiskOptions.sizeBytes / requestSize < jobs) {
            Exit.fail(Exit.BAD_PARAMETER, "size= must hold a block for every job");
        }
        if (Disk.queues(disk) < jobs) {
            Exit.fail(Exit.NO_DEVICE, "numjobs= is more than the disk has queues");
        }
        if (workload != IoJob.READ_ONLY && workload != IoJob.RANDOM_READ && !Disk.can(disk, Disk.WRITE)) {
            Exit.fail(Exit.BAD_PARAMETER, "the disk is read-only, rw= asks for writes");
        }
    }

    private static void openResults() {
        long page = GuestLayout.RESULTS;
        Guest.fill8(page, 0, GuestLayout.RESULTS_SIZE);
        Guest.store64(page + DiskBenchLayout.MAGIC, DiskBenchLayout.MAGIC_VALUE);
        Guest.store32(page + DiskBenchLayout.VERSION, DiskBenchLayout.VERSION_VALUE);
        Guest.store32(page + DiskBenchLayout.WORKLOAD, IoJob.workload);
        Guest.store32(page + DiskBenchLayout.MIX_READ, IoJob.mixRead);
        Guest.store64(page + DiskBenchLayout.REQUEST_SIZE, IoJob.requestSize);
        Guest.store32(page + DiskBenchLayout.DEPTH, IoJob.depth);
        Guest.store32(page + DiskBenchLayout.JOBS, IoJob.jobs);
        Guest.store32(page + DiskBenchLayout.FLAGS, DiskOptions.flags);
        Guest.store32(page + DiskBenchLayout.DISK, DiskOptions.index);
        Guest.store64(page + DiskBenchLayout.SEED, DiskOptions.seed);
        Guest.store64(page + DiskBenchLayout.OFFSET, IoJob.firstByte);
        Guest.store64(page + DiskBenchLayout.SIZE, IoJob.sizeBytes);
        Guest.store64(page + DiskBenchLayout.TSC_KHZ, Tsc.khz());
        Latency.open(page + DiskBenchLayout.READ);
        Latency.open(page + DiskBenchLayout.WRITE);
        Guest.store32Release(page + DiskBenchLayout.STATE, DiskBenchLayout.STATE_RUNNING);
    }

    private static void closeResults(long disk) {
        long page = GuestLayout.RESULTS;
        long interrupts = 0;
        long missed = 0;
        long notifications = 0;
        long flushes = 0;
        for (int i = 0; i < IoJob.jobs; i++) {
            Latency.merge(page + DiskBenchLayout.READ, IoJob.stats(i, Disk.READ));
            Latency.merge(page + DiskBenchLayout.WRITE, IoJob.stats(i, Disk.WRITE));
            flushes += IoJob.flushes(i);
        }
        for (int queue = 0; queue < Disk.queues(disk); queue++) {
            interrupts += Disk.interrupts(disk, queue);
            missed += Disk.missedInterrupts(disk, queue);
            notifications += Disk.notifications(disk, queue);
        }
        Guest.store64(page + DiskBenchLayout.ELAPSED_NANOS, IoJob.elapsedNanos());
        Guest.store64(page + DiskBenchLayout.INTERRUPTS, interrupts);
        Guest.store64(page + DiskBenchLayout.MISSED_INTERRUPTS, missed);
        Guest.store64(page + DiskBenchLayout.NOTIFICATIONS, notifications);
        Guest.store64(page + DiskBenchLayout.FLUSHES, flushes);
        Guest.store32(page + DiskBenchLayout.QUEUES, Disk.queues(disk));
        Guest.store32Volatile(page + DiskBenchLayout.STATE, DiskBenchLayout.STATE_COMPLETE);
    }

    private static void report() {
        long page = GuestLayout.RESULTS;
        summary("read", page + DiskBenchLayout.READ);
        summary("write", page + DiskBenchLayout.WRITE);
        Console.println("@@benchtop:result:begin");
        Console.print("{\"program\":\"diskbench\",\"rw\":\"");
        printWorkload(IoJob.workload);
        Console.print("\"");
        member("rwmixread", IoJob.mixRead);
        member("bs", IoJob.requestSize);
        member("iodepth", IoJob.depth);
        member("numjobs", IoJob.jobs);
        member("queues", Guest.load32(page + DiskBenchLayout.QUEUES));
        member("poll", Disk.polled(IoJob.disk) ? 1 : 0);
        member("disk", DiskOptions.index);
        member("seed", DiskOptions.seed);
        member("offset", IoJob.firstByte);
        member("size", IoJob.sizeBytes);
        member("tsc_khz", Tsc.khz());
        member("elapsed_ns", Guest.load64(page + DiskBenchLayout.ELAPSED_NANOS));
        member("interrupts", Guest.load64(page + DiskBenchLayout.INTERRUPTS));
        member("missed_interrupts", Guest.load64(page + DiskBenchLayout.MISSED_INTERRUPTS));
        member("notifications", Guest.load64(page + DiskBenchLayout.NOTIFICATIONS));
        member("flushes", Guest.load64(page + DiskBenchLayout.FLUSHES));
        Console.print(",\"read\":");
        direction(page + DiskBenchLayout.READ);
        Console.print(",\"write\":");
        direction(page + DiskBenchLayout.WRITE);
        Console.println("}");
        Console.println("@@benchtop:result:end");
    }

    private static void printWorkload(int workload) {
        switch (workload) {
            case IoJob.READ_ONLY -> Console.print("read");
            case IoJob.WRITE_ONLY -> Console.print("write");
            case IoJob.RANDOM_READ -> Console.print("randread");
            case IoJob.RANDOM_WRITE -> Console.print("randwrite");
            case IoJob.MIXED -> Console.print("rw");
            default -> Console.print("randrw");
        }
    }

    private static void member(String name, long value) {
        Console.print(",\"");
        Console.print(name);
        Console.print("\":");
        Console.printDecimal(value);
    }

    private static void direction(long block) {
        long ios = Guest.load64(block + DiskBenchLayout.IOS);
        Console.print("{\"ios\":");
        Console.printDecimal(ios);
        member("bytes", Guest.load64(block + DiskBenchLayout.BYTES));
        member("iops", perSecond(ios));
        member("bytes_per_second", perSecond(Guest.load64(block + DiskBenchLayout.BYTES)));
        latency("slat_ns", block + DiskBenchLayout.SUBMISSION, ios);
        latency("clat_ns", block + DiskBenchLayout.COMPLETION, ios);
        Console.print("}");
    }

    private static void latency(String name, long block, long ios) {
        Console.print(",\"");
        Console.print(name);
        Console.print("\":{\"min\":");
        Console.printDecimal(ios == 0 ? 0 : Guest.load64(block + DiskBenchLayout.MINIMUM));
        member("mean", Latency.mean(block, ios));
        member("max", Guest.load64(block + DiskBenchLayout.MAXIMUM));
        member("stdev", Latency.deviation(block, ios));
        member("p50", Latency.percentile(block, ios, 5000));
        member("p90", Latency.percentile(block, ios, 9000));
        member("p99", Latency.percentile(block, ios, 9900));
        member("p999", Latency.percentile(block, ios, 9990));
        Console.print("}");
    }

    /** {@code count} over the elapsed time, without overflow up to 2^63 / 1000. */
    private static long perSecond(long count) {
        long micros = Math.max(Guest.load64(GuestLayout.RESULTS + DiskBenchLayout.ELAPSED_NANOS) / 1000, 1);
        return count / micros * 1_000_000 + count % micros * 1_000_000 / micros;
    }

    private static void summary(String name, long block) {
        long ios = Guest.load64(block + DiskBenchLayout.IOS);
        if (ios == 0) {
            return;
        }
        Console.print(name);
        Console.print(": ");
        Console.printDecimal(ios);
        Console.print(" requests, ");
        Console.printDecimal(perSecond(ios));
        Console.print(" IOPS, ");
        Console.printFixed(perSecond(Guest.load64(block + DiskBenchLayout.BYTES)) / 10_000, 2);
        Console.print(" MB/s, clat mean ");
        Console.printFixed(Latency.mean(block + DiskBenchLayout.COMPLETION, ios) / 10, 2);
        Console.print(" us, p99 ");
        Console.printFixed(Latency.percentile(block + DiskBenchLayout.COMPLETION, ios, 9900) / 10, 2);
        Console.println(" us");
    }
}
