package org.benchtop.bench.machine;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.benchtop.bench.measure.Job;
import org.benchtop.engine.config.Suggestions;
import org.benchtop.engine.config.Units;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.guest.GuestProgramType;

/**
 * A job as the guest program's command line.
 *
 * @param words {@code key=value} words
 * @param runtimeNanos how long is measured; 0 if the job ends by itself
 * @param warmupNanos how long the guest runs before that
 */
record JobCommandLine(String words, long runtimeNanos, long warmupNanos) {
    private static final String RUNTIME = "runtime";
    private static final String WARMUP = "warmup";

    /** What {@code warmup} is called on the guest's command line. */
    private static final String GUEST_WARMUP = "ramp_time";

    private static final long SECOND = 1_000_000_000L;

    /** Translates a job, checking its parameters against those that the program knows. */
    static JobCommandLine of(Job job, GuestProgramType program) {
        List<String> known = new ArrayList<>(program.parameters().stream()
                .map(GuestProgramType.Parameter::name)
                .toList());
        if (known.remove(GUEST_WARMUP)) {
            known.add(WARMUP);
        }
        List<String> words = new ArrayList<>();
        long runtimeNanos = SECOND;
        long warmupNanos = 0;
        for (Map.Entry<String, String> parameter : job.parameters().entrySet()) {
            String name = parameter.getKey();
            String value = parameter.getValue();
            if (!known.contains(name)) {
                throw BenchtopException.config("job." + name + ": unknown parameter \"" + name + "\" of " + job.guest()
                        + Suggestions.hint(name, known));
            }
            if (value.isEmpty() || value.chars().anyMatch(c -> c <= ' ' || c > '~')) {
                throw BenchtopException.config("job." + name + ": \"" + value + "\" is not one plain word");
            }
            switch (name) {
                case RUNTIME -> {
                    runtimeNanos = wholeSeconds(name, value);
                    words.add(RUNTIME + "=" + runtimeNanos / SECOND);
                }
                case WARMUP -> {
                    warmupNanos = wholeSeconds(name, value);
                    words.add(GUEST_WARMUP + "=" + warmupNanos / SECOND);
                }
                default -> words.add(name + "=" + value);
            }
        }
        return new JobCommandLine(String.join(" ", words), runtimeNanos, warmupNanos);
    }

    private static long wholeSeconds(String name, String value) {
        long nanos = Units.parseNanos(value)
                .orElseThrow(() -> BenchtopException.config(
                        "job." + name + ": \"" + value + "\" is not a duration such as 10s or 2m"));
        if (nanos % SECOND != 0) {
            throw BenchtopException.config(
                    "job." + name + ": " + value + " is not a whole number of seconds, which is what the guest counts");
        }
        return nanos;
    }
}
