package org.benchtop.bench.run;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.experiment.Experiment;
import org.benchtop.bench.measure.Measurement;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/**
 * Runs an experiment: what an earlier session finished is kept, every run is on stable storage before the next one
 * starts, and an interrupt of the calling thread ends it with all finished runs.
 */
public final class ExperimentRunner {
    private static final String JIT_RUNTIME = "2s";
    private static final String JIT_WARMUP = "0s";

    private final CaseRunner runner;
    private final RunListener listener;

    /** Runs cases with a runner and tells a listener about it. */
    public ExperimentRunner(CaseRunner runner, RunListener listener) {
        this.runner = runner;
        this.listener = listener;
    }

    /**
     * Runs what is missing.
     *
     * @param experiment what to run
     * @param wanted which of its cases
     * @param folder where the journal is kept
     * @param scratch where disk images are kept
     * @param restart whether earlier results are set aside
     * @return all results; the interrupt status of the thread is cleared when they say that it was interrupted
     */
    public Outcome run(Experiment experiment, Predicate<CaseSpec> wanted, Path folder, Path scratch, boolean restart) {
        List<CaseSpec> cases = experiment.cases().stream().filter(wanted).toList();
        if (cases.isEmpty()) {
            throw BenchtopException.config("no case of " + experiment.id() + " is left by the filter");
        }
        makeFolder(scratch);
        // Everything that can be wrong with a case is found before hours are spent on others.
        cases.forEach(spec -> runner.check(spec, scratch));
        try (Journal journal =
                Journal.open(folder.resolve("runs.jsonl"), experiment.id(), experiment.hash(), restart)) {
            return run(experiment, cases, journal, scratch);
        } finally {
            listener.ended();
        }
    }

    private Outcome run(Experiment experiment, List<CaseSpec> cases, Journal journal, Path scratch) {
        Set<String> ids = new HashSet<>();
        cases.forEach(spec -> ids.add(spec.id()));
        List<Schedule.Entry> plan = Schedule.of(experiment, ids);
        List<Schedule.Entry> left = Schedule.without(plan, journal.runs());
        int measured = cases.size() * experiment.repeats();
        listener.planned(plan.size(), plan.size() - left.size());
        if (journal.cutLineDropped()) {
            listener.notice("the last line of the journal was cut off by a crash and was dropped");
        }
        boolean interrupted = false;
        if (left.stream().anyMatch(entry -> entry.kind() == RunKind.MEASURED)) {
            HostFacts host = HostFacts.collect(scratch);
            journal.sessions().stream()
                    .reduce((first, second) -> second)
                    .filter(last -> !last.host().equals(host))
                    .ifPresent(last -> listener.notice("the host changed since the last session: earlier runs may not "
                            + "be comparable, --restart measures everything anew"));
            Session session = journal.startSession(System.currentTimeMillis(), host);
            interrupted = runAll(left, plan.size(), journal, session, scratch);
        }
        return new Outcome(experiment.withCases(cases), journal.sessions(), journal.runs(), measured, interrupted);
    }

    private boolean runAll(List<Schedule.Entry> left, int total, Journal journal, Session session, Path scratch) {
        TimeLeft timeLeft = new TimeLeft();
        journal.runs().forEach(timeLeft::learn);
        Set<String> prepared = new HashSet<>();
        int number = total - left.size();
        try {
            warmUpJvm(
                    left.getFirst().spec(),
                    journal,
                    session,
                    scratch,
                    timeLeft.estimate(left).plusSeconds(4));
            for (int i = 0; i < left.size(); i++) {
                Schedule.Entry entry = left.get(i);
                if (prepared.add(entry.spec().id())) {
                    runner.prepare(entry.spec(), scratch, listener::preparing);
                }
                number++;
                listener.started(
                        number,
                        entry.spec(),
                        entry.kind(),
                        entry.block(),
                        timeLeft.estimate(left.subList(i, left.size())));
                RunRecord run = runOnce(new CaseRun(entry.spec(), entry.kind(), scratch), entry.block(), session);
                journal.add(run);
                timeLeft.learn(run);
                listener.finished(number, entry.spec(), run);
            }
            return false;
        } catch (InterruptedException e) {
            // The caller asked for it and is told by the outcome; writing the report must not be interrupted again.
            return true;
        }
    }

    private void warmUpJvm(CaseSpec first, Journal journal, Session session, Path scratch, java.time.Duration expected)
            throws InterruptedException {
        runner.prepare(first, scratch, listener::preparing);
        CaseSpec shortened = first.withJob(
                first.job().parameters().containsKey("runtime")
                        ? first.job().with("runtime", JIT_RUNTIME).with("warmup", JIT_WARMUP)
                        : first.job());
        listener.started(0, first, RunKind.JIT_WARMUP, 0, expected);
        RunRecord run = runOnce(new CaseRun(shortened, RunKind.JIT_WARMUP, scratch), 0, session);
        journal.add(run);
        listener.finished(0, first, run);
    }

    private RunRecord runOnce(CaseRun wanted, int block, Session session) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        long startedMillis = System.currentTimeMillis();
        long startedNanos = System.nanoTime();
        HostLoadMeter meter = HostLoadMeter.start();
        Optional<Measurement> measurement = Optional.empty();
        String failure = "";
        try {
            measurement = Optional.of(runner.run(wanted));
        } catch (BenchtopException e) {
            failure = e.kind() + ": " + e.getMessage();
        }
        HostLoad load = meter.stop();
        List<String> flags = new ArrayList<>(load.disturbances());
        measurement.filter(done -> done.errors() > 0).ifPresent(done -> flags.add(done.errors() + " requests failed"));
        measurement.filter(done -> done.requests() == 0).ifPresent(done -> flags.add("no request completed"));
        return new RunRecord(
                session.number(),
                wanted.spec().id(),
                block,
                wanted.kind(),
                startedMillis,
                System.nanoTime() - startedNanos,
                measurement,
                failure,
                load,
                flags);
    }

    private static void makeFolder(Path folder) {
        try {
            Files.createDirectories(folder);
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, folder + ": cannot be made: " + e.getMessage(), e);
        }
    }
}
