package org.benchtop.bench.measure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

class MetricTest {
    private static final Latency LATENCY =
            new Latency(100, 50_000, 80_000, 200_000, 10_000, List.of(new LatencyBucket(90_000, 100)));

    private static GuestMeasurement guest(long requests, long elapsedNanos) {
        return new GuestMeasurement(
                requests,
                requests,
                0,
                requests * 4096,
                0,
                elapsedNanos,
                Latency.NONE,
                LATENCY,
                requests,
                Map.of("pio-out", 2 * requests, "hlt", requests),
                requests / 2,
                Map.of());
    }

    private static Measurement of(GuestMeasurement... guests) {
        return new Measurement(
                List.of(guests), new HostCpu(1_000_000_000, 500_000_000, 300_000_000, -1), "kvm", Map.of());
    }

    @Test
    void figuresComeInTheirShownUnits() {
        Measurement measurement = of(guest(10_000, 2_000_000_000L));

        assertEquals(OptionalDouble.of(5000), Metric.IOPS.value(measurement));
        assertEquals(OptionalDouble.of(20.48), Metric.BANDWIDTH.value(measurement));
        assertEquals(OptionalDouble.of(80), Metric.CLAT_MEAN.value(measurement));
        assertEquals(OptionalDouble.of(90), Metric.CLAT_P99.value(measurement));
        assertEquals(OptionalDouble.of(3), Metric.EXITS_PER_REQUEST.value(measurement));
        assertEquals(OptionalDouble.of(0.5), Metric.INTERRUPTS_PER_REQUEST.value(measurement));
        assertEquals(OptionalDouble.of(50), Metric.HOST_CPU_PER_REQUEST.value(measurement));
        assertEquals(OptionalDouble.of(50), Metric.HOST_CPU.value(measurement));
    }

    @Test
    void throughputOfSeveralGuestsAddsUp() {
        Measurement measurement = of(guest(1000, 1_000_000_000L), guest(3000, 1_000_000_000L));

        assertEquals(OptionalDouble.of(4000), Metric.IOPS.value(measurement));
        assertEquals(OptionalDouble.of(1000), Metric.IOPS.value(measurement.ofGuest(0)));
        assertEquals(OptionalDouble.of(3000), Metric.IOPS.value(measurement.ofGuest(1)));
    }

    @Test
    void whatWasNotMeasuredIsMissing() {
        Measurement measurement = of(guest(0, 0));

        assertEquals(OptionalDouble.empty(), Metric.IOPS.value(measurement));
        assertEquals(OptionalDouble.empty(), Metric.SLAT_MEAN.value(measurement));
        assertEquals(OptionalDouble.empty(), Metric.EXITS_PER_REQUEST.value(measurement));
        assertEquals(OptionalDouble.empty(), Metric.LOOP_CPU_PER_REQUEST.value(of(guest(10, 10))));
        assertEquals(
                OptionalDouble.empty(), Metric.HOST_CPU.value(of(guest(10, 10)).ofGuest(0)));
    }

    @Test
    void keysAreUniqueAndFindTheirMetric() {
        assertEquals(Metric.values().length, new HashSet<>(Metric.keys()).size());
        for (Metric metric : Metric.values()) {
            assertEquals(Optional.of(metric), Metric.byKey(metric.key()));
        }
        assertTrue(Metric.byKey("speed").isEmpty());
    }

    @Test
    void figuresAreWrittenWithAboutFourDigits() {
        assertEquals("0", MetricUnit.format(0));
        assertEquals("41,234", MetricUnit.format(41_234.4));
        assertEquals("162.0", MetricUnit.format(162.02));
        assertEquals("3.75", MetricUnit.format(3.749));
        assertEquals("0.1000", MetricUnit.format(0.0999999));
        assertEquals("0.0312", MetricUnit.format(0.03121));
    }
}
