package org.benchtop.bench.statistics;

/**
 * A confidence interval.
 *
 * @param low the lower end
 * @param high the upper end; not below {@code low}
 */
public record Interval(double low, double high) {
    public Interval {
        if (!(low <= high)) {
            throw new IllegalArgumentException("interval ends are in the wrong order: " + low + " … " + high);
        }
    }

    /** Whether a value lies inside, ends included. */
    public boolean contains(double value) {
        return low <= value && value <= high;
    }
}
