package org.benchtop.bench.run;

/**
 * One start of the program on an experiment.
 *
 * @param number from 1
 * @param startedMillis wall-clock time since the epoch
 * @param host where it ran
 */
public record Session(int number, long startedMillis, HostFacts host) {}
