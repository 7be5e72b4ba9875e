package org.benchtop.bench.run;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Watches the host's CPUs between its creation and {@link #stop}, through {@code /proc}.
 *
 * <p>Where {@code /proc} cannot be read, the load is {@link HostLoad#NONE}. The resolution is that of the kernel's tick
 * (usually 10 ms).
 */
public final class HostLoadMeter {
    private static final double TICKS_PER_SECOND = 100;
    private static final int REPORTED_PROCESSES = 3;
    private static final double LEAST_REPORTED_CPUS = 0.02;

    private final Path proc;
    private final long ownPid;
    private final long startNanos;
    private final Optional<CpuTicks> startTicks;
    private final Map<Long, ProcessTicks> startProcesses;

    private HostLoadMeter(Path proc, long ownPid) {
        this.proc = proc;
        this.ownPid = ownPid;
        this.startProcesses = processes(proc);
        this.startTicks = CpuTicks.read(proc);
        this.startNanos = System.nanoTime();
    }

    /** Starts watching this host. */
    public static HostLoadMeter start() {
        return new HostLoadMeter(Path.of("/proc"), ProcessHandle.current().pid());
    }

    static HostLoadMeter start(Path proc, long ownPid) {
        return new HostLoadMeter(proc, ownPid);
    }

    /** What happened since the start. May be called more than once. */
    public HostLoad stop() {
        long elapsedNanos = System.nanoTime() - startNanos;
        Optional<CpuTicks> endTicks = CpuTicks.read(proc);
        if (startTicks.isEmpty() || endTicks.isEmpty()) {
            return HostLoad.NONE;
        }
        CpuTicks spent = endTicks.get().minus(startTicks.get());
        Map<Long, ProcessTicks> endProcesses = processes(proc);
        double total = Math.max(1, spent.total());
        double seconds = Math.max(1 / TICKS_PER_SECOND, total / TICKS_PER_SECOND / spent.cpus());
        long own = spentBy(ownPid, endProcesses);
        double busy = spent.busy() / total;
        double ownShare = Math.min(busy, own / total);
        Map<String, Double> others = new LinkedHashMap<>();
        endProcesses.entrySet().stream()
                .filter(process -> process.getKey() != ownPid)
                .map(process -> Map.entry(
                        process.getValue().name() + "(" + process.getKey() + ")",
                        spentBy(process.getKey(), endProcesses) / TICKS_PER_SECOND / seconds))
                .filter(process -> process.getValue() >= LEAST_REPORTED_CPUS)
                .sorted(Map.Entry.<String, Double>comparingByValue().reversed())
                .limit(REPORTED_PROCESSES)
                .forEach(process -> others.put(process.getKey(), process.getValue()));
        return new HostLoad(
                elapsedNanos,
                spent.cpus(),
                busy,
                ownShare,
                Math.max(0, busy - ownShare),
                spent.steal() / total,
                spent.ioWait() / total,
                loadAverage(),
                others);
    }

    private long spentBy(long pid, Map<Long, ProcessTicks> endProcesses) {
        ProcessTicks end = endProcesses.getOrDefault(pid, ProcessTicks.NONE);
        ProcessTicks start = startProcesses.getOrDefault(pid, ProcessTicks.NONE);
        // A process that is new, or whose number was reused, starts from nothing.
        long before = start.startTick() == end.startTick() ? start.ticks() : 0;
        return Math.max(0, end.ticks() - before);
    }

    private double loadAverage() {
        try {
            return Double.parseDouble(
                    Files.readString(proc.resolve("loadavg")).strip().split(" ", 2)[0]);
        } catch (IOException | NumberFormatException e) {
            return 0;
        }
    }

    private static Map<Long, ProcessTicks> processes(Path proc) {
        Map<Long, ProcessTicks> found = new HashMap<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(proc, "[0-9]*")) {
            for (Path entry : entries) {
                ProcessTicks.read(entry.resolve("stat"))
                        .ifPresent(ticks ->
                                found.put(Long.parseLong(entry.getFileName().toString()), ticks));
            }
        } catch (IOException | NumberFormatException e) {
            return Map.of();
        }
        return found;
    }

    /** The first line of {@code /proc/stat}, see proc(5). */
    private record CpuTicks(int cpus, long busy, long idle, long ioWait, long steal) {
        static Optional<CpuTicks> read(Path proc) {
            try {
                int cpus = 0;
                String[] sum = {};
                for (String line : Files.readAllLines(proc.resolve("stat"))) {
                    if (line.startsWith("cpu ")) {
                        sum = line.strip().split(" +");
                    } else if (line.startsWith("cpu")) {
                        cpus++;
                    }
                }
                if (sum.length < 9 || cpus == 0) {
                    return Optional.empty();
                }
                // user nice system idle iowait irq softirq steal; guest time is part of user already.
                long busy = number(sum, 1) + number(sum, 2) + number(sum, 3) + number(sum, 6) + number(sum, 7);
                return Optional.of(new CpuTicks(cpus, busy, number(sum, 4), number(sum, 5), number(sum, 8)));
            } catch (IOException | NumberFormatException e) {
                return Optional.empty();
            }
        }

        CpuTicks minus(CpuTicks other) {
            return new CpuTicks(
                    cpus,
                    Math.max(0, busy - other.busy),
                    Math.max(0, idle - other.idle),
                    Math.max(0, ioWait - other.ioWait),
                    Math.max(0, steal - other.steal));
        }

        long total() {
            return busy + idle + ioWait + steal;
        }

        private static long number(String[] words, int index) {
            return Long.parseLong(words[index]);
        }
    }

    /** CPU time of one process: {@code utime + stime} and its start, see proc(5). */
    private record ProcessTicks(String name, long ticks, long startTick) {
        static final ProcessTicks NONE = new ProcessTicks("", 0, -1);

        static Optional<ProcessTicks> read(Path stat) {
            try {
                String text = Files.readString(stat, java.nio.charset.StandardCharsets.ISO_8859_1);
                int open = text.indexOf('(');
                int close = text.lastIndexOf(')');
                if (open < 0 || close < open) {
                    return Optional.empty();
                }
                String[] words = text.substring(close + 2).split(" ");
                return Optional.of(new ProcessTicks(
                        text.substring(open + 1, close),
                        Long.parseLong(words[11]) + Long.parseLong(words[12]),
                        Long.parseLong(words[19])));
            } catch (IOException | NumberFormatException | IndexOutOfBoundsException e) {
                // The process ended while we looked.
                return Optional.empty();
            }
        }
    }
}
