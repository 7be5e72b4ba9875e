package org.benchtop.bench.run;

import java.util.List;
import org.benchtop.bench.experiment.Experiment;

/**
 * What there is after an experiment was run, or interrupted.
 *
 * @param experiment with the cases that were asked for
 * @param sessions all starts of the program on it
 * @param runs all runs of all sessions, of all cases, warm-up and failures included
 * @param planned how many measured runs of the asked cases there should be
 * @param interrupted whether it was stopped before its end
 */
public record Outcome(
        Experiment experiment, List<Session> sessions, List<RunRecord> runs, int planned, boolean interrupted) {
    public Outcome {
        sessions = List.copyOf(sessions);
        runs = List.copyOf(runs);
    }

    /** Runs of the asked cases that count. */
    public List<RunRecord> counted() {
        return runs.stream()
                .filter(RunRecord::counts)
                .filter(run -> run.block() <= experiment.repeats())
                .filter(run ->
                        experiment.cases().stream().anyMatch(spec -> spec.id().equals(run.caseId())))
                .toList();
    }

    /** Runs of the last session that failed. */
    public List<RunRecord> failures() {
        return runs.stream()
                .filter(run -> !run.failure().isEmpty())
                .filter(run -> run.session() == sessions.size())
                .toList();
    }
}
