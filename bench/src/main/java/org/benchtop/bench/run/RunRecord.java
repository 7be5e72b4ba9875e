package org.benchtop.bench.run;

import java.util.List;
import java.util.Optional;
import org.benchtop.bench.measure.Measurement;

/**
 * One finished run, as the journal keeps it.
 *
 * @param session which start of the program made it, from 1
 * @param caseId which case
 * @param block which repeat, from 1; 0 for warm-up
 * @param kind why it was made
 * @param startedMillis wall-clock time since the epoch
 * @param wallNanos how long it took in all, boot included
 * @param measurement what was measured; empty if it failed
 * @param failure why it failed; empty if it did not
 * @param load what else the host did
 * @param flags why its figures may be wrong
 */
public record RunRecord(
        int session,
        String caseId,
        int block,
        RunKind kind,
        long startedMillis,
        long wallNanos,
        Optional<Measurement> measurement,
        String failure,
        HostLoad load,
        List<String> flags) {
    public RunRecord {
        flags = List.copyOf(flags);
        if (measurement.isPresent() != failure.isEmpty()) {
            throw new IllegalArgumentException("a run has either a measurement or a failure");
        }
    }

    /** Whether it counts: measured and not failed. */
    public boolean counts() {
        return kind == RunKind.MEASURED && measurement.isPresent();
    }
}
