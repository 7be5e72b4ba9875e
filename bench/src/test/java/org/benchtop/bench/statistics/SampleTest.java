package org.benchtop.bench.statistics;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class SampleTest {
    @Test
    void medianOfAnOddNumberIsTheMiddleValue() {
        assertEquals(3, Sample.of(5, 1, 3).median());
    }

    @Test
    void medianOfAnEvenNumberIsTheMeanOfTheMiddleTwo() {
        assertEquals(2.5, Sample.of(4, 1, 3, 2).median());
    }

    @Test
    void quantilesInterpolateBetweenOrderStatistics() {
        Sample sample = Sample.of(10, 20, 30, 40);

        assertEquals(17.5, sample.quantile(0.25));
        assertEquals(32.5, sample.quantile(0.75));
        assertEquals(10, sample.quantile(0));
        assertEquals(40, sample.quantile(1));
        assertEquals(15, sample.interquartileRange());
    }

    @Test
    void oneOutlierDoesNotMoveRobustFigures() {
        Sample sample = Sample.of(100, 101, 99, 100, 100_000);

        assertEquals(100, sample.median());
        assertEquals(1, sample.medianAbsoluteDeviation());
        assertEquals(0.01, sample.relativeSpread(), 1e-12);
    }

    @Test
    void oneValueHasNoSpread() {
        Sample sample = Sample.of(7);

        assertEquals(0, sample.interquartileRange());
        assertEquals(0, sample.medianAbsoluteDeviation());
        assertEquals(0, sample.relativeSpread());
    }

    @Test
    void valuesAreACopy() {
        double[] given = {2, 1};
        Sample sample = Sample.of(given);
        given[0] = 99;
        sample.values()[0] = 99;

        assertArrayEquals(new double[] {1, 2}, sample.values());
    }

    @Test
    void emptyAndInfiniteSamplesAreRefused() {
        assertThrows(IllegalArgumentException.class, Sample::of);
        assertThrows(IllegalArgumentException.class, () -> Sample.of(1, Double.NaN));
        assertThrows(IllegalArgumentException.class, () -> Sample.of(Double.POSITIVE_INFINITY));
    }
}
