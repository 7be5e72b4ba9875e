package org.benchtop.engine.linux;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import org.benchtop.spi.host.FileOperation;
import org.benchtop.spi.host.HostFile;
import org.benchtop.spi.host.HostFileOptions;
import org.benchtop.spi.host.HostFileQueue;

/**
 * Random 4 KiB reads through {@link LinuxHost} against fio with the engine that matches, interleaved on the same file.
 *
 * <p>Arguments: FILE (made if missing, 256 MiB) [repeats] [seconds] [direct|cached] [threads|native|io_uring]. Not a test: it needs fio and a
 * machine that is otherwise idle.
 */
final class FileReadBenchmark {
    private static final int BLOCK = 4096;
    private static final long FILE_BYTES = 256L << 20;

    private FileReadBenchmark() {}

    private record Figures(double iops, double cpuMicrosPerRead) {}

    public static void main(String[] args) throws Exception {
        Path file = Path.of(args[0]);
        int repeats = args.length > 1 ? Integer.parseInt(args[1]) : 5;
        int seconds = args.length > 2 ? Integer.parseInt(args[2]) : 3;
        boolean direct = args.length <= 3 || args[3].equals("direct");
        prepare(file);
        for (HostFileOptions.Aio aio :
                List.of(HostFileOptions.Aio.THREADS, HostFileOptions.Aio.NATIVE, HostFileOptions.Aio.IO_URING)) {
            boolean wanted = args.length <= 4 || aio.name().equalsIgnoreCase(args[4]);
            if (!wanted || aio == HostFileOptions.Aio.NATIVE && !direct) {
                continue;
            }
            for (int depth : new int[] {1, 32}) {
                // Once for the compilers.
                run(file, aio, depth, seconds, direct);
                List<Figures> ours = new ArrayList<>();
                List<Figures> fio = new ArrayList<>();
                for (int i = 0; i < repeats; i++) {
                    ours.add(run(file, aio, depth, seconds, direct));
                    fio.add(runFio(file, aio, depth, seconds, direct));
                }
                report(aio, depth, ours, fio);
            }
        }
    }

    private static void prepare(Path file) throws IOException {
        if (Files.exists(file) && Files.size(file) == FILE_BYTES) {
            return;
        }
        byte[] block = new byte[1 << 20];
        try (var out = Files.newOutputStream(file)) {
            for (long done = 0; done < FILE_BYTES; done += block.length) {
                Arrays.fill(block, (byte) (done >> 20 | 1));
                out.write(block);
            }
        }
        new ProcessBuilder("sync").start();
    }

    private static void report(HostFileOptions.Aio aio, int depth, List<Figures> ours, List<Figures> fio) {
        double a = median(ours.stream().mapToDouble(Figures::iops).toArray());
        double b = median(fio.stream().mapToDouble(Figures::iops).toArray());
        double c = median(ours.stream().mapToDouble(Figures::cpuMicrosPerRead).toArray());
        double d = median(fio.stream().mapToDouble(Figures::cpuMicrosPerRead).toArray());
        System.out.printf(
                Locale.ROOT,
                "%-8s qd%-3d  ours %8.0f IOPS %6.2f us CPU   fio %8.0f IOPS %6.2f us CPU   IOPS ratio %.2f  CPU ratio %.2f%n",
                aio,
                depth,
                a,
                c,
                b,
                d,
                a / b,
                c / d);
    }

    private static double median(double[] values) {
        Arrays.sort(values);
        return values[values.length / 2];
    }

    private static Figures run(Path file, HostFileOptions.Aio aio, int depth, int seconds, boolean direct)
            throws InterruptedException {
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        HostFileOptions options =
                new HostFileOptions(file, false, false, direct, false, HostFileOptions.Lock.NONE, aio, depth);
        try (LinuxEventLoop loop = LinuxEventLoop.start("bench");
                HostFile disk = new LinuxHost().openFile(options);
                HostFileQueue queue = disk.openQueue(loop)) {
            Load load = new Load(queue, depth);
            loop.call(load::start);
            Thread.sleep(1000);
            long reads = load.reads();
            long cpu = system.getProcessCpuTime();
            long start = System.nanoTime();
            Thread.sleep(seconds * 1000L);
            reads = load.reads() - reads;
            cpu = system.getProcessCpuTime() - cpu;
            double elapsed = (System.nanoTime() - start) / 1e9;
            load.stop();
            return new Figures(reads / elapsed, cpu / 1e3 / reads);
        }
    }

    /** Keeps a number of reads in flight. Its state belongs to the loop. */
    private static final class Load {
        private final HostFileQueue queue;
        private final List<FileOperation> operations = new ArrayList<>();
        private final CountDownLatch idle;
        private long random = 42;
        private volatile long reads;
        private volatile boolean stopped;

        Load(HostFileQueue queue, int depth) {
            this.queue = queue;
            this.idle = new CountDownLatch(depth);
            MemorySegment buffers = Arena.ofAuto().allocate((long) depth * BLOCK, BLOCK);
            for (int i = 0; i < depth; i++) {
                FileOperation operation = new FileOperation(this::completed);
                operation.vector().add(buffers, (long) i * BLOCK, BLOCK);
                operations.add(operation);
            }
        }

        void start() {
            operations.forEach(this::submit);
            queue.kick();
        }

        private void submit(FileOperation operation) {
            random = random * 6364136223846793005L + 1442695040888963407L;
            operation.set(FileOperation.Kind.READ, (random >>> 33) % (FILE_BYTES / BLOCK) * BLOCK, BLOCK);
            queue.submit(operation);
        }

        @SuppressWarnings("NonAtomicVolatileUpdate") // one writer
        private void completed(FileOperation operation, long result) {
            if (result != BLOCK) {
                throw new IllegalStateException("read gave " + result);
            }
            reads++;
            if (stopped) {
                idle.countDown();
            } else {
                submit(operation);
                queue.kick();
            }
        }

        long reads() {
            return reads;
        }

        void stop() throws InterruptedException {
            stopped = true;
            idle.await();
        }
    }

    private static Figures runFio(Path file, HostFileOptions.Aio aio, int depth, int seconds, boolean direct)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                "fio",
                "--name=b",
                "--filename=" + file,
                "--rw=randread",
                "--bs=4k",
                "--size=" + FILE_BYTES,
                "--time_based",
                "--runtime=" + seconds,
                "--ramp_time=1",
                "--direct=" + (direct ? 1 : 0),
                "--invalidate=0",
                "--norandommap",
                "--randrepeat=0",
                "--gtod_reduce=1",
                "--group_reporting",
                "--output-format=json"));
        switch (aio) {
            case THREADS -> command.addAll(List.of("--ioengine=psync", "--thread", "--numjobs=" + depth));
            case NATIVE -> command.addAll(List.of("--ioengine=libaio", "--iodepth=" + depth));
            case IO_URING -> command.addAll(List.of("--ioengine=io_uring", "--iodepth=" + depth));
            case AUTO -> throw new IllegalArgumentException("fio has no engine auto");
        }
        Process process = new ProcessBuilder(command).start();
        JsonNode job = new ObjectMapper().readTree(process.getInputStream()).at("/jobs/0");
        process.waitFor();
        double iops = job.at("/read/iops").asDouble();
        double cpuPercent = job.at("/usr_cpu").asDouble() + job.at("/sys_cpu").asDouble();
        // With group reporting the percentages are of one job's time.
        double jobs = aio == HostFileOptions.Aio.THREADS ? depth : 1;
        return new Figures(iops, cpuPercent / 100 * 1e6 * jobs / iops);
    }
}
