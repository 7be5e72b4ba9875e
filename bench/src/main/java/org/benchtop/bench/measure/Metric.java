package org.benchtop.bench.measure;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.ToDoubleFunction;

/** A figure of a run that can be shown, compared and charted. */
public enum Metric {
    IOPS("iops", "IOPS", "requests per second", MetricUnit.PER_SECOND, "faster", "slower", Metric::iops),
    BANDWIDTH("bandwidth", "MB/s", "bytes per second", MetricUnit.MB_PER_SECOND, "faster", "slower", Metric::bandwidth),
    SLAT_MEAN("slat-mean", "slat mean", "mean submission latency", MetricUnit.MICROSECONDS, slat(Latency::meanNanos)),
    SLAT_STDEV(
            "slat-stdev",
            "slat stdev",
            "standard deviation of submission latency",
            MetricUnit.MICROSECONDS,
            slat(Latency::stdevNanos)),
    SLAT_MIN("slat-min", "slat min", "least submission latency", MetricUnit.MICROSECONDS, slat(Latency::minNanos)),
    SLAT_MAX("slat-max", "slat max", "greatest submission latency", MetricUnit.MICROSECONDS, slat(Latency::maxNanos)),
    SLAT_P50(
            "slat-p50",
            "slat p50",
            "median submission latency",
            MetricUnit.MICROSECONDS,
            slat(latency -> latency.quantileNanos(0.5))),
    SLAT_P99(
            "slat-p99",
            "slat p99",
            "99th percentile of submission latency",
            MetricUnit.MICROSECONDS,
            slat(latency -> latency.quantileNanos(0.99))),
    SLAT_P999(
            "slat-p99.9",
            "slat p99.9",
            "99.9th percentile of submission latency",
            MetricUnit.MICROSECONDS,
            slat(latency -> latency.quantileNanos(0.999))),
    CLAT_MEAN("clat-mean", "clat mean", "mean completion latency", MetricUnit.MICROSECONDS, clat(Latency::meanNanos)),
    CLAT_STDEV(
            "clat-stdev",
            "clat stdev",
            "standard deviation of completion latency",
            MetricUnit.MICROSECONDS,
            clat(Latency::stdevNanos)),
    CLAT_MIN("clat-min", "clat min", "least completion latency", MetricUnit.MICROSECONDS, clat(Latency::minNanos)),
    CLAT_MAX("clat-max", "clat max", "greatest completion latency", MetricUnit.MICROSECONDS, clat(Latency::maxNanos)),
    CLAT_P50(
            "clat-p50",
            "clat p50",
            "median completion latency",
            MetricUnit.MICROSECONDS,
            clat(latency -> latency.quantileNanos(0.5))),
    CLAT_P99(
            "clat-p99",
            "clat p99",
            "99th percentile of completion latency",
            MetricUnit.MICROSECONDS,
            clat(latency -> latency.quantileNanos(0.99))),
    CLAT_P999(
            "clat-p99.9",
            "clat p99.9",
            "99.9th percentile of completion latency",
            MetricUnit.MICROSECONDS,
            clat(latency -> latency.quantileNanos(0.999))),
    EXITS_PER_REQUEST(
            "exits-per-request",
            "exits/req",
            "vCPU exits per request",
            MetricUnit.COUNT,
            "dearer",
            "cheaper",
            measurement -> perRequest(
                    measurement,
                    measurement.guests().stream()
                            .mapToLong(GuestMeasurement::exitCount)
                            .sum())),
    INTERRUPTS_PER_REQUEST(
            "interrupts-per-request",
            "irqs/req",
            "interrupts per request",
            MetricUnit.COUNT,
            "dearer",
            "cheaper",
            measurement -> perRequest(
                    measurement,
                    measurement.guests().stream()
                            .mapToLong(GuestMeasurement::interrupts)
                            .sum())),
    HOST_CPU_PER_REQUEST(
            "host-cpu-per-request",
            "CPU/req",
            "host CPU time per request, all threads of the process",
            MetricUnit.MICROSECONDS,
            "dearer",
            "cheaper",
            measurement -> perRequest(measurement, measurement.cpu().processNanos())),
    VCPU_CPU_PER_REQUEST(
            "vcpu-cpu-per-request",
            "vCPU/req",
            "host CPU time of the vCPU threads per request, guest code included",
            MetricUnit.MICROSECONDS,
            "dearer",
            "cheaper",
            measurement -> perRequest(measurement, measurement.cpu().vcpuNanos())),
    LOOP_CPU_PER_REQUEST(
            "loop-cpu-per-request",
            "loop/req",
            "host CPU time of the event loops per request",
            MetricUnit.MICROSECONDS,
            "dearer",
            "cheaper",
            measurement -> perRequest(measurement, measurement.cpu().loopNanos())),
    HOST_CPU(
            "host-cpu",
            "CPU %",
            "host CPU use of the process; 100 % is one CPU",
            MetricUnit.PERCENT,
            "dearer",
            "cheaper",
            measurement ->
                    measurement.cpu().processNanos() < 0 || measurement.cpu().elapsedNanos() <= 0
                            ? Double.NaN
                            : (double) measurement.cpu().processNanos()
                                    / measurement.cpu().elapsedNanos());

    private final String key;
    private final String heading;
    private final String meaning;
    private final MetricUnit unit;
    private final String moreWord;
    private final String lessWord;
    private final ToDoubleFunction<Measurement> base;

    Metric(
            String key,
            String heading,
            String meaning,
            MetricUnit unit,
            String moreWord,
            String lessWord,
            ToDoubleFunction<Measurement> base) {
        this.key = key;
        this.heading = heading;
        this.meaning = meaning;
        this.unit = unit;
        this.moreWord = moreWord;
        this.lessWord = lessWord;
        this.base = base;
    }

    Metric(String key, String heading, String meaning, MetricUnit unit, ToDoubleFunction<Measurement> base) {
        this(key, heading, meaning, unit, "slower", "faster", base);
    }

    /** The name in YAML, JSON and CSV, such as {@code clat-p99}. */
    public String key() {
        return key;
    }

    /** A short column heading, without the unit of times. */
    public String heading() {
        return heading;
    }

    /** A phrase that explains it. */
    public String meaning() {
        return meaning;
    }

    /** The unit it is shown in. */
    public MetricUnit unit() {
        return unit;
    }

    /** What a case with a higher figure is called. */
    public String moreWord() {
        return moreWord;
    }

    /** What a case with a lower figure is called. */
    public String lessWord() {
        return lessWord;
    }

    /** Heading with unit, such as {@code clat p99 µs}. */
    public String headingWithUnit() {
        return unit == MetricUnit.MICROSECONDS ? heading + " " + unit.symbol() : heading;
    }

    /** The figure in base units (1/s, B/s, ns, 1); empty when the run did not measure it. */
    public OptionalDouble base(Measurement measurement) {
        double value = base.applyAsDouble(measurement);
        return Double.isFinite(value) ? OptionalDouble.of(value) : OptionalDouble.empty();
    }

    /** The figure in {@link #unit()}; empty when the run did not measure it. */
    public OptionalDouble value(Measurement measurement) {
        OptionalDouble value = base(measurement);
        return value.isPresent() ? OptionalDouble.of(unit.fromBase(value.getAsDouble())) : value;
    }

    /** The metric with a key. */
    public static Optional<Metric> byKey(String key) {
        return Arrays.stream(values()).filter(metric -> metric.key.equals(key)).findFirst();
    }

    /** All keys in declaration order. */
    public static List<String> keys() {
        return Arrays.stream(values()).map(Metric::key).toList();
    }

    private static double iops(Measurement measurement) {
        double sum = 0;
        for (GuestMeasurement guest : measurement.guests()) {
            sum += perSecond(guest.requests(), guest.elapsedNanos());
        }
        return sum;
    }

    private static double bandwidth(Measurement measurement) {
        double sum = 0;
        for (GuestMeasurement guest : measurement.guests()) {
            sum += perSecond(guest.bytes(), guest.elapsedNanos());
        }
        return sum;
    }

    private static double perSecond(long amount, long elapsedNanos) {
        return elapsedNanos <= 0 ? Double.NaN : amount * 1e9 / elapsedNanos;
    }

    private static double perRequest(Measurement measurement, long amount) {
        long requests = measurement.guests().stream()
                .mapToLong(GuestMeasurement::windowRequests)
                .sum();
        return requests == 0 || amount < 0 ? Double.NaN : (double) amount / requests;
    }

    private static ToDoubleFunction<Measurement> clat(ToDoubleFunction<Latency> figure) {
        return measurement -> figure(measurement.clat(), figure);
    }

    private static ToDoubleFunction<Measurement> slat(ToDoubleFunction<Latency> figure) {
        return measurement -> figure(measurement.slat(), figure);
    }

    private static double figure(Latency latency, ToDoubleFunction<Latency> figure) {
        return latency.measured() ? figure.applyAsDouble(latency) : Double.NaN;
    }
}
