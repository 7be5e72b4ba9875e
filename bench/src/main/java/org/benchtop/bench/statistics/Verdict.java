package org.benchtop.bench.statistics;

/** What a comparison of two cases shows. */
public sealed interface Verdict {
    /**
     * There are not enough pairs of runs.
     *
     * @param have pairs there are
     * @param need pairs needed
     */
    record TooFew(int have, int need) implements Verdict {}

    /** A figure is zero or negative in some run, so there is no ratio. */
    record NoRatio() implements Verdict {}

    /**
     * The runs of one case differ so much among themselves that the interval says little.
     *
     * @param spread interquartile range as a share of the median
     * @param change confidence interval of the ratio
     */
    record Noisy(double spread, Interval change) implements Verdict {}

    /**
     * The interval contains "equal".
     *
     * @param change confidence interval of the ratio
     */
    record NoDifference(Interval change) implements Verdict {}

    /**
     * The interval excludes "equal".
     *
     * @param ratio candidate / baseline
     * @param change confidence interval of the ratio
     */
    record Differs(double ratio, Interval change) implements Verdict {}
}
