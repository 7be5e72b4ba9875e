package org.benchtop.shell.lab;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;
import org.benchtop.bench.measure.Latency;
import org.benchtop.bench.measure.LatencyBucket;
import org.benchtop.bench.measure.Metric;
import org.benchtop.bench.measure.MetricUnit;
import org.benchtop.bench.report.CaseSummary;
import org.benchtop.bench.report.Report;
import org.benchtop.bench.statistics.Sample;
import org.benchtop.spi.BenchtopException;

/**
 * A chart as data. Immutable; each method gives a changed copy. A front end draws it; {@link #toString} draws it with
 * characters.
 *
 * @param kind how series are drawn
 * @param title may be empty
 * @param x the horizontal axis; without meaning for bars
 * @param y the vertical axis
 * @param series at least one
 * @param categories names of the bars of every series, in order; empty for other kinds
 */
public record Plot(Kind kind, String title, Axis x, Axis y, List<Series> series, List<String> categories) {
    private static final int COLUMNS = 64;
    private static final int ROWS = 16;
    private static final char[] MARKS = {'●', '○', '◆', '◇', '■', '□', '▲', '△'};

    public Plot {
        series = List.copyOf(series);
        categories = List.copyOf(categories);
        if (series.isEmpty()) {
            throw BenchtopException.config("a plot needs at least one series");
        }
        for (Series one : series) {
            if (kind == Kind.BAR && one.points().size() != categories.size()) {
                throw BenchtopException.config("series \"" + one.name() + "\" has "
                        + one.points().size() + " values for " + categories.size() + " bars");
            }
        }
    }

    /** How series are drawn. */
    public enum Kind {
        /** Points joined by lines. */
        LINE,
        /** Steps, for distributions: y is the share of values that are at most x. */
        CDF,
        /** One bar per category and series. */
        BAR,
    }

    /**
     * An axis.
     *
     * @param label with its unit, such as {@code latency (µs)}; may be empty
     * @param log whether its scale is logarithmic
     */
    public record Axis(String label, boolean log) {
        /** A linear axis without label. */
        public static final Axis PLAIN = new Axis("", false);
    }

    /**
     * A point; the error bar reaches from {@code low} to {@code high}, both equal to {@code y} where there is none.
     */
    public record Point(double x, double y, double low, double high) {
        /** A point without error bar. */
        public static Point of(double x, double y) {
            return new Point(x, y, y, y);
        }
    }

    /** Some points with a name for the legend; the name may be empty if there is one series only. */
    public record Series(String name, List<Point> points) {
        public Series {
            points = List.copyOf(points);
        }
    }

    /** A line through values at 0, 1, 2, …. */
    public static Plot of(double... ys) {
        double[] xs = new double[ys.length];
        Arrays.setAll(xs, i -> i);
        return line("", xs, ys);
    }

    /** A line. */
    public static Plot line(String name, double[] xs, double[] ys) {
        return new Plot(Kind.LINE, "", Axis.PLAIN, Axis.PLAIN, List.of(seriesOf(name, xs, ys)), List.of());
    }

    /** Bars. */
    public static Plot bars(Map<String, ? extends Number> values) {
        List<Point> points = new ArrayList<>();
        values.forEach((name, value) -> points.add(Point.of(points.size(), value.doubleValue())));
        return new Plot(
                Kind.BAR, "", Axis.PLAIN, Axis.PLAIN, List.of(new Series("", points)), List.copyOf(values.keySet()));
    }

    /** The distribution of a latency. */
    public static Plot cdf(String name, Latency latency) {
        List<Point> points = new ArrayList<>();
        long seen = 0;
        for (LatencyBucket bucket : latency.buckets()) {
            seen += bucket.count();
            points.add(Point.of(bucket.upperNanos() / 1e3, 100.0 * seen / latency.count()));
        }
        return cdf(name, points);
    }

    /** The distribution of durations in nanoseconds. */
    public static Plot cdf(String name, Histogram nanos) {
        List<Point> points = new ArrayList<>();
        for (HistogramIterationValue value : nanos.recordedValues()) {
            points.add(Point.of(value.getValueIteratedTo() / 1e3, value.getPercentileLevelIteratedTo()));
        }
        return cdf(name, points);
    }

    private static Plot cdf(String name, List<Point> points) {
        if (points.isEmpty()) {
            throw BenchtopException.config("there is no latency to plot: nothing was measured");
        }
        return new Plot(
                Kind.CDF,
                "",
                new Axis("latency (µs)", true),
                new Axis("share of requests (%)", false),
                List.of(new Series(name, points)),
                List.of());
    }

    /** A figure of every case of a report, with the range of its runs. */
    public static Plot of(Report report, Metric metric) {
        List<Point> points = new ArrayList<>();
        List<String> names = new ArrayList<>();
        for (CaseSummary summary : report.cases()) {
            Optional<Sample> sample = summary.sample(metric);
            if (sample.isPresent()) {
                names.add(summary.spec().id());
                points.add(new Point(
                        points.size(),
                        sample.get().median(),
                        sample.get().min(),
                        sample.get().max()));
            }
        }
        if (points.isEmpty()) {
            throw BenchtopException.config("no case of the report has measured " + metric.heading());
        }
        return new Plot(
                Kind.BAR,
                report.experiment().title(),
                Axis.PLAIN,
                new Axis(metric.headingWithUnit(), false),
                List.of(new Series("", points)),
                names);
    }

    private static Series seriesOf(String name, double[] xs, double[] ys) {
        if (xs.length != ys.length) {
            throw BenchtopException.config(
                    "a series needs as many x values as y values, not " + xs.length + " and " + ys.length);
        }
        List<Point> points = new ArrayList<>();
        for (int i = 0; i < xs.length; i++) {
            points.add(Point.of(xs[i], ys[i]));
        }
        return new Series(name, points);
    }

    /** With another series; its points as (x, y), for bars with x in the order of categories. */
    public Plot add(String name, double[] xs, double[] ys) {
        return add(seriesOf(name, xs, ys));
    }

    /** With another series. */
    public Plot add(Series other) {
        List<Series> all = new ArrayList<>(series);
        all.add(other);
        return new Plot(kind, title, x, y, all, categories);
    }

    /** With the series of another plot of the same kind. */
    public Plot with(Plot other) {
        Plot all = this;
        for (Series one : other.series) {
            all = all.add(one);
        }
        return all;
    }

    /** With a title. */
    public Plot title(String text) {
        return new Plot(kind, text, x, y, series, categories);
    }

    /** With a label of the horizontal axis. */
    public Plot xLabel(String label) {
        return new Plot(kind, title, new Axis(label, x.log()), y, series, categories);
    }

    /** With a label of the vertical axis. */
    public Plot yLabel(String label) {
        return new Plot(kind, title, x, new Axis(label, y.log()), series, categories);
    }

    /** With a logarithmic horizontal axis. */
    public Plot logX() {
        return new Plot(kind, title, new Axis(x.label(), true), y, series, categories);
    }

    /** With a logarithmic vertical axis. */
    public Plot logY() {
        return new Plot(kind, title, x, new Axis(y.label(), true), series, categories);
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        if (!title.isEmpty()) {
            text.append(title).append('\n');
        }
        if (kind == Kind.BAR) {
            drawBars(text);
        } else {
            drawPoints(text);
        }
        return text.toString().stripTrailing();
    }

    private void drawBars(StringBuilder text) {
        double most = series.stream()
                .flatMap(s -> s.points().stream())
                .mapToDouble(Point::y)
                .filter(Double::isFinite)
                .max()
                .orElse(0);
        if (!y.label().isEmpty()) {
            text.append(y.label()).append('\n');
        }
        TextColumns table = new TextColumns("llrl");
        for (int i = 0; i < categories.size(); i++) {
            for (Series one : series) {
                Point point = one.points().get(i);
                int length = most > 0 && point.y() > 0 ? (int) Math.max(1, Math.round(point.y() / most * 40)) : 0;
                table.row(
                        categories.get(i),
                        one.name(),
                        MetricUnit.format(point.y()),
                        "▇".repeat(length)
                                + (point.low() < point.high()
                                        ? " " + MetricUnit.format(point.low()) + "–" + MetricUnit.format(point.high())
                                        : ""));
            }
        }
        text.append(table.render("  "));
    }

    private static double scale(double value, boolean log) {
        return log ? Math.log10(value) : value;
    }

    private void drawPoints(StringBuilder text) {
        List<Point> all = series.stream()
                .flatMap(s -> s.points().stream())
                .filter(p -> Double.isFinite(scale(p.x(), x.log())) && Double.isFinite(scale(p.y(), y.log())))
                .toList();
        if (all.isEmpty()) {
            text.append("nothing to draw");
            return;
        }
        double left = all.stream().mapToDouble(p -> scale(p.x(), x.log())).min().orElseThrow();
        double right =
                all.stream().mapToDouble(p -> scale(p.x(), x.log())).max().orElseThrow();
        double bottom =
                all.stream().mapToDouble(p -> scale(p.y(), y.log())).min().orElseThrow();
        double top = all.stream().mapToDouble(p -> scale(p.y(), y.log())).max().orElseThrow();
        char[][] grid = new char[ROWS][COLUMNS];
        for (char[] row : grid) {
            Arrays.fill(row, ' ');
        }
        for (int i = 0; i < series.size(); i++) {
            for (Point point : series.get(i).points()) {
                double px = scale(point.x(), x.log());
                double py = scale(point.y(), y.log());
                if (Double.isFinite(px) && Double.isFinite(py)) {
                    int column = (int) Math.round((px - left) / Math.max(right - left, 1e-300) * (COLUMNS - 1));
                    int row = (int) Math.round((py - bottom) / Math.max(top - bottom, 1e-300) * (ROWS - 1));
                    grid[ROWS - 1 - Math.min(row, ROWS - 1)][Math.min(column, COLUMNS - 1)] = MARKS[i % MARKS.length];
                }
            }
        }
        String high = MetricUnit.format(y.log() ? Math.pow(10, top) : top);
        String low = MetricUnit.format(y.log() ? Math.pow(10, bottom) : bottom);
        int width = Math.max(high.length(), low.length());
        if (!y.label().isEmpty()) {
            text.append(y.label()).append('\n');
        }
        for (int row = 0; row < ROWS; row++) {
            String label = row == 0 ? high : row == ROWS - 1 ? low : "";
            text.append(String.format(Locale.ROOT, "%" + width + "s ┤", label));
            text.append(new String(grid[row]).stripTrailing()).append('\n');
        }
        text.append(" ".repeat(width + 1))
                .append('└')
                .append("─".repeat(COLUMNS))
                .append('\n');
        String from = MetricUnit.format(x.log() ? Math.pow(10, left) : left);
        String to = MetricUnit.format(x.log() ? Math.pow(10, right) : right);
        int gap = Math.max(1, COLUMNS - from.length() - to.length() - x.label().length());
        text.append(" ".repeat(width + 2))
                .append(from)
                .append(" ".repeat((gap + 1) / 2))
                .append(x.label());
        text.append(" ".repeat(gap / 2)).append(to).append('\n');
        if (series.size() > 1) {
            for (int i = 0; i < series.size(); i++) {
                text.append(i == 0 ? " ".repeat(width + 2) : "   ");
                text.append(MARKS[i % MARKS.length])
                        .append(' ')
                        .append(series.get(i).name());
            }
        }
    }
}
