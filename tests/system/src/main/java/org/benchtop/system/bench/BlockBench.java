package org.benchtop.system.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Random;
import java.util.regex.Pattern;
import org.benchtop.engine.linux.LinuxHost;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.engine.stats.EntryStats;
import org.benchtop.engine.stats.MachineStats;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockContext;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.host.HostFileOptions;
import org.benchtop.spi.host.HostServices;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageOpen;

/**
 * Compares the block layer, without a machine, with {@code fio} and {@code qemu-img} on the same files, in turns, and
 * prints the ratio of every pair: above 1 is better than theirs.
 */
public final class BlockBench {
    private static final long IMAGE_BYTES = 1L << 30;
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Path folder;
    private final Path launcher;
    private final int rounds;
    private final double seconds;
    private final Pattern wanted;
    private final PluginRegistry plugins = PluginRegistry.builtIn();
    private final BlockContext context = new Context();

    private BlockBench(Path launcher, int rounds, double seconds, String cells, Path folder) {
        this.launcher = launcher;
        this.rounds = rounds;
        this.seconds = seconds;
        this.wanted = Pattern.compile(cells);
        this.folder = folder;
    }

    /** One side of a comparison: requests or bytes per second, and CPU microseconds per request, 0 where unknown. */
    private record Sample(double rate, double cpuMicros) {}

    /** A way to get a sample. */
    private interface Side {
        Sample run() throws IOException, InterruptedException;
    }

    private static final class Context implements BlockContext {
        private final EntryStats stats = new MachineStats().entry("bench");
        private final LinuxHost host = new LinuxHost();

        @Override
        public String id() {
            return "bench";
        }

        @Override
        public Path resolve(Path path) {
            return path;
        }

        @Override
        public EntryStats stats() {
            return stats;
        }

        @Override
        public System.Logger logger() {
            return System.getLogger("org.benchtop.bench");
        }

        @Override
        public HostServices host() {
            return host;
        }

        @Override
        public BlockBackend drive(String name) {
            throw BenchtopException.config("there is no drive \"" + name + "\"");
        }
    }

    // Tools.

    private static String run(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        int exitCode = process.waitFor();
        if (exitCode != 0) {
            throw new IOException(String.join(" ", command) + ": exit code " + exitCode + "\n" + output);
        }
        return output;
    }

    /** Seconds of wall time and of CPU of a process. */
    private static double[] time(String... command) throws IOException, InterruptedException {
        List<String> timed = new ArrayList<>(List.of("bash", "-c", "TIMEFORMAT='%R %U %S'; time \"$@\"", "bash"));
        timed.addAll(List.of(command));
        String output = run(timed.toArray(String[]::new));
        String[] lines = output.strip().split("\n");
        String[] words = lines[lines.length - 1].split(" ");
        return new double[] {Double.parseDouble(words[0]), Double.parseDouble(words[1]) + Double.parseDouble(words[2])};
    }

    private Sample fio(Path file, String engine, String pattern, int bytes, int depth)
            throws IOException, InterruptedException {
        boolean threads = engine.equals("psync");
        String output = run(
                "fio",
                "--name=x",
                "--filename=" + file,
                "--rw=" + pattern,
                "--bs=" + bytes,
                "--direct=1",
                "--ioengine=" + engine,
                "--iodepth=" + (threads ? 1 : depth),
                "--numjobs=" + (threads ? depth : 1),
                "--thread",
                "--group_reporting",
                "--time_based",
                "--runtime=" + seconds,
                "--norandommap",
                "--randrepeat=0",
                "--gtod_reduce=1",
                "--output-format=json");
        JsonNode job =
                JSON.readTree(output.substring(output.indexOf('{'))).get("jobs").get(0);
        double iops = job.get("read").get("iops").asDouble();
        double cpu = job.get("usr_cpu").asDouble() + job.get("sys_cpu").asDouble();
        // fio gives the average of its jobs, in percent of one CPU.
        return new Sample(iops, cpu / 100 * (threads ? depth : 1) * 1e6 / iops);
    }

    private static Sample qemuImgBench(Path file, String format, BlockLoad.Pattern p, long requests, String... options)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                "qemu-img",
                "bench",
                "-f",
                format,
                "-c",
                Long.toString(requests),
                "-d",
                Integer.toString(p.depth()),
                "-s",
                Integer.toString(p.bytes()),
                "-S",
                Long.toString(p.stride())));
        if (p.write()) {
            command.add("-w");
        }
        command.addAll(List.of(options));
        command.add(file.toString());
        double[] took = time(command.toArray(String[]::new));
        return new Sample(requests / took[0], took[1] * 1e6 / requests);
    }

    private Image open(Path file, String format, boolean writable, CacheMode cache, String aio) {
        HostFileOptions.Aio engine =
                HostFileOptions.Aio.valueOf(aio.toUpperCase(Locale.ROOT).replace('-', '_'));
        return plugins.imageFormat(format)
                .open(ImageOpen.readOnly(file).writable(writable).cache(cache).aio(engine, 16), context);
    }

    private Sample ours(
            Path file,
            String format,
            CacheMode cache,
            String aio,
            BlockLoad.Pattern p,
            long requests,
            double forSeconds) {
        try (Image image = open(file, format, p.write(), cache, aio)) {
            BlockLoad.Result result = BlockLoad.run(image, p, requests, forSeconds);
            return new Sample(result.perSecond(), result.cpuMicros());
        }
    }

    // Cells.

    private void compare(String cell, double goal, Side ours, Side theirs) throws IOException, InterruptedException {
        if (!wanted.matcher(cell).find()) {
            return;
        }
        // The first of ours warms the code up; the first of theirs the disk.
        ours.run();
        theirs.run();
        List<Sample> mine = new ArrayList<>();
        List<Sample> other = new ArrayList<>();
        double[] ratios = new double[rounds];
        double[] cpuRatios = new double[rounds];
        for (int i = 0; i < rounds; i++) {
            Sample a;
            Sample b;
            if (i % 2 == 0) {
                a = ours.run();
                b = theirs.run();
            } else {
                b = theirs.run();
                a = ours.run();
            }
            mine.add(a);
            other.add(b);
            ratios[i] = a.rate / b.rate;
            cpuRatios[i] = b.cpuMicros == 0 ? 0 : a.cpuMicros / b.cpuMicros;
        }
        double ratio = median(ratios);
        System.out.printf(
                Locale.ROOT,
                "%-34s %10.0f %10.0f  %5.2f (%.2f–%.2f)  %s %.2f  %8.2f %8.2f  %5.2f%n",
                cell,
                median(mine.stream().mapToDouble(Sample::rate).toArray()),
                median(other.stream().mapToDouble(Sample::rate).toArray()),
                ratio,
                ratios[0],
                ratios[ratios.length - 1],
                ratio >= goal ? "≥" : "<",
                goal,
                median(mine.stream().mapToDouble(Sample::cpuMicros).toArray()),
                median(other.stream().mapToDouble(Sample::cpuMicros).toArray()),
                median(cpuRatios));
    }

    /** The median; sorts. */
    private static double median(double[] values) {
        Arrays.sort(values);
        return values[values.length / 2];
    }

    private void all() throws IOException, InterruptedException {
        Path raw = folder.resolve("data.raw");
        fill(raw);
        System.out.println(
                "cell                               ours /s    theirs /s  ratio (min–max)     goal   CPU µs each"
                        + "         CPU ratio");
        for (String engine : List.of("io_uring", "native", "threads")) {
            String fio = engine.equals("native") ? "libaio" : engine.equals("threads") ? "psync" : engine;
            for (int depth : new int[] {1, 16, 64}) {
                if (engine.equals("threads") && depth == 64) {
                    continue;
                }
                BlockLoad.Pattern random = new BlockLoad.Pattern(false, 4096, depth, 0);
                compare(
                        "raw " + engine + " 4k randread qd" + depth + " : fio",
                        1.0,
                        () -> ours(raw, "raw", CacheMode.NONE, engine, random, Long.MAX_VALUE, seconds),
                        () -> fio(raw, fio, "randread", 4096, depth));
            }
            BlockLoad.Pattern big = new BlockLoad.Pattern(false, 1 << 20, 4, 1 << 20);
            compare(
                    "raw " + engine + " 1M read qd4 : fio",
                    1.0,
                    () -> ours(raw, "raw", CacheMode.NONE, engine, big, Long.MAX_VALUE, seconds),
                    () -> fio(raw, fio, "read", 1 << 20, 4));
        }
        qcow2(raw);
        convert(raw);
    }

    private void qcow2(Path raw) throws IOException, InterruptedException {
        Path allocated = folder.resolve("data.qcow2");
        run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw.toString(), allocated.toString());
        for (CacheMode cache : List.of(CacheMode.NONE, CacheMode.WRITEBACK)) {
            String mode = cache.name().toLowerCase(Locale.ROOT);
            for (int depth : new int[] {1, 16, 64}) {
                BlockLoad.Pattern random = new BlockLoad.Pattern(false, 4096, depth, 0);
                compare(
                        "qcow2 " + mode + " 4k randread qd" + depth + " : our raw",
                        0.95,
                        () -> ours(allocated, "qcow2", cache, "io_uring", random, Long.MAX_VALUE, seconds),
                        () -> ours(raw, "raw", cache, "io_uring", random, Long.MAX_VALUE, seconds));
            }
            // qemu-img bench cannot do random places: steps of 17 blocks instead, for both.
            BlockLoad.Pattern scattered = new BlockLoad.Pattern(false, 4096, 64, 17 * 4096);
            long requests = (long) (60_000 * seconds);
            compare(
                    "qcow2 " + mode + " 4k scattered read : qemu-img",
                    1.0,
                    () -> ours(allocated, "qcow2", cache, "io_uring", scattered, requests, 60),
                    () -> qemuImgBench(allocated, "qcow2", scattered, requests, "-t", mode, "-i", "io_uring", "-U"));
        }
        Path fresh = folder.resolve("fresh.qcow2");
        for (int bytes : new int[] {4096, 65536}) {
            BlockLoad.Pattern allocating = new BlockLoad.Pattern(true, bytes, 64, 65536);
            long requests = IMAGE_BYTES / 65536 / 4;
            for (CacheMode cache : List.of(CacheMode.NONE, CacheMode.WRITEBACK)) {
                String mode = cache.name().toLowerCase(Locale.ROOT);
                compare(
                        "qcow2 " + mode + " " + bytes / 1024 + "k allocating write : qemu-img",
                        1.0,
                        () -> {
                            create(fresh);
                            return ours(fresh, "qcow2", cache, "io_uring", allocating, requests, 600);
                        },
                        () -> {
                            create(fresh);
                            return qemuImgBench(fresh, "qcow2", allocating, requests, "-t", mode, "-i", "io_uring");
                        });
            }
        }
        Files.deleteIfExists(fresh);
    }

    private static void create(Path file) throws IOException, InterruptedException {
        Files.deleteIfExists(file);
        run("qemu-img", "create", "-f", "qcow2", file.toString(), Long.toString(IMAGE_BYTES));
    }

    private void convert(Path raw) throws IOException, InterruptedException {
        Path half = folder.resolve("half.raw");
        Path halfQcow2 = folder.resolve("half.qcow2");
        Path small = folder.resolve("small.raw");
        Path out = folder.resolve("out.img");
        sparse(raw, half, IMAGE_BYTES);
        sparse(raw, small, IMAGE_BYTES / 32);
        run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", half.toString(), halfQcow2.toString());
        Path allocated = folder.resolve("data.qcow2");
        convert("raw → qcow2 1 GiB full", raw, "raw", out, "qcow2", IMAGE_BYTES);
        convert("qcow2 → raw 1 GiB full", allocated, "qcow2", out, "raw", IMAGE_BYTES);
        convert("raw → qcow2 1 GiB half empty", half, "raw", out, "qcow2", IMAGE_BYTES);
        convert("qcow2 → raw 1 GiB half empty", halfQcow2, "qcow2", out, "raw", IMAGE_BYTES);
        convert("raw → qcow2 32 MiB half empty", small, "raw", out, "qcow2", IMAGE_BYTES / 32);
        Files.deleteIfExists(out);
    }

    private void convert(String name, Path from, String fromFormat, Path to, String toFormat, long bytes)
            throws IOException, InterruptedException {
        String[] arguments = {"-f", fromFormat, "-O", toFormat, from.toString(), to.toString()};
        List<String> ours = new ArrayList<>(List.of(launcher.toString(), "image", "convert"));
        ours.addAll(List.of(arguments));
        List<String> theirs = new ArrayList<>(List.of("qemu-img", "convert", "-W"));
        theirs.addAll(List.of(arguments));
        compare("convert " + name + ", B/s", 1.0, () -> converted(ours, to, bytes), () -> converted(theirs, to, bytes));
    }

    private static Sample converted(List<String> command, Path to, long bytes)
            throws IOException, InterruptedException {
        Files.deleteIfExists(to);
        double[] took = time(command.toArray(String[]::new));
        return new Sample(bytes / took[0], took[1] * 1e6);
    }

    // Files.

    private static void fill(Path file) throws IOException {
        if (Files.exists(file) && Files.size(file) == IMAGE_BYTES) {
            return;
        }
        byte[] block = new byte[1 << 20];
        Random random = new Random(1);
        try (OutputStream out = Files.newOutputStream(file)) {
            for (long at = 0; at < IMAGE_BYTES; at += block.length) {
                random.nextBytes(block);
                out.write(block);
            }
        }
    }

    /** A file of which every second stretch of 256 KiB is a hole. */
    private static void sparse(Path from, Path to, long bytes) throws IOException, InterruptedException {
        Files.deleteIfExists(to);
        run("truncate", "-s", Long.toString(bytes), to.toString());
        String script = "set -e; for i in $(seq 0 2 " + (bytes / (256 << 10) - 1)
                + "); do dd if=\"$1\" of=\"$2\" bs=256k count=1 skip=$i seek=$i conv=notrunc status=none; done";
        run("bash", "-c", script, "bash", from.toString(), to.toString());
    }

    /** Arguments: launcher, rounds, seconds, a regular expression that chooses cells, a folder. */
    public static void main(String[] args) throws IOException, InterruptedException {
        int rounds = args.length > 1 ? Integer.parseInt(args[1]) : 5;
        double seconds = args.length > 2 ? Double.parseDouble(args[2]) : 2;
        String cells = args.length > 3 ? args[3] : ".";
        Optional<Path> given = args.length > 4 ? Optional.of(Path.of(args[4])) : Optional.empty();
        Path folder =
                given.isPresent() ? Files.createDirectories(given.get()) : Files.createTempDirectory("benchtop-block");
        System.out.printf(
                Locale.ROOT,
                "%d rounds, %.1f s each, in %s, load %s%n",
                rounds,
                seconds,
                folder,
                Files.readString(Path.of("/proc/loadavg")).strip());
        try {
            new BlockBench(Path.of(args[0]).toAbsolutePath(), rounds, seconds, cells, folder).all();
        } finally {
            if (given.isEmpty()) {
                try (var files = Files.list(folder)) {
                    for (Path file : (Iterable<Path>) files::iterator) {
                        Files.delete(file);
                    }
                }
                Files.delete(folder);
            }
        }
    }
}
