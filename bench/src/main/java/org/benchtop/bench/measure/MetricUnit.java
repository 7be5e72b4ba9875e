package org.benchtop.bench.measure;

import java.util.Locale;
import java.util.Optional;

/** A unit in which figures are shown. */
public enum MetricUnit {
    PER_SECOND("1/s", Dimension.RATE, 1),
    BYTES_PER_SECOND("B/s", Dimension.BANDWIDTH, 1),
    KB_PER_SECOND("KB/s", Dimension.BANDWIDTH, 1e3),
    MB_PER_SECOND("MB/s", Dimension.BANDWIDTH, 1e6),
    KIB_PER_SECOND("KiB/s", Dimension.BANDWIDTH, 1024),
    MIB_PER_SECOND("MiB/s", Dimension.BANDWIDTH, 1024 * 1024),
    NANOSECONDS("ns", Dimension.TIME, 1),
    MICROSECONDS("µs", Dimension.TIME, 1e3),
    MILLISECONDS("ms", Dimension.TIME, 1e6),
    COUNT("", Dimension.COUNT, 1),
    PERCENT("%", Dimension.SHARE, 0.01);

    /** What can be converted into each other. */
    enum Dimension {
        RATE,
        BANDWIDTH,
        TIME,
        COUNT,
        SHARE
    }

    private final String symbol;
    private final Dimension dimension;
    private final double size;

    MetricUnit(String symbol, Dimension dimension, double size) {
        this.symbol = symbol;
        this.dimension = dimension;
        this.size = size;
    }

    /** As written after a figure; empty for plain counts. */
    public String symbol() {
        return symbol;
    }

    /** A figure in base units (1/s, B/s, ns, 1) in this unit. */
    public double fromBase(double base) {
        return base / size;
    }

    /** Whether figures in {@code other} can be shown in this unit. */
    public boolean convertsFrom(MetricUnit other) {
        return dimension == other.dimension;
    }

    /** The unit with a symbol; {@code us} is taken for µs. */
    public static Optional<MetricUnit> bySymbol(String symbol) {
        String wanted = symbol.equals("us") ? "µs" : symbol;
        for (MetricUnit unit : values()) {
            if (unit.symbol.equals(wanted)) {
                return Optional.of(unit);
            }
        }
        return Optional.empty();
    }

    /** A figure in this unit with three to four significant digits, without the symbol: {@code 4,904}, {@code 0.0312}. */
    public static String format(double value) {
        double size = Math.abs(value);
        if (size == 0) {
            return "0";
        }
        if (size >= 1000) {
            return String.format(Locale.ROOT, "%,.0f", value);
        }
        if (size >= 100) {
            return String.format(Locale.ROOT, "%.1f", value);
        }
        if (size >= 1) {
            return String.format(Locale.ROOT, "%.2f", value);
        }
        return String.format(Locale.ROOT, size >= 0.1 ? "%.3f" : size >= 0.001 ? "%.4f" : "%.2g", value);
    }
}
