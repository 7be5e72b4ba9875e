package org.benchtop.shell.lab;

import java.time.Duration;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.run.RunKind;
import org.benchtop.bench.run.RunListener;
import org.benchtop.engine.config.Units;

/** One line for each run of a measurement, on standard output. */
final class PrintedProgress implements RunListener {
    private int total;

    @Override
    public void planned(int runs, int alreadyDone) {
        total = runs;
    }

    @Override
    public void started(int number, CaseSpec spec, RunKind kind, int block, Duration left) {
        System.out.println("run " + number + " of " + total + ": " + spec.id() + " ("
                + Units.formatNanos(left.toNanos()) + " left)");
    }

    @Override
    public void notice(String text) {
        System.out.println(text);
    }
}
