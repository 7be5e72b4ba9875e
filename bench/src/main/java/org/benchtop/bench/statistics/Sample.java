package org.benchtop.bench.statistics;

import java.util.Arrays;

/** A non-empty set of repeated measurements of one figure; immutable. */
public final class Sample {
    private final double[] sorted;

    private Sample(double[] sorted) {
        this.sorted = sorted;
    }

    /**
     * Takes a copy of the values.
     *
     * @throws IllegalArgumentException when there are none, or one is not finite
     */
    public static Sample of(double... values) {
        if (values.length == 0) {
            throw new IllegalArgumentException("a sample needs at least one value");
        }
        double[] sorted = values.clone();
        for (double value : sorted) {
            if (!Double.isFinite(value)) {
                throw new IllegalArgumentException("a sample holds finite values only, not " + value);
            }
        }
        Arrays.sort(sorted);
        return new Sample(sorted);
    }

    /** How many values there are; at least 1. */
    public int size() {
        return sorted.length;
    }

    /** The least value. */
    public double min() {
        return sorted[0];
    }

    /** The greatest value. */
    public double max() {
        return sorted[sorted.length - 1];
    }

    /** The middle value, or the mean of the two middle ones. */
    public double median() {
        return medianOfSorted(sorted);
    }

    /**
     * A quantile by linear interpolation between order statistics (Hyndman and Fan's type 7, as R and NumPy do).
     *
     * @param q 0 to 1
     */
    public double quantile(double q) {
        if (!(q >= 0 && q <= 1)) {
            throw new IllegalArgumentException("a quantile is between 0 and 1, not " + q);
        }
        return quantileOfSorted(sorted, q);
    }

    /** The distance between the first and the third quartile; 0 for one value. */
    public double interquartileRange() {
        return quantile(0.75) - quantile(0.25);
    }

    /** The median of the distances from the median; 0 for one value. */
    public double medianAbsoluteDeviation() {
        double median = median();
        double[] distances = new double[sorted.length];
        for (int i = 0; i < sorted.length; i++) {
            distances[i] = Math.abs(sorted[i] - median);
        }
        Arrays.sort(distances);
        return medianOfSorted(distances);
    }

    /** The interquartile range as a share of the median: 0.05 is 5 %. 0 when both are 0. */
    public double relativeSpread() {
        double range = interquartileRange();
        if (range == 0) {
            return 0;
        }
        return range / Math.abs(median());
    }

    /** A copy of the values in ascending order. */
    public double[] values() {
        return sorted.clone();
    }

    static double medianOfSorted(double[] sorted) {
        int half = sorted.length / 2;
        if (sorted.length % 2 == 1) {
            return sorted[half];
        }
        return sorted[half - 1] / 2 + sorted[half] / 2;
    }

    static double quantileOfSorted(double[] sorted, double q) {
        double position = q * (sorted.length - 1);
        int below = (int) Math.floor(position);
        int above = Math.min(below + 1, sorted.length - 1);
        double part = position - below;
        return sorted[below] * (1 - part) + sorted[above] * part;
    }

    @Override
    public String toString() {
        return "Sample" + Arrays.toString(sorted);
    }
}
