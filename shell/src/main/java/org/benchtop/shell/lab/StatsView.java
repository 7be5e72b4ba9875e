package org.benchtop.shell.lab;

import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.HdrHistogram.Histogram;
import org.benchtop.engine.stats.StatsSnapshot;

/**
 * Every counter of a machine, and how fast they have moved since an earlier look.
 *
 * @param machine its name
 * @param now the counters
 * @param before the look before; empty for the first one
 */
public record StatsView(String machine, StatsSnapshot now, Optional<StatsSnapshot> before) {
    /** The counter's value; 0 if there is none of that name. */
    public long value(String entry, String counter) {
        return now.value(entry, counter);
    }

    /** Events per second since the look before; NaN for the first one. */
    public double rate(String entry, String counter) {
        return before.map(old -> (now.value(entry, counter) - old.value(entry, counter)) / seconds())
                .orElse(Double.NaN);
    }

    /** The time since the look before; NaN for the first one. */
    public double seconds() {
        return before.map(old -> (now.nanoTime() - old.nanoTime()) / 1e9).orElse(Double.NaN);
    }

    /** What has happened since the look before; everything for the first one. */
    public StatsSnapshot delta() {
        return before.map(now::since).orElse(now);
    }

    /** This look with another earlier one to compare with. */
    public StatsView since(StatsView earlier) {
        return new StatsView(machine, now, Optional.of(earlier.now));
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(machine);
        before.ifPresent(old -> text.append(String.format(Locale.ROOT, ", rates over the last %.2f s", seconds())));
        text.append('\n');
        TextColumns table = new TextColumns("llrr");
        StatsSnapshot delta = delta();
        now.entries().forEach((entry, values) -> {
            values.values().forEach((name, value) -> {
                if (value != 0) {
                    double rate = rate(entry, name);
                    table.row(
                            entry,
                            name,
                            String.format(Locale.ROOT, "%,d", value),
                            Double.isNaN(rate) || rate == 0 ? "" : String.format(Locale.ROOT, "%,.1f/s", rate));
                }
            });
            StatsSnapshot.Entry recent = delta.entries().get(entry);
            Map<String, Histogram> histograms = recent == null ? Map.of() : recent.histograms();
            histograms.forEach((name, histogram) -> {
                if (histogram.getTotalCount() > 0) {
                    table.row(
                            entry,
                            name,
                            "p50 " + micros(histogram, 50),
                            "p99 " + micros(histogram, 99) + ", max "
                                    + String.format(Locale.ROOT, "%.1f µs", histogram.getMaxValue() / 1e3));
                }
            });
        });
        return text.append(table.render("  ")).toString().stripTrailing();
    }

    private static String micros(Histogram histogram, double percentile) {
        return String.format(Locale.ROOT, "%.1f µs", histogram.getValueAtPercentile(percentile) / 1e3);
    }
}
