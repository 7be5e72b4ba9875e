package org.benchtop.bench.chart;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class ScaleTest {
    @Test
    void linearTicksAreRound() {
        Scale scale = Scale.linear(0, 41_234, 0, 100, 6);

        assertEquals(List.of(0.0, 10_000.0, 20_000.0, 30_000.0, 40_000.0, 50_000.0), scale.ticks());
        assertEquals(0, scale.at(0));
        assertEquals(100, scale.at(50_000));
        assertEquals(50, scale.at(25_000));
    }

    @Test
    void zeroIsATickOfAScaleAroundIt() {
        assertTrue(Scale.linear(-2.3, 4.1, 0, 100, 6).ticks().contains(0.0));
    }

    @Test
    void oneValueStillHasAScale() {
        Scale scale = Scale.linear(5, 5, 0, 100, 4);

        assertTrue(scale.ticks().size() >= 2, scale.ticks().toString());
        assertTrue(Double.isFinite(scale.at(5)));
        assertTrue(Double.isFinite(Scale.linear(0, 0, 0, 100, 4).at(0)));
        assertTrue(Double.isFinite(Scale.logarithmic(5, 5, 0, 100).at(5)));
    }

    @Test
    void logarithmicTicksAreOneTwoAndFive() {
        assertEquals(
                List.of(20.0, 50.0, 100.0, 200.0, 500.0),
                Scale.logarithmic(30, 430, 0, 100).ticks());
        Scale scale = Scale.logarithmic(10, 1000, 0, 100);
        assertEquals(50, scale.at(100), 1e-9);
    }

    @Test
    void labelsAreShort() {
        assertEquals("2.5M", Scale.label(2_500_000));
        assertEquals("20,000", Scale.label(20_000));
        assertEquals("0.25", Scale.label(0.25));
        assertEquals("-2", Scale.label(-2));
    }
}
