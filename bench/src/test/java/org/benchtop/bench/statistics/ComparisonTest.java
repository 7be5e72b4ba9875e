package org.benchtop.bench.statistics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import org.junit.jupiter.api.Test;

class ComparisonTest {
    private static final double[] STEADY = {1000, 1002, 998, 1001, 999, 1003, 997, 1000};

    private static double[] times(double factor) {
        return Arrays.stream(STEADY).map(value -> value * factor).toArray();
    }

    private static String text(Comparison comparison) {
        return comparison.text("faster", "slower");
    }

    @Test
    void aClearGainIsSaidWithItsInterval() {
        Comparison comparison = Comparison.of("on", times(1.04), "off", STEADY, 1);

        assertInstanceOf(Verdict.Differs.class, comparison.verdict());
        assertTrue(
                text(comparison).matches("on is faster: \\+4\\.0 % \\(\\+[0-9.]+ % … \\+[0-9.]+ %\\)"),
                text(comparison));
    }

    @Test
    void aClearLossIsSaidWithItsInterval() {
        Comparison comparison = Comparison.of("on", times(0.9), "off", STEADY, 1);

        assertTrue(text(comparison).startsWith("on is slower: −10.0 % (−"), text(comparison));
    }

    @Test
    void noDifferenceIsNotClaimedToBeOne() {
        double[] shuffled = {1001, 997, 1002, 1000, 1003, 999, 998, 1000};
        Comparison comparison = Comparison.of("on", shuffled, "off", STEADY, 1);

        assertInstanceOf(Verdict.NoDifference.class, comparison.verdict());
        assertTrue(text(comparison).matches("no difference shown: [−±][0-9.]+ % … [+±][0-9.]+ %"), text(comparison));
    }

    @Test
    void wildRunsAreCalledNoisy() {
        double[] wild = {400, 1600, 900, 1100, 500, 1500, 1000, 1050};
        Comparison comparison = Comparison.of("on", wild, "off", STEADY, 1);

        assertInstanceOf(Verdict.Noisy.class, comparison.verdict());
        assertTrue(text(comparison).matches("noisy: spread \\d+ %, nothing shown: .*"), text(comparison));
    }

    @Test
    void aWideIntervalIsNotCalledEqual() {
        double[] half = {900, 1100, 905, 1095, 1090, 910};
        double[] other = {1100, 910, 1095, 900, 905, 1105};
        Comparison comparison = Comparison.of("on", half, "off", other, 1);

        assertInstanceOf(Verdict.Noisy.class, comparison.verdict(), comparison.toString());
    }

    @Test
    void fewPairsGiveNoVerdict() {
        Comparison comparison = Comparison.of("on", new double[] {2000, 2000}, "off", new double[] {1000, 1000}, 1);

        assertEquals("too few repeats to say: 2 of at least 5 pairs, medians differ by +100 %", text(comparison));
    }

    @Test
    void noPairsGiveNoVerdict() {
        assertEquals(
                "too few repeats to say: 0 of at least 5 pairs",
                text(Comparison.of("on", new double[0], "off", new double[0], 1)));
    }

    @Test
    void zeroHasNoRatio() {
        double[] none = new double[8];

        assertEquals("no ratio: a figure is zero", text(Comparison.of("on", STEADY, "off", none, 1)));
    }

    @Test
    void changesCarryTheirSign() {
        assertEquals("+4.1 %", Comparison.percent(1.041));
        assertEquals("−1.2 %", Comparison.percent(0.988));
        assertEquals("±0.0 %", Comparison.percent(1.0001));
        assertEquals("+250 %", Comparison.percent(3.5));
    }
}
