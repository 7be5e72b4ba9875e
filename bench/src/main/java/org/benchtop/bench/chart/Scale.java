package org.benchtop.bench.chart;

import java.util.ArrayList;
import java.util.List;

/** Maps figures to coordinates and finds round figures for ticks. */
final class Scale {
    private final double low;
    private final double high;
    private final double from;
    private final double to;
    private final boolean logarithmic;
    private final List<Double> ticks;

    private Scale(double low, double high, double from, double to, boolean logarithmic, List<Double> ticks) {
        this.low = low;
        this.high = high;
        this.from = from;
        this.to = to;
        this.logarithmic = logarithmic;
        this.ticks = ticks;
    }

    /** A linear scale that holds both figures, with ends at round ones. */
    static Scale linear(double least, double greatest, double from, double to, int wantedTicks) {
        double span = greatest > least ? greatest - least : Math.max(1, Math.abs(greatest));
        double step = niceStep(span / wantedTicks);
        double low = Math.floor(least / step + 1e-9) * step;
        double high = Math.ceil((greatest > least ? greatest : least + span) / step - 1e-9) * step;
        List<Double> ticks = new ArrayList<>();
        for (int i = 0; low + i * step <= high + step / 2; i++) {
            double tick = low + i * step;
            ticks.add(Math.abs(tick) < step / 1e6 ? 0 : tick);
        }
        return new Scale(low, high, from, to, false, ticks);
    }

    /** A logarithmic scale whose ends are 1, 2 or 5 times a power of ten. */
    static Scale logarithmic(double least, double greatest, double from, double to) {
        List<Double> steps = new ArrayList<>();
        for (int power = -3; power <= 12; power++) {
            for (int digit : new int[] {1, 2, 5}) {
                steps.add(digit * Math.pow(10, power));
            }
        }
        double low = steps.getFirst();
        double high = steps.getLast();
        for (double step : steps) {
            low = step <= least ? step : low;
        }
        for (double step : steps.reversed()) {
            high = step >= greatest ? step : high;
        }
        if (high <= low) {
            high = low * 2;
        }
        List<Double> ticks = new ArrayList<>();
        boolean many = high / low > 2000;
        for (double step : steps) {
            boolean decade = Math.abs(Math.log10(step) - Math.rint(Math.log10(step))) < 1e-9;
            if (step >= low * 0.999 && step <= high * 1.001 && (!many || decade)) {
                ticks.add(step);
            }
        }
        return new Scale(low, high, from, to, true, ticks);
    }

    private static double niceStep(double raw) {
        double power = Math.pow(10, Math.floor(Math.log10(raw)));
        double digit = raw / power;
        return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 2.5 ? 2.5 : digit <= 5 ? 5 : 10);
    }

    double at(double value) {
        double part = logarithmic
                ? Math.log(Math.max(value, low) / low) / Math.log(high / low)
                : (value - low) / (high - low);
        return from + Math.clamp(part, 0, 1) * (to - from);
    }

    List<Double> ticks() {
        return ticks;
    }

    double low() {
        return low;
    }

    /** A tick's figure, short. */
    static String label(double tick) {
        double size = Math.abs(tick);
        if (size >= 1e6) {
            return trimmed(tick / 1e6) + "M";
        }
        if (size >= 1000) {
            return String.format(java.util.Locale.ROOT, "%,.0f", tick);
        }
        return trimmed(tick);
    }

    private static String trimmed(double value) {
        String digits = String.format(java.util.Locale.ROOT, "%.3f", value);
        return digits.contains(".") ? digits.replaceAll("0+$", "").replaceAll("\\.$", "") : digits;
    }
}
