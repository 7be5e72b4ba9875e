package org.benchtop.bench.measure;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A workload and its parameters: what a guest does while it is measured.
 *
 * @param guest the name of an embedded guest program, such as {@code diskbench}
 * @param parameters what the program is told, spelled as in YAML, such as {@code bs: 4k}
 */
public record Job(String guest, Map<String, String> parameters) {
    /** The embedded workload generator for disks. */
    public static final String DISKBENCH = "diskbench";

    public Job {
        parameters = Collections.unmodifiableMap(new LinkedHashMap<>(parameters));
    }

    /** A disk workload with the program's own defaults. */
    public static Job disk() {
        return new Job(DISKBENCH, Map.of());
    }

    /** The same with a parameter added or replaced. */
    public Job with(String parameter, Object value) {
        Map<String, String> changed = new LinkedHashMap<>(parameters);
        changed.put(parameter, String.valueOf(value));
        return new Job(guest, changed);
    }

    /** {@code diskbench rw=read bs=4k}. */
    @Override
    public String toString() {
        return parameters.isEmpty()
                ? guest
                : guest + " "
                        + parameters.entrySet().stream()
                                .map(parameter -> parameter.getKey() + "=" + parameter.getValue())
                                .collect(Collectors.joining(" "));
    }
}
