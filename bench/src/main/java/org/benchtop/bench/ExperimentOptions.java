package org.benchtop.bench;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.benchtop.bench.experiment.ExperimentOverrides;

/**
 * Options of {@code benchtop bench}.
 *
 * @param overrides changes to the experiment
 * @param filters which cases to run, see {@code --filter}; empty means all
 * @param restart whether earlier results are set aside
 * @param list whether cases are only listed
 * @param outFolder where results are kept; a folder of the experiment's name is made in it
 * @param scratch where disk images are kept; empty means with the results
 */
public record ExperimentOptions(
        ExperimentOverrides overrides,
        List<String> filters,
        boolean restart,
        boolean list,
        Path outFolder,
        Optional<Path> scratch) {
    /** Where results are kept unless somebody says otherwise. */
    public static final Path DEFAULT_OUT = Path.of("results");

    /** No options given. */
    public static final ExperimentOptions NONE =
            new ExperimentOptions(ExperimentOverrides.NONE, List.of(), false, false, DEFAULT_OUT, Optional.empty());

    public ExperimentOptions {
        filters = List.copyOf(filters);
    }
}
