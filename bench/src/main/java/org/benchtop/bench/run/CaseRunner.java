package org.benchtop.bench.run;

import java.nio.file.Path;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.measure.Measurement;

/** Runs cases, one at a time. */
public interface CaseRunner {
    /** Refuses a case that cannot run, before anything starts; every fault is a {@code BenchtopException}. */
    void check(CaseSpec spec, Path scratch);

    /**
     * Makes what runs of a case need and keep, such as filled disk images. Called before the first run of a case in a
     * process; cheap when it is all there.
     *
     * @param progress told what is being made
     */
    void prepare(CaseSpec spec, Path scratch, Progress progress) throws InterruptedException;

    /** Runs a case once; an interrupt of the calling thread ends it soon and leaves nothing behind. */
    Measurement run(CaseRun run) throws InterruptedException;

    /** Hears what a long preparation is doing. */
    interface Progress {
        /** One short line. */
        void doing(String what);
    }
}
