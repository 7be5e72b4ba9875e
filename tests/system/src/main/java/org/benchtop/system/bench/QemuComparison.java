package org.benchtop.system.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineExit;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.spi.chardev.ConsoleBuffer;

/**
 * Runs the same exported {@code diskbench} ELF on the same raw file under Benchtop and {@code qemu-system-x86_64 -accel
 * kvm} with virtio-blk-pci, one vCPU and one I/O thread, interleaved in random order, and prints the ratios.
 *
 * <p>Host CPU per request is taken inside the measured phase, from {@code /proc/PID/stat} of the whole process.
 */
public final class QemuComparison {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int RAMP_SECONDS = 2;
    private static final int TICKS_PER_SECOND = 100;
    private static final String RESULT_BEGIN = "@@benchtop:result:begin";
    private static final String STARTED = "disk 0:";

    private final Path file;
    private final Path elf;
    private final int runtimeSeconds;
    private final String aio;
    private final long tscKilohertz;

    private QemuComparison(Path file, Path elf, int runtimeSeconds, String aio, long tscKilohertz) {
        this.file = file;
        this.elf = elf;
        this.runtimeSeconds = runtimeSeconds;
        this.aio = aio;
        this.tscKilohertz = tscKilohertz;
    }

    private record Cell(String cache, String rw, int depth) {
        @Override
        public String toString() {
            return String.format(Locale.ROOT, "%-9s %-9s qd%-2d", cache, rw, depth);
        }
    }

    private record Sample(double iops, double cpuMicrosPerRequest, double p50Micros, double p99Micros) {}

    /** Where the process's CPU time is read, and when. */
    private final class CpuWindow {
        private final long pid;
        private final Thread sampler;
        private double cpuSeconds;
        private double wallSeconds;

        CpuWindow(long pid) {
            this.pid = pid;
            this.sampler = Thread.ofPlatform().daemon(true).start(this::sample);
        }

        private void sample() {
            try {
                TimeUnit.MILLISECONDS.sleep(RAMP_SECONDS * 1000L + 200);
                double cpu = cpuSeconds(pid);
                long start = System.nanoTime();
                TimeUnit.MILLISECONDS.sleep(runtimeSeconds * 1000L - 400);
                cpuSeconds = cpuSeconds(pid) - cpu;
                wallSeconds = (System.nanoTime() - start) / 1e9;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        double microsPerRequest(double iops) throws InterruptedException {
            sampler.join();
            return cpuSeconds / wallSeconds / iops * 1e6;
        }
    }

    private static double cpuSeconds(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            return (double) (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) / TICKS_PER_SECOND;
        } catch (IOException e) {
            return Double.NaN;
        }
    }

    private String cmdline(Cell cell) {
        return "rw=" + cell.rw + " bs=4k iodepth=" + cell.depth + " ramp_time=" + RAMP_SECONDS + " runtime="
                + runtimeSeconds;
    }

    private static Sample parse(String resultLine, CpuWindow cpu) throws IOException, InterruptedException {
        JsonNode result = JSON.readTree(resultLine);
        JsonNode side = result.get(result.get("read").get("ios").asLong() > 0 ? "read" : "write");
        double iops = side.get("iops").asDouble();
        return new Sample(
                iops,
                cpu.microsPerRequest(iops),
                side.get("clat_ns").get("p50").asDouble() / 1e3,
                side.get("clat_ns").get("p99").asDouble() / 1e3);
    }

    private Sample benchtop(Cell cell) throws IOException, InterruptedException {
        String yaml = """
                name: compare
                accel: kvm
                cpus: 1
                memory: 256MiB
                boot: { guest: diskbench, cmdline: "%s" }
                iothreads: [io0]
                drives:
                  d: { type: file, file: "%s", cache: %s, aio: %s }
                chardevs:
                  tty0: { type: memory }
                devices:
                  - { type: isa-serial, chardev: tty0 }
                  - { type: virtio-blk-pci, drive: d, iothread: io0 }
                """.formatted(cmdline(cell), file, cell.cache, aio);
        try (PluginRegistry plugins = PluginRegistry.builtIn();
                Machine machine = Machine.create(MachineSpec.parse(yaml), plugins)) {
            ConsoleBuffer console =
                    machine.chardev("tty0").orElseThrow().console().orElseThrow();
            machine.start();
            long seen = 0;
            while (!console.text(0).contains(STARTED)) {
                seen = console.awaitOutput(seen, Duration.ofSeconds(30));
            }
            CpuWindow cpu = new CpuWindow(ProcessHandle.current().pid());
            MachineExit exit = machine.awaitExit();
            String text = console.text(0);
            if (exit.exitCode() != 0) {
                throw new IOException("benchtop: " + exit.describe() + "\n" + text);
            }
            return parse(
                    text.substring(text.indexOf(RESULT_BEGIN))
                            .lines()
                            .skip(1)
                            .findFirst()
                            .orElseThrow(),
                    cpu);
        }
    }

    private Sample qemu(Cell cell) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("qemu-system-x86_64", "-accel", "kvm", "-M", "pc", "-m", "256"));
        command.addAll(List.of("-kernel", elf.toString(), "-append", cmdline(cell) + " tsc_khz=" + tscKilohertz));
        command.addAll(
                List.of("-display", "none", "-serial", "stdio", "-monitor", "none", "-no-reboot", "-nodefaults"));
        command.addAll(List.of("-device", "isa-debug-exit,iobase=0x501,iosize=4", "-object", "iothread,id=io0"));
        String qemuAio = aio.equals("auto") ? "io_uring" : aio;
        command.addAll(
                List.of("-drive", "if=none,id=d,format=raw,file=" + file + ",cache=" + cell.cache + ",aio=" + qemuAio));
        command.addAll(List.of("-device", "virtio-blk-pci,drive=d,disable-legacy=on,iothread=io0"));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        List<String> output = new ArrayList<>();
        String result = "";
        CpuWindow cpu = null;
        try (BufferedReader reader =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            boolean next = false;
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                output.add(line);
                if (line.contains(STARTED)) {
                    cpu = new CpuWindow(process.pid());
                }
                if (next) {
                    result = line;
                }
                next = line.startsWith(RESULT_BEGIN);
            }
        } finally {
            process.waitFor(10, TimeUnit.SECONDS);
            process.destroyForcibly();
        }
        if (cpu == null || result.isEmpty()) {
            throw new IOException("qemu gave no result: " + String.join("\n", output));
        }
        return parse(result, cpu);
    }

    private static double median(List<Sample> samples, java.util.function.ToDoubleFunction<Sample> value) {
        double[] sorted = samples.stream().mapToDouble(value).sorted().toArray();
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }

    private static List<Sample> of(Map<Cell, List<Sample>> samples, Cell cell) {
        return samples.getOrDefault(cell, List.of());
    }

    /**
     * Arguments: {@code [rounds [seconds [aio [cells [file]]]]]}; {@code cells} is a regular expression such as
     * {@code writeback.*qd1}, the file is created (512 MiB, written once) if it does not exist.
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 5;
        int seconds = args.length > 1 ? Integer.parseInt(args[1]) : 3;
        String aio = args.length > 2 ? args[2] : "threads";
        Path folder = Files.createTempDirectory(Path.of("").toAbsolutePath(), "qemu-comparison");
        Pattern cells = Pattern.compile(args.length > 3 ? args[3] : "");
        Path file = args.length > 4 ? Path.of(args[4]).toAbsolutePath() : folder.resolve("disk.img");
        Path elf = folder.resolve("diskbench.elf");
        try (PluginRegistry plugins = PluginRegistry.builtIn()) {
            Files.write(elf, plugins.guestProgram("diskbench").elf());
        }
        if (Files.notExists(file)) {
            fill(file);
        }
        try {
            QemuComparison comparison = new QemuComparison(file, elf, seconds, aio, tscKilohertz());
            comparison.run(rounds, cells);
        } finally {
            Files.delete(elf);
            if (args.length <= 4) {
                Files.delete(file);
            }
            Files.delete(folder);
        }
    }

    private static void fill(Path file) throws IOException {
        byte[] block = new byte[1 << 20];
        new Random(1).nextBytes(block);
        try (var out = Files.newOutputStream(file)) {
            for (int i = 0; i < 512; i++) {
                out.write(block);
            }
        }
    }

    private static long tscKilohertz() {
        String yaml = "{name: tsc, accel: kvm, memory: 64MiB, boot: none}";
        try (PluginRegistry plugins = PluginRegistry.builtIn();
                Machine machine = Machine.create(MachineSpec.parse(yaml), plugins)) {
            return machine.vcpus().getFirst().tscKilohertz().orElseThrow();
        }
    }

    private void run(int rounds, Pattern wanted) throws IOException, InterruptedException {
        List<Cell> cells = new ArrayList<>();
        for (String cache : List.of("none", "writeback")) {
            for (String rw : List.of("randread", "randwrite")) {
                for (int depth : List.of(1, 32)) {
                    cells.add(new Cell(cache, rw, depth));
                }
            }
        }
        cells.removeIf(cell -> !wanted.matcher(cell.toString()).find());
        Map<Cell, List<Sample>> ours = new LinkedHashMap<>();
        Map<Cell, List<Sample>> theirs = new LinkedHashMap<>();
        Random random = new Random(1);
        for (int round = 0; round < rounds; round++) {
            Collections.shuffle(cells, random);
            for (Cell cell : cells) {
                boolean oursFirst = random.nextBoolean();
                for (int turn = 0; turn < 2; turn++) {
                    boolean benchtop = oursFirst == (turn == 0);
                    Sample sample = benchtop ? benchtop(cell) : qemu(cell);
                    (benchtop ? ours : theirs)
                            .computeIfAbsent(cell, c -> new ArrayList<>())
                            .add(sample);
                    System.err.printf(
                            Locale.ROOT,
                            "round %d/%d %s %-8s %,9.0f IOPS %7.2f us CPU/request, clat p50 %.1f p99 %.1f us%n",
                            round + 1,
                            rounds,
                            cell,
                            benchtop ? "benchtop" : "qemu",
                            sample.iops,
                            sample.cpuMicrosPerRequest,
                            sample.p50Micros,
                            sample.p99Micros);
                }
            }
        }
        System.out.printf(
                Locale.ROOT,
                "%-24s %10s %10s %7s   %8s %8s %7s   %8s %8s%n",
                "aio=" + aio + ", 4k",
                "benchtop",
                "qemu",
                "ratio",
                "CPU us/r",
                "qemu",
                "ratio",
                "p50 us",
                "qemu");
        cells.sort(java.util.Comparator.comparing(Cell::toString));
        for (Cell cell : cells) {
            double iops = median(of(ours, cell), Sample::iops);
            double qemuIops = median(of(theirs, cell), Sample::iops);
            double cpu = median(of(ours, cell), Sample::cpuMicrosPerRequest);
            double qemuCpu = median(of(theirs, cell), Sample::cpuMicrosPerRequest);
            System.out.printf(
                    Locale.ROOT,
                    "%-24s %,10.0f %,10.0f %7.2f   %8.2f %8.2f %7.2f   %8.1f %8.1f%n",
                    cell,
                    iops,
                    qemuIops,
                    iops / qemuIops,
                    cpu,
                    qemuCpu,
                    cpu / qemuCpu,
                    median(of(ours, cell), Sample::p50Micros),
                    median(of(theirs, cell), Sample::p50Micros));
        }
    }
}
