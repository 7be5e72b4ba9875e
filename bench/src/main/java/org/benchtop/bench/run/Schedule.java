package org.benchtop.bench.run;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.experiment.Experiment;

/**
 * The order of runs: blocks that hold every case once, each block in its own random order.
 *
 * <p>The order depends on the experiment and its seed alone. Leaving out cases or adding repeats keeps the relative
 * order of the rest, so an interrupted or extended experiment goes on where it was.
 */
final class Schedule {
    /**
     * One planned run.
     *
     * @param spec the case
     * @param kind warm-up or measured
     * @param block 0 for warm-up, otherwise from 1
     */
    record Entry(CaseSpec spec, RunKind kind, int block) {}

    private Schedule() {}

    /**
     * All runs of an experiment in order.
     *
     * @param experiment with all its cases
     * @param wanted the ids of the cases to run
     */
    static List<Entry> of(Experiment experiment, Set<String> wanted) {
        List<Entry> entries = new ArrayList<>();
        SplittableRandom random = new SplittableRandom(experiment.seed());
        for (int round = 0; round < experiment.warmupRuns() + experiment.repeats(); round++) {
            boolean warmup = round < experiment.warmupRuns();
            int block = warmup ? 0 : round - experiment.warmupRuns() + 1;
            for (CaseSpec spec : block(experiment, random)) {
                if (wanted.contains(spec.id())) {
                    entries.add(new Entry(spec, warmup ? RunKind.WARMUP : RunKind.MEASURED, block));
                }
            }
        }
        return entries;
    }

    /** What is left of a plan after some runs. Failed runs are made again. */
    static List<Entry> without(List<Entry> plan, List<RunRecord> done) {
        Set<String> measured = new HashSet<>();
        List<String> warmups = new ArrayList<>();
        for (RunRecord run : done) {
            if (run.counts()) {
                measured.add(run.block() + " " + run.caseId());
            } else if (run.kind() == RunKind.WARMUP) {
                warmups.add(run.caseId());
            }
        }
        List<Entry> left = new ArrayList<>();
        for (Entry entry : plan) {
            boolean finished = entry.kind() == RunKind.MEASURED
                    ? measured.contains(entry.block() + " " + entry.spec().id())
                    : warmups.remove(entry.spec().id());
            if (!finished) {
                left.add(entry);
            }
        }
        return left;
    }

    private static List<CaseSpec> block(Experiment experiment, SplittableRandom random) {
        List<CaseSpec> order = new ArrayList<>(experiment.cases());
        if (experiment.shuffled()) {
            for (int i = order.size() - 1; i > 0; i--) {
                int other = random.nextInt(i + 1);
                CaseSpec moved = order.get(i);
                order.set(i, order.get(other));
                order.set(other, moved);
            }
        }
        return order;
    }
}
