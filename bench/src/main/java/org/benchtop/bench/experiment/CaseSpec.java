package org.benchtop.bench.experiment;

import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.benchtop.bench.measure.Job;
import org.benchtop.engine.config.ConfigValue;

/**
 * One cell of the matrix, complete: everything that a run needs to know.
 *
 * @param id unique in the experiment, such as {@code ioeventfd=on, cpus=1}
 * @param labels the value of every axis by the axis's label, in order
 * @param vm the machine; {@code ${guest}} and {@code ${scratch}} in it are still open
 * @param folder where relative paths of the machine start
 * @param job what every guest does
 * @param guests how many machines run at once
 * @param images how disk images are prepared
 */
public record CaseSpec(
        String id,
        Map<String, String> labels,
        ConfigValue.Mapping vm,
        Path folder,
        Job job,
        int guests,
        Images images) {
    /** Names of the variables that every run fills in, once for every guest. */
    public static final List<String> VARIABLES = List.of("guest", "scratch");

    public CaseSpec {
        labels = Collections.unmodifiableMap(new LinkedHashMap<>(labels));
    }

    static String idOf(Map<String, String> labels) {
        return labels.isEmpty()
                ? "the only case"
                : labels.entrySet().stream()
                        .map(label -> label.getKey() + "=" + label.getValue())
                        .collect(Collectors.joining(", "));
    }

    /** The same with another job. */
    public CaseSpec withJob(Job other) {
        return new CaseSpec(id, labels, vm, folder, other, guests, images);
    }
}
