package org.benchtop.bench.run;

import java.time.Duration;
import org.benchtop.bench.experiment.CaseSpec;

/** Hears how an experiment goes. Called from the thread that runs it. */
public interface RunListener {
    /** Hears nothing. */
    RunListener SILENT = new RunListener() {};

    /**
     * The plan is made.
     *
     * @param total all runs, warm-up included
     * @param alreadyDone runs that an earlier session finished
     */
    default void planned(int total, int alreadyDone) {}

    /** Something that comes before runs, such as filling an image. */
    default void preparing(String what) {}

    /**
     * A run starts.
     *
     * @param number from 1
     * @param left the estimated time for this run and the rest
     */
    default void started(int number, CaseSpec spec, RunKind kind, int block, Duration left) {}

    /** A run is recorded. */
    default void finished(int number, CaseSpec spec, RunRecord run) {}

    /** Something that the user should know. */
    default void notice(String text) {}

    /** Nothing more will come. */
    default void ended() {}
}
