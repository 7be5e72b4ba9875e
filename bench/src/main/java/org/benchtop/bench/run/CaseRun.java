package org.benchtop.bench.run;

import java.nio.file.Path;
import org.benchtop.bench.experiment.CaseSpec;

/**
 * One run that is asked for.
 *
 * @param spec what to run
 * @param kind why
 * @param scratch the folder for disk images; exists
 */
public record CaseRun(CaseSpec spec, RunKind kind, Path scratch) {}
