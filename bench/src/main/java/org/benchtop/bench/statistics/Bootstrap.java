package org.benchtop.bench.statistics;

import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * Percentile bootstrap over blocks: every resample draws whole blocks, so what disturbed both cases of a block alike
 * stays paired.
 *
 * <p>Distribution-free and deterministic for a seed. With fewer than {@link #LEAST_BLOCKS} blocks even the widest
 * interval of order statistics covers the true median in under 90 % of cases, so no interval is given.
 */
public final class Bootstrap {
    /** The least number of blocks for which an interval is meaningful at 95 %. */
    public static final int LEAST_BLOCKS = 5;

    /** How many resamples are drawn. */
    public static final int RESAMPLES = 10_000;

    private Bootstrap() {}

    /** The ratio of the medians: {@code candidate / baseline}. */
    public static double ratioOfMedians(double[] candidate, double[] baseline) {
        return Sample.of(candidate).median() / Sample.of(baseline).median();
    }

    /**
     * The confidence interval of the ratio of medians of paired blocks.
     *
     * @param candidate one value per block
     * @param baseline one positive value per block, in the same order
     * @param confidence such as 0.95
     * @param seed of the resampling
     * @throws IllegalArgumentException for unpaired values, too few blocks or values that are not positive
     */
    public static Interval ratioInterval(double[] candidate, double[] baseline, double confidence, long seed) {
        int blocks = candidate.length;
        if (blocks != baseline.length) {
            throw new IllegalArgumentException("unpaired: " + blocks + " and " + baseline.length + " values");
        }
        if (blocks < LEAST_BLOCKS) {
            throw new IllegalArgumentException(blocks + " blocks, at least " + LEAST_BLOCKS + " are needed");
        }
        if (!(confidence > 0 && confidence < 1)) {
            throw new IllegalArgumentException("confidence is between 0 and 1, not " + confidence);
        }
        for (int i = 0; i < blocks; i++) {
            if (!(candidate[i] > 0 && baseline[i] > 0)) {
                throw new IllegalArgumentException(
                        "ratios need positive values, block " + i + " has " + candidate[i] + " and " + baseline[i]);
            }
        }
        SplittableRandom random = new SplittableRandom(seed);
        double[] ratios = new double[RESAMPLES];
        double[] a = new double[blocks];
        double[] b = new double[blocks];
        for (int r = 0; r < RESAMPLES; r++) {
            for (int i = 0; i < blocks; i++) {
                int drawn = random.nextInt(blocks);
                a[i] = candidate[drawn];
                b[i] = baseline[drawn];
            }
            Arrays.sort(a);
            Arrays.sort(b);
            ratios[r] = Sample.medianOfSorted(a) / Sample.medianOfSorted(b);
        }
        Arrays.sort(ratios);
        double tail = (1 - confidence) / 2;
        return new Interval(ratios[rank(tail)], ratios[rank(1 - tail)]);
    }

    private static int rank(double q) {
        return Math.clamp(Math.round(q * (RESAMPLES - 1)), 0, RESAMPLES - 1);
    }
}
