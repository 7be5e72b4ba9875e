package org.benchtop.bench.experiment;

import java.util.List;
import java.util.OptionalInt;

/**
 * Changes to an experiment from the command line.
 *
 * @param repeats another number of repeats
 * @param sets {@code path=value} words: a path of the machine, or {@code job.…}, {@code guests}, {@code seed},
 *     {@code warmup-runs}, {@code repeats}
 * @param quick whether the experiment is cut down to a check that it works
 */
public record ExperimentOverrides(OptionalInt repeats, List<String> sets, boolean quick) {
    /** No changes. */
    public static final ExperimentOverrides NONE = new ExperimentOverrides(OptionalInt.empty(), List.of(), false);

    public ExperimentOverrides {
        sets = List.copyOf(sets);
    }
}
