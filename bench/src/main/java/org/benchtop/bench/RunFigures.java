package org.benchtop.bench;

import java.util.Map;
import java.util.TreeMap;
import org.benchtop.bench.measure.Latency;
import org.benchtop.bench.run.MachineFigures;
import org.benchtop.engine.stats.StatsSnapshot;

/**
 * What a machine did between two moments, for the report at the end of {@code benchtop run}.
 *
 * @param machine its name
 * @param accelerator the CPU engine
 * @param elapsedNanos wall-clock time
 * @param reads completed reads of all drives
 * @param writes completed writes of all drives
 * @param flushes completed flushes of all drives
 * @param bytes bytes read and written
 * @param errors failed requests
 * @param latency of reads and writes in the backend, in nanoseconds
 * @param exits vCPU exits by reason
 * @param interrupts interrupts that devices raised
 * @param cpuNanos host CPU time of the process; negative if not known
 */
public record RunFigures(
        String machine,
        String accelerator,
        long elapsedNanos,
        long reads,
        long writes,
        long flushes,
        long bytes,
        long errors,
        Latency latency,
        Map<String, Long> exits,
        long interrupts,
        long cpuNanos) {
    public RunFigures {
        exits = new TreeMap<>(exits);
    }

    /**
     * The figures of a machine's counters.
     *
     * @param stats the counters since the start, or the difference of two snapshots
     * @param cpuNanos host CPU time of the process in that time; negative if not known
     */
    public static RunFigures of(
            String machine, String accelerator, StatsSnapshot stats, long elapsedNanos, long cpuNanos) {
        MachineFigures figures = MachineFigures.of(stats);
        return new RunFigures(
                machine,
                accelerator,
                elapsedNanos,
                figures.reads(),
                figures.writes(),
                figures.flushes(),
                figures.bytes(),
                figures.errors(),
                figures.latency(),
                figures.exits(),
                figures.interrupts(),
                cpuNanos);
    }

    /** Reads, writes and flushes together. */
    public long requests() {
        return reads + writes + flushes;
    }

    /** Exits of all reasons. */
    public long exitCount() {
        return exits.values().stream().mapToLong(Long::longValue).sum();
    }
}
