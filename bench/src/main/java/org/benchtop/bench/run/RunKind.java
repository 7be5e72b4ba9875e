package org.benchtop.bench.run;

/** Why a run is made. */
public enum RunKind {
    /** The first run of a process, shortened: lets the JVM compile the hot paths. Never part of the results. */
    JIT_WARMUP,
    /** A full run before the measured ones. Never part of the results. */
    WARMUP,
    /** A run that counts. */
    MEASURED
}
