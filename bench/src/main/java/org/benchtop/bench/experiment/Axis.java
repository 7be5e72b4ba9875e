package org.benchtop.bench.experiment;

import java.util.List;

/**
 * What varies between cases.
 *
 * @param path the YAML path that is set, {@code job.…} for a parameter of the job, {@code guests} for the number of
 *     machines, {@code case} for named cases
 * @param label a short name, unique in the experiment
 * @param values the labels of its values, in the order in which they were written
 */
public record Axis(String path, String label, List<String> values) {
    /** The path of the axis that named cases make up. */
    public static final String CASE = "case";

    public Axis {
        values = List.copyOf(values);
    }
}
