package org.benchtop.bench.run;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.engine.config.Units;

/** Estimates how long runs will take: as long as runs of the same case took, or as the job says. */
final class TimeLeft {
    private static final long OVERHEAD_NANOS = 1_500_000_000L;

    private final Map<String, Duration> lastWall = new HashMap<>();

    void learn(RunRecord run) {
        if (run.kind() != RunKind.JIT_WARMUP && run.failure().isEmpty()) {
            lastWall.put(run.caseId(), Duration.ofNanos(run.wallNanos()));
        }
    }

    Duration estimate(List<Schedule.Entry> left) {
        Duration sum = Duration.ZERO;
        for (Schedule.Entry entry : left) {
            sum = sum.plus(lastWall.getOrDefault(entry.spec().id(), byJob(entry.spec())));
        }
        return sum;
    }

    private static Duration byJob(CaseSpec spec) {
        long nanos = OVERHEAD_NANOS;
        for (String parameter : List.of("runtime", "warmup")) {
            nanos += Units.parseNanos(spec.job().parameters().getOrDefault(parameter, "0"))
                    .orElse(0);
        }
        return Duration.ofNanos(nanos);
    }
}
