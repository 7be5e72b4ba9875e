package org.benchtop.bench.statistics;

import java.util.Locale;

/**
 * One case against another, block by block.
 *
 * @param candidateName the case under test
 * @param baselineName what it is compared with
 * @param pairs how many blocks hold both
 * @param ratio median of the candidate / median of the baseline; 1 when there are no pairs
 * @param spread the greater relative spread of the two
 * @param verdict what that shows
 */
public record Comparison(
        String candidateName, String baselineName, int pairs, double ratio, double spread, Verdict verdict) {
    /** Above this relative spread an interval that contains "equal" is called noisy. */
    public static final double NOISY_SPREAD = 0.15;

    /** An interval wider than this that contains "equal" says little, however steady the runs of one case look. */
    public static final double WIDE_INTERVAL = 0.20;

    /** The confidence of all intervals. */
    public static final double CONFIDENCE = 0.95;

    /**
     * Compares paired values.
     *
     * @param candidate one value per block
     * @param baseline one value per block, in the same order
     * @param seed of the bootstrap
     */
    public static Comparison of(
            String candidateName, double[] candidate, String baselineName, double[] baseline, long seed) {
        int pairs = candidate.length;
        if (pairs == 0) {
            return new Comparison(candidateName, baselineName, 0, 1, 0, new Verdict.TooFew(0, Bootstrap.LEAST_BLOCKS));
        }
        Sample candidateSample = Sample.of(candidate);
        Sample baselineSample = Sample.of(baseline);
        if (candidateSample.min() <= 0 || baselineSample.min() <= 0) {
            return new Comparison(candidateName, baselineName, pairs, 1, 0, new Verdict.NoRatio());
        }
        double ratio = Bootstrap.ratioOfMedians(candidate, baseline);
        double spread = Math.max(candidateSample.relativeSpread(), baselineSample.relativeSpread());
        return new Comparison(
                candidateName, baselineName, pairs, ratio, spread, judge(candidate, baseline, ratio, spread, seed));
    }

    private static Verdict judge(double[] candidate, double[] baseline, double ratio, double spread, long seed) {
        if (candidate.length < Bootstrap.LEAST_BLOCKS) {
            return new Verdict.TooFew(candidate.length, Bootstrap.LEAST_BLOCKS);
        }
        Interval interval = Bootstrap.ratioInterval(candidate, baseline, CONFIDENCE, seed);
        if (!interval.contains(1)) {
            return new Verdict.Differs(ratio, interval);
        }
        boolean noisy = spread > NOISY_SPREAD || interval.high() - interval.low() > WIDE_INTERVAL;
        return noisy ? new Verdict.Noisy(spread, interval) : new Verdict.NoDifference(interval);
    }

    /**
     * The verdict in one line, such as {@code no difference shown: −1.2 % … +0.9 %}.
     *
     * @param moreWord what a case with the higher figure is called, such as {@code faster}
     * @param lessWord what a case with the lower figure is called, such as {@code slower}
     */
    public String text(String moreWord, String lessWord) {
        return switch (verdict) {
            case Verdict.TooFew few ->
                "too few repeats to say: " + few.have() + " of at least " + few.need() + " pairs"
                        + (few.have() == 0 ? "" : ", medians differ by " + percent(ratio));
            case Verdict.NoRatio ignored -> "no ratio: a figure is zero";
            case Verdict.Noisy noisy ->
                "noisy: spread " + plainPercent(noisy.spread()) + ", nothing shown: " + range(noisy.change());
            case Verdict.NoDifference none -> "no difference shown: " + range(none.change());
            case Verdict.Differs differs ->
                candidateName + " is " + (differs.ratio() >= 1 ? moreWord : lessWord) + ": " + percent(differs.ratio())
                        + " (" + range(differs.change()) + ")"
                        + (spread > NOISY_SPREAD ? ", noisy: spread " + plainPercent(spread) : "");
        };
    }

    /** A ratio as a signed change: 1.041 gives {@code +4.1 %}. */
    public static String percent(double ratio) {
        double change = (ratio - 1) * 100;
        String digits = String.format(Locale.ROOT, Math.abs(change) >= 100 ? "%.0f" : "%.1f", Math.abs(change));
        boolean zero = digits.equals("0.0");
        return (zero ? "±" : change < 0 ? "−" : "+") + digits + " %";
    }

    private static String plainPercent(double share) {
        return String.format(Locale.ROOT, "%.0f %%", share * 100);
    }

    private static String range(Interval interval) {
        return percent(interval.low()) + " … " + percent(interval.high());
    }
}
