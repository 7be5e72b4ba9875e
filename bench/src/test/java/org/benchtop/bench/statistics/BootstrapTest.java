package org.benchtop.bench.statistics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BootstrapTest {
    private static final int EXPERIMENTS = 300;

    @ParameterizedTest
    @CsvSource({"5, 1.0", "10, 1.0", "20, 1.0", "10, 1.3", "20, 0.8"})
    void intervalsCoverTheTrueRatioAboutAsOftenAsTheySay(int blocks, double trueRatio) {
        Random random = new Random(blocks * 1000 + Math.round(trueRatio * 10));
        int covered = 0;
        for (int experiment = 0; experiment < EXPERIMENTS; experiment++) {
            double[] candidate = new double[blocks];
            double[] baseline = new double[blocks];
            for (int i = 0; i < blocks; i++) {
                candidate[i] = 1000 * trueRatio * Math.exp(0.05 * random.nextGaussian());
                baseline[i] = 1000 * Math.exp(0.05 * random.nextGaussian());
            }
            if (Bootstrap.ratioInterval(candidate, baseline, 0.95, experiment).contains(trueRatio)) {
                covered++;
            }
        }
        double coverage = (double) covered / EXPERIMENTS;

        // 95 % is wanted; the percentile bootstrap of a median errs on the wide side for few blocks, and 300
        // experiments have a standard error of 1.3 %.
        assertTrue(coverage >= 0.90, "coverage " + coverage);
        assertTrue(coverage <= 0.999, "coverage " + coverage + ": intervals so wide that they say nothing");
    }

    @Test
    void whatDisturbsWholeBlocksDoesNotWidenTheInterval() {
        Random random = new Random(5);
        double[] candidate = new double[12];
        double[] baseline = new double[12];
        double[] unpaired = new double[12];
        for (int i = 0; i < 12; i++) {
            double disturbance = Math.exp(0.4 * random.nextGaussian());
            candidate[i] = 1100 * disturbance;
            baseline[i] = 1000 * disturbance;
            unpaired[(i + 5) % 12] = baseline[i];
        }

        Interval paired = Bootstrap.ratioInterval(candidate, baseline, 0.95, 1);
        Interval shuffled = Bootstrap.ratioInterval(candidate, unpaired, 0.95, 1);

        assertTrue(paired.contains(1.1), paired.toString());
        assertTrue(paired.high() - paired.low() < 0.02, paired.toString());
        assertTrue(shuffled.high() - shuffled.low() > 0.2, shuffled.toString());
    }

    @Test
    void moreBlocksGiveNarrowerIntervals() {
        assertTrue(width(40) < width(8), width(40) + " and " + width(8));
    }

    private static double width(int blocks) {
        Random random = new Random(11);
        double[] candidate = random.doubles(blocks, 900, 1100).toArray();
        double[] baseline = random.doubles(blocks, 900, 1100).toArray();
        Interval interval = Bootstrap.ratioInterval(candidate, baseline, 0.95, 1);
        return interval.high() - interval.low();
    }

    @Test
    void sameSeedGivesTheSameIntervalAndAnotherSeedAnotherOne() {
        Random random = new Random(3);
        double[] candidate = random.doubles(15, 900, 1100).toArray();
        double[] baseline = random.doubles(15, 900, 1100).toArray();

        Interval first = Bootstrap.ratioInterval(candidate, baseline, 0.95, 42);

        assertEquals(first, Bootstrap.ratioInterval(candidate, baseline, 0.95, 42));
        assertNotEquals(first, Bootstrap.ratioInterval(candidate, baseline, 0.90, 42));
    }

    @Test
    void constantValuesGiveAPoint() {
        double[] candidate = new double[6];
        double[] baseline = new double[6];
        Arrays.fill(candidate, 30);
        Arrays.fill(baseline, 20);

        assertEquals(new Interval(1.5, 1.5), Bootstrap.ratioInterval(candidate, baseline, 0.95, 1));
    }

    @Test
    void whatHasNoMeaningIsRefused() {
        double[] five = {1, 2, 3, 4, 5};
        assertThrows(IllegalArgumentException.class, () -> Bootstrap.ratioInterval(five, new double[4], 0.95, 1));
        assertThrows(
                IllegalArgumentException.class,
                () -> Bootstrap.ratioInterval(new double[] {1, 2, 3, 4}, new double[] {1, 2, 3, 4}, 0.95, 1));
        assertThrows(
                IllegalArgumentException.class,
                () -> Bootstrap.ratioInterval(five, new double[] {1, 2, 0, 4, 5}, 0.95, 1));
        assertThrows(IllegalArgumentException.class, () -> Bootstrap.ratioInterval(five, five, 1.5, 1));
    }
}
