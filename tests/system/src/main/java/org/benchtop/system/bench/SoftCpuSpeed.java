package org.benchtop.system.bench;

import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.benchtop.engine.Machine;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.MachineSpecBuilder;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.guests.debian.DebianFiles;
import org.benchtop.guests.debian.DebianGuest;
import org.benchtop.guests.debian.DebianOptions;
import org.benchtop.spi.chardev.ConsoleBuffer;

/**
 * Runs the same guests on the software CPU and on {@code qemu-system-x86_64 -accel tcg}, one after the other in each round,
 * and prints instructions per second, ratios, warm-up, and what the JVM needed.
 *
 * <p>Times of hot loops are CPU time of the vCPU's thread ({@code /proc/…/schedstat}), the best repetition of all rounds;
 * times of Linux are wall time and that CPU time.
 */
public final class SoftCpuSpeed {
    private static final Duration LIMIT = Duration.ofMinutes(5);
    private static final String INIT = "@@init";
    private static final String SCRIPT_START = """
            echo "@@init"
            cd /tmp
            i=0
            while [ $i -lt 3 ]; do
              yes "the quick brown fox jumps over the lazy dog" | head -c 1500000 >text
              gzip -c text | gzip -dc | cmp - text
              echo "@@gzip"
              sha256sum text >/dev/null
              echo "@@sha256sum"
              awk 'BEGIN { for (i = 1; i <= 60000; i++) { s += i % 7; t[i % 100] = s } print s }' >/dev/null
              echo "@@awk"
              sort text | uniq -c >/dev/null
              echo "@@sort"
              n=0; while [ $n -lt 3000 ]; do n=$((n + 1)); done
              for f in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do /bin/busybox true; done
              echo "@@shell"
              i=$((i + 1))
            done
            """;

    /** A hot loop: its letter in the guest, a name, iterations per repetition. */
    private record Loop(char letter, String name, int iterations) {}

    private static final List<Loop> LOOPS = List.of(
            new Loop('a', "alu", 10_000_000),
            new Loop('b', "branchy", 6_000_000),
            new Loop('c', "byte sieve", 200),
            new Loop('d', "sum of words", 3_000),
            new Loop('e', "copy 8 bytes", 2_000),
            new Loop('f', "recursive fib", 300),
            new Loop('g', "bignum", 80_000),
            new Loop('h', "string moves", 20_000),
            new Loop('i', "sse2 checksum", 800),
            new Loop('j', "page walks", 60),
            new Loop('k', "syscalls", 80_000));

    private static final int REPETITIONS = 24;
    /** No loop has code there. */
    private static final long UNUSED_CODE = 0x700_0000;

    private static final int TCG_REPETITIONS = 6;

    /** A line of the guest, and when it came. */
    private record Mark(String line, long wallNanos, long cpuNanos, long instructions) {}

    private final Path elf;
    private final PluginRegistry plugins;

    private SoftCpuSpeed(Path elf, PluginRegistry plugins) {
        this.elf = elf;
        this.plugins = plugins;
    }

    // ---- CPU time of a thread ----

    private static Optional<Path> thread(String pid, Predicate<String> named) throws IOException {
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(Path.of("/proc", pid, "task"))) {
            for (Path task : tasks) {
                if (named.test(Files.readString(task.resolve("comm")).strip())) {
                    return Optional.of(task.resolve("schedstat"));
                }
            }
        }
        return Optional.empty();
    }

    private static long cpuNanos(Optional<Path> schedstat) {
        try {
            return schedstat.isPresent()
                    ? Long.parseLong(Files.readString(schedstat.get()).split(" ", 2)[0])
                    : 0;
        } catch (IOException e) {
            return 0;
        }
    }

    // ---- the two processors ----

    private MachineSpecBuilder machine(String name, boolean jit) {
        return MachineSpec.named(name)
                .accel("soft", Map.of("jit", jit))
                .memory("256MiB")
                .onReboot(MachineSpec.OnReboot.STOP)
                .chardev("tty0", "memory", Map.of())
                .device("isa-serial", Map.of("chardev", "tty0"));
    }

    /** Runs until enough lines have come that {@code wanted} accepts, or the guest powers off. */
    private List<Mark> soft(MachineSpec spec, Predicate<String> wanted, int count)
            throws IOException, InterruptedException {
        return soft(spec, wanted, count, m -> {});
    }

    private List<Mark> soft(MachineSpec spec, Predicate<String> wanted, int count, Consumer<Machine> beforeStart)
            throws IOException, InterruptedException {
        List<Mark> marks = new ArrayList<>();
        try (Machine m = Machine.create(spec, plugins)) {
            beforeStart.accept(m);
            ConsoleBuffer console = m.chardev("tty0").orElseThrow().console().orElseThrow();
            long start = System.nanoTime();
            m.start();
            Optional<Path> stat = Optional.empty();
            StringBuilder line = new StringBuilder();
            long seen = 0;
            while (marks.size() < count) {
                console.awaitOutput(seen, Duration.ofMillis(200));
                long now = System.nanoTime() - start;
                if (stat.isEmpty()) {
                    // A thread has its name a little after it has started.
                    stat = thread("self", name -> name.equals(spec.name() + "-vcpu0"));
                }
                long cpu = cpuNanos(stat);
                long instructions = m.vcpus().getFirst().instructions().orElse(0);
                String text = console.text(seen);
                seen += text.length();
                collect(text, line, wanted, marks, new Mark("", now, cpu, instructions));
                if (m.exit().isPresent()) {
                    marks.add(new Mark("off", now, cpu, instructions));
                    return marks;
                }
                if (now > LIMIT.toNanos()) {
                    throw new IllegalStateException("no end in time; console: " + console.text(0));
                }
            }
        }
        return marks;
    }

    private static void collect(String text, StringBuilder line, Predicate<String> wanted, List<Mark> marks, Mark now) {
        for (char c : text.toCharArray()) {
            if (c != '\n') {
                line.append(c);
                continue;
            }
            String whole = line.toString().strip();
            line.setLength(0);
            if (wanted.test(whole)) {
                marks.add(new Mark(whole, now.wallNanos, now.cpuNanos, now.instructions));
            }
        }
    }

    private static List<Mark> tcg(List<String> arguments, Predicate<String> wanted, int count) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                "qemu-system-x86_64",
                "-name",
                "tcg,debug-threads=on",
                "-accel",
                "tcg",
                "-m",
                "256",
                "-display",
                "none",
                "-serial",
                "stdio",
                "-no-reboot",
                "-nodefaults"));
        command.addAll(arguments);
        long start = System.nanoTime();
        Process qemu = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectInput(Path.of("/dev/null").toFile())
                .start();
        List<Mark> marks = new ArrayList<>();
        try (InputStream in = qemu.getInputStream()) {
            Optional<Path> stat = Optional.empty();
            StringBuilder line = new StringBuilder();
            byte[] buffer = new byte[4096];
            long cpu = 0;
            while (marks.size() < count) {
                int n = in.read(buffer);
                long now = System.nanoTime() - start;
                if (n < 0) {
                    marks.add(new Mark("off", now, cpu, 0));
                    break;
                }
                if (stat.isEmpty()) {
                    stat = thread(Long.toString(qemu.pid()), name -> name.startsWith("CPU 0"));
                }
                cpu = cpuNanos(stat);
                collect(
                        new String(buffer, 0, n, StandardCharsets.ISO_8859_1),
                        line,
                        wanted,
                        marks,
                        new Mark("", now, cpu, 0));
            }
        } finally {
            qemu.destroyForcibly();
        }
        return marks;
    }

    // ---- hot loops ----

    private static final class Figures {
        long softNanos = Long.MAX_VALUE;
        long tcgNanos = Long.MAX_VALUE;
        long instructions;
        long firstNanos;
        /** CPU time of the first round up to the repetition that is within a tenth of the best. */
        List<Long> firstRound = List.of();
    }

    private static List<Long> repetitions(List<Mark> marks) {
        List<Long> nanos = new ArrayList<>();
        for (int i = 1; i < marks.size(); i++) {
            // Lines that were read together have no time of their own.
            if (marks.get(i).cpuNanos != marks.get(i - 1).cpuNanos) {
                nanos.add(marks.get(i).cpuNanos - marks.get(i - 1).cpuNanos);
            }
        }
        return nanos;
    }

    private static boolean checksum(String line) {
        return line.matches("[0-9a-f]{16}");
    }

    private void loops(int rounds, String letters, boolean jit) throws IOException, InterruptedException {
        Map<Loop, Figures> figures = new LinkedHashMap<>();
        for (int round = 0; round < rounds; round++) {
            for (Loop loop : LOOPS) {
                if (letters.indexOf(loop.letter) < 0) {
                    continue;
                }
                Figures f = figures.computeIfAbsent(loop, any -> new Figures());
                String cmdline = loop.letter + " " + loop.iterations + " ";
                List<Mark> soft = soft(
                        machine("h" + loop.letter + round, jit)
                                .kernel(elf, Optional.empty(), cmdline + REPETITIONS)
                                .build(),
                        SoftCpuSpeed::checksum,
                        REPETITIONS);
                List<Mark> tcg = tcg(
                        List.of("-kernel", elf.toString(), "-append", cmdline + TCG_REPETITIONS),
                        SoftCpuSpeed::checksum,
                        TCG_REPETITIONS);
                if (!soft.get(1).line.equals(tcg.get(1).line)) {
                    throw new IllegalStateException(
                            loop.name + ": checksum " + soft.get(1).line + ", TCG " + tcg.get(1).line);
                }
                List<Long> softNanos = repetitions(soft);
                f.softNanos = Math.min(
                        f.softNanos, softNanos.stream().min(Long::compare).orElseThrow());
                f.tcgNanos = Math.min(
                        f.tcgNanos, repetitions(tcg).stream().min(Long::compare).orElseThrow());
                f.instructions = (soft.getLast().instructions - soft.getFirst().instructions) / (soft.size() - 1);
                System.err.printf(Locale.ROOT, "%s: %.2f%n", loop.name, (double) f.tcgNanos / f.softNanos);
                if (round == 0) {
                    f.firstRound = softNanos;
                    f.firstNanos = soft.getFirst().cpuNanos;
                }
            }
        }
        System.out.printf(
                Locale.ROOT,
                "%-14s %9s %9s %6s  %s%n",
                "hot loop",
                "soft MIPS",
                "TCG MIPS",
                "ratio",
                "warm-up: CPU ms of repetitions 0, 1, … of the first round");
        double logs = 0;
        double worst = Double.MAX_VALUE;
        for (Map.Entry<Loop, Figures> entry : figures.entrySet()) {
            Figures f = entry.getValue();
            double ratio = (double) f.tcgNanos / f.softNanos;
            logs += Math.log(ratio);
            worst = Math.min(worst, ratio);
            StringBuilder warm = new StringBuilder();
            warm.append(f.firstNanos / 1_000_000);
            f.firstRound.forEach(n -> warm.append(' ').append(n / 1_000_000));
            System.out.printf(
                    Locale.ROOT,
                    "%-14s %9.0f %9.0f %6.2f  %s%n",
                    entry.getKey().name,
                    f.instructions * 1e3 / f.softNanos,
                    f.instructions * 1e3 / f.tcgNanos,
                    ratio,
                    warm);
        }
        System.out.printf(Locale.ROOT, "geometric mean %.2f, worst %.2f%n", Math.exp(logs / figures.size()), worst);
    }

    // ---- hooks ----

    /** The same loops while a callback waits on an instruction that the guest never executes. */
    private void hooks(int rounds, String letters) throws IOException, InterruptedException {
        Map<Loop, long[]> best = new LinkedHashMap<>();
        for (int round = 0; round < rounds; round++) {
            for (Loop loop : LOOPS) {
                if (letters.indexOf(loop.letter) < 0) {
                    continue;
                }
                long[] nanos = best.computeIfAbsent(loop, any -> new long[] {Long.MAX_VALUE, Long.MAX_VALUE});
                for (int hooked = 0; hooked < 2; hooked++) {
                    MachineSpec spec = machine("k" + loop.letter + round + hooked, true)
                            .kernel(elf, Optional.empty(), loop.letter + " " + loop.iterations + " " + REPETITIONS)
                            .build();
                    List<Mark> marks = soft(
                            spec,
                            SoftCpuSpeed::checksum,
                            REPETITIONS,
                            hooked == 0 ? m -> {} : SoftCpuSpeed::hookUnused);
                    nanos[hooked] = Math.min(
                            nanos[hooked],
                            repetitions(marks).stream().min(Long::compare).orElseThrow());
                }
            }
        }
        System.out.printf(Locale.ROOT, "%-14s %12s %12s %6s%n", "hot loop", "plain CPU ms", "hooked", "ratio");
        double logs = 0;
        for (Map.Entry<Loop, long[]> entry : best.entrySet()) {
            long[] nanos = entry.getValue();
            double ratio = (double) nanos[1] / nanos[0];
            logs += Math.log(ratio);
            System.out.printf(
                    Locale.ROOT,
                    "%-14s %12.1f %12.1f %6.2f%n",
                    entry.getKey().name,
                    nanos[0] / 1e6,
                    nanos[1] / 1e6,
                    ratio);
        }
        System.out.printf(Locale.ROOT, "unused callbacks: %.2f times the time without%n", Math.exp(logs / best.size()));
    }

    private static void hookUnused(Machine m) {
        m.cpuVm().onExec(UNUSED_CODE, (vcpu, rip, code) -> {
            throw new IllegalStateException("executed");
        });
    }

    // ---- Linux ----

    private void linux(int rounds, boolean jit) throws IOException, InterruptedException {
        DebianFiles files = DebianGuest.prepare(
                DebianOptions.minimal().withScript(SCRIPT_START).withProtocol(DebianOptions.Protocol.PVH),
                path -> path,
                System.err::println);
        String cmdline = "console=ttyS0 panic=-1";
        Predicate<String> wanted = line -> line.startsWith("@@");
        Map<String, Long> softWall = new LinkedHashMap<>();
        Map<String, Long> softCpu = new LinkedHashMap<>();
        Map<String, Long> tcgWall = new LinkedHashMap<>();
        Map<String, Long> tcgCpu = new LinkedHashMap<>();
        Map<String, Long> instructions = new LinkedHashMap<>();
        for (int round = 0; round < rounds; round++) {
            List<Mark> soft = soft(
                    machine("linux" + round, jit)
                            .kernel(files.kernel(), Optional.of(files.initrd()), cmdline)
                            .build(),
                    wanted,
                    Integer.MAX_VALUE);
            best(soft, softWall, softCpu, instructions);
            List<Mark> tcg = tcg(
                    List.of(
                            "-M",
                            "microvm",
                            "-kernel",
                            files.kernel().toString(),
                            "-initrd",
                            files.initrd().toString(),
                            "-append",
                            cmdline),
                    wanted,
                    Integer.MAX_VALUE);
            best(tcg, tcgWall, tcgCpu, new LinkedHashMap<>());
            System.out.printf(
                    Locale.ROOT,
                    "round %d: /init after %.2f s (TCG %.2f s), power-off after %.2f s (TCG %.2f s)%n",
                    round,
                    soft.getFirst().wallNanos / 1e9,
                    tcg.getFirst().wallNanos / 1e9,
                    soft.getLast().wallNanos / 1e9,
                    tcg.getLast().wallNanos / 1e9);
        }
        System.out.printf(
                Locale.ROOT,
                "%-12s %9s %9s %6s %9s %9s %6s %9s%n",
                "Linux",
                "wall s",
                "TCG s",
                "ratio",
                "vCPU s",
                "TCG s",
                "ratio",
                "MIPS");
        double logs = 0;
        int steps = 0;
        for (String step : softWall.keySet()) {
            double cpuRatio = (double) tcgCpu.getOrDefault(step, 0L) / softCpu.getOrDefault(step, 1L);
            if (!step.equals(INIT) && !step.equals("off")) {
                logs += Math.log(cpuRatio);
                steps++;
            }
            System.out.printf(
                    Locale.ROOT,
                    "%-12s %9.2f %9.2f %6.2f %9.2f %9.2f %6.2f %9.0f%n",
                    step,
                    softWall.getOrDefault(step, 0L) / 1e9,
                    tcgWall.getOrDefault(step, 0L) / 1e9,
                    (double) tcgWall.getOrDefault(step, 0L) / softWall.getOrDefault(step, 1L),
                    softCpu.getOrDefault(step, 0L) / 1e9,
                    tcgCpu.getOrDefault(step, 0L) / 1e9,
                    cpuRatio,
                    instructions.getOrDefault(step, 0L) * 1e3 / softCpu.getOrDefault(step, 1L));
        }
        System.out.printf(Locale.ROOT, "warm mixed code: geometric mean %.2f of TCG%n", Math.exp(logs / steps));
    }

    /** Keeps the shortest time of each step; the first one is from power-on. */
    private static void best(
            List<Mark> marks, Map<String, Long> wall, Map<String, Long> cpu, Map<String, Long> instructions) {
        Mark before = new Mark("", 0, 0, 0);
        for (Mark mark : marks) {
            wall.merge(mark.line, mark.wallNanos - before.wallNanos, Math::min);
            long nanos = mark.cpuNanos - before.cpuNanos;
            if (nanos <= cpu.getOrDefault(mark.line, Long.MAX_VALUE)) {
                cpu.put(mark.line, nanos);
                instructions.put(mark.line, mark.instructions - before.instructions);
            }
            before = mark;
        }
    }

    private static void jvm() {
        long codeBytes = 0;
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            String name = pool.getName();
            if (name.startsWith("CodeHeap") || name.equals("CodeCache")) {
                codeBytes += pool.getUsage().getUsed();
            }
            if (name.equals("Metaspace")) {
                System.out.printf(
                        Locale.ROOT, "metaspace %.1f MB, ", pool.getUsage().getUsed() / 1e6);
            }
        }
        System.out.printf(
                Locale.ROOT,
                "code cache %.1f MB, JIT compilation %.1f s, load average %s%n",
                codeBytes / 1e6,
                ManagementFactory.getCompilationMXBean().getTotalCompilationTime() / 1e3,
                ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
    }

    /** Lets this thread, which only takes times, run at once also on a busy host; needs root. */
    private static void runFirst() throws IOException, InterruptedException {
        String tid = Path.of("/proc/thread-self").toRealPath().getFileName().toString();
        new ProcessBuilder("renice", "-n", "-15", "-p", tid)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start()
                .waitFor();
    }

    /** Arguments: the ELF of the hot loops; loops, hooks, linux, or all of loops and linux; rounds; letters of loops. */
    public static void main(String[] args) throws IOException, InterruptedException {
        String what = args.length > 1 ? args[1] : "all";
        int rounds = args.length > 2 ? Integer.parseInt(args[2]) : 3;
        String letters = args.length > 3 ? args[3] : "abcdefghijk";
        boolean jit = !Boolean.getBoolean("benchtop.bench.nojit");
        runFirst();
        try (PluginRegistry plugins = PluginRegistry.builtIn()) {
            SoftCpuSpeed speed = new SoftCpuSpeed(Path.of(args[0]), plugins);
            if (what.equals("hooks")) {
                speed.hooks(rounds, letters);
                return;
            }
            if (!what.equals("linux")) {
                speed.loops(rounds, letters, jit);
                jvm();
            }
            if (!what.equals("loops")) {
                speed.linux(rounds, jit);
                jvm();
            }
        }
    }
}
