package org.benchtop.bench.chart;

import java.util.ArrayList;
import java.util.List;
import org.benchtop.bench.measure.Latency;
import org.benchtop.bench.measure.LatencyBucket;
import org.benchtop.bench.statistics.Sample;

/**
 * Charts as SVG without script, fonts or colours of their own: a style sheet ({@link ChartStyle}, or the page's) gives classes
 * {@code f0} … {@code f7} (filled in a series' colour), {@code k0} … {@code k7} (drawn in it), {@code axis},
 * {@code grid}, {@code label} their look in light and dark.
 */
public final class Charts {
    /** How many series have colours of their own. */
    public static final int COLOURS = 8;

    static final int WIDTH = 820;
    static final int RIGHT = 24;
    private static final double CHARACTER_WIDTH = 6.9;

    private Charts() {}

    /**
     * A bar.
     *
     * @param label left of it
     * @param series decides its colour
     * @param sample the runs
     */
    public record Bar(String label, int series, Sample sample) {}

    /**
     * A point of a line, or a gap.
     *
     * @param position which of the x values, from 0
     * @param sample the runs there
     */
    public record Point(int position, Sample sample) {}

    /** A line. */
    public record Line(String label, List<Point> points) {}

    /** A distribution. */
    public record Distribution(String label, Latency latency) {}

    /**
     * An interval of a change.
     *
     * @param label left of it
     * @param ratio the estimate
     * @param low lower end of the ratio
     * @param high upper end of the ratio
     * @param published the same ratio as others found it, or NaN
     * @param shown whether the interval excludes "equal"
     */
    public record Change(String label, double ratio, double low, double high, double published, boolean shown) {}

    /** One run in the order in which they were made. */
    public record Mark(int series, double value, boolean flagged, String title) {}

    /** Horizontal bars to the median, with a whisker from the first to the third quartile and a dot for every run. */
    public static String bars(String title, String axisLabel, List<Bar> bars) {
        int left = leftMargin(bars.stream().map(Bar::label).toList());
        int rowHeight = bars.size() > 16 ? 22 : 30;
        int top = 12;
        int bottom = top + bars.size() * rowHeight;
        double greatest =
                bars.stream().mapToDouble(bar -> bar.sample().max()).max().orElse(1);
        Scale x = Scale.linear(Math.min(0, least(bars)), greatest, left, WIDTH - RIGHT, 6);
        Markup svg = start(title, bottom + 44);
        verticalGrid(svg, x, top, bottom, axisLabel);
        for (int i = 0; i < bars.size(); i++) {
            Bar bar = bars.get(i);
            double middle = top + (i + 0.5) * rowHeight;
            double half = rowHeight * 0.30;
            Sample sample = bar.sample();
            double median = x.at(sample.median());
            double zero = x.at(0);
            text(svg, left - 8, middle + 4, "end", bar.label());
            svg.empty(
                    "rect",
                    "class",
                    "bar f" + bar.series(),
                    "x",
                    Markup.number(Math.min(zero, median)),
                    "y",
                    Markup.number(middle - half),
                    "width",
                    Markup.number(Math.abs(median - zero)),
                    "height",
                    Markup.number(2 * half));
            if (sample.size() > 1) {
                whisker(svg, x.at(sample.quantile(0.25)), x.at(sample.quantile(0.75)), middle, half * 0.7);
            }
            for (double value : sample.values()) {
                svg.empty(
                        "circle",
                        "class",
                        "dot",
                        "cx",
                        Markup.number(x.at(value)),
                        "cy",
                        Markup.number(middle),
                        "r",
                        "2.4");
            }
        }
        return svg.close("svg").toString();
    }

    private static double least(List<Bar> bars) {
        return bars.stream().mapToDouble(bar -> bar.sample().min()).min().orElse(0);
    }

    /** A line for every series over evenly spaced x values, from 0 up, with whiskers between the quartiles. */
    public static String lines(String title, String xLabel, String yLabel, List<String> xValues, List<Line> lines) {
        int left = 84;
        int top = 14;
        int bottom = 300;
        double greatest = lines.stream()
                .flatMap(line -> line.points().stream())
                .mapToDouble(point -> point.sample().quantile(0.75))
                .max()
                .orElse(1);
        Scale y = Scale.linear(0, greatest, bottom, top, 6);
        Markup svg = start(title, bottom + 52 + legendHeight(lines.size()));
        horizontalGrid(svg, y, left, yLabel, top, bottom);
        double step = (WIDTH - RIGHT - left) / (double) Math.max(1, xValues.size());
        for (int i = 0; i < xValues.size(); i++) {
            text(svg, left + (i + 0.5) * step, bottom + 18, "middle", xValues.get(i));
        }
        text(svg, (left + WIDTH - RIGHT) / 2.0, bottom + 38, "middle", xLabel);
        for (int s = 0; s < lines.size(); s++) {
            List<String> corners = new ArrayList<>();
            for (Point point : lines.get(s).points()) {
                // Neighbouring series are shifted a little, so that their whiskers stay apart.
                double cx = left + (point.position() + 0.5) * step + (s - (lines.size() - 1) / 2.0) * 5;
                double cy = y.at(point.sample().median());
                corners.add(Markup.number(cx) + "," + Markup.number(cy));
                double high = y.at(point.sample().quantile(0.75));
                double low = y.at(point.sample().quantile(0.25));
                svg.empty(
                        "path",
                        "class",
                        "whisker k" + s % COLOURS,
                        "d",
                        "M" + Markup.number(cx) + " " + Markup.number(low) + "V" + Markup.number(high));
                svg.empty(
                        "circle",
                        "class",
                        "point f" + s % COLOURS,
                        "cx",
                        Markup.number(cx),
                        "cy",
                        Markup.number(cy),
                        "r",
                        "3.5");
            }
            svg.empty("polyline", "class", "line k" + s % COLOURS, "points", String.join(" ", corners));
        }
        legend(svg, lines.stream().map(Line::label).toList(), left, bottom + 58);
        return svg.close("svg").toString();
    }

    /** Shares of requests that took at most so long, over a logarithmic time axis. */
    public static String distributions(String title, List<Distribution> all) {
        int left = 64;
        int top = 14;
        int bottom = 300;
        double least = all.stream()
                .mapToDouble(distribution -> distribution.latency().quantileNanos(0.001))
                .min()
                .orElse(1e3);
        double greatest = all.stream()
                .mapToDouble(distribution -> distribution.latency().quantileNanos(0.9995))
                .max()
                .orElse(1e6);
        Scale x = Scale.logarithmic(Math.max(0.1, least / 1e3), Math.max(0.2, greatest / 1e3), left, WIDTH - RIGHT);
        Scale y = Scale.linear(0, 100, bottom, top, 5);
        Markup svg = start(title, bottom + 52 + legendHeight(all.size()));
        horizontalGrid(svg, y, left, "% of requests", top, bottom);
        verticalGrid(svg, x, top, bottom, "completion latency, µs (logarithmic)");
        for (int s = 0; s < all.size(); s++) {
            Latency latency = all.get(s).latency();
            StringBuilder path = new StringBuilder();
            long seen = 0;
            path.append("M")
                    .append(Markup.number(x.at(latency.minNanos() / 1e3)))
                    .append(' ')
                    .append(bottom);
            for (LatencyBucket bucket : latency.buckets()) {
                seen += bucket.count();
                path.append("L")
                        .append(Markup.number(x.at(bucket.upperNanos() / 1e3)))
                        .append(' ')
                        .append(Markup.number(y.at(100.0 * seen / latency.count())));
            }
            path.append("H").append(WIDTH - RIGHT);
            svg.empty("path", "class", "line k" + s % COLOURS, "d", path.toString());
        }
        legend(svg, all.stream().map(Distribution::label).toList(), left, bottom + 58);
        return svg.close("svg").toString();
    }

    /** Changes with their confidence intervals, around a line that means "equal". */
    public static String changes(String title, List<Change> changes) {
        int left = leftMargin(changes.stream().map(Change::label).toList());
        int rowHeight = 30;
        int top = 12;
        int bottom = top + changes.size() * rowHeight;
        double least = 0;
        double greatest = 0;
        for (Change change : changes) {
            least = Math.min(least, percent(change.low()));
            greatest = Math.max(greatest, percent(change.high()));
            if (!Double.isNaN(change.published())) {
                least = Math.min(least, percent(change.published()));
                greatest = Math.max(greatest, percent(change.published()));
            }
        }
        double room = Math.max(0.5, (greatest - least) * 0.05);
        Scale x = Scale.linear(least - room, greatest + room, left, WIDTH - RIGHT, 7);
        Markup svg = start(title, bottom + 44);
        verticalGrid(svg, x, top, bottom, "change against the baseline, % (95 % confidence)");
        svg.empty("path", "class", "zero", "d", "M" + Markup.number(x.at(0)) + " " + top + "V" + bottom);
        for (int i = 0; i < changes.size(); i++) {
            Change change = changes.get(i);
            double middle = top + (i + 0.5) * rowHeight;
            String colour = change.shown() ? "0" : "7";
            text(svg, left - 8, middle + 4, "end", change.label());
            svg.empty(
                    "path",
                    "class",
                    "interval k" + colour,
                    "d",
                    "M" + Markup.number(x.at(percent(change.low()))) + " " + Markup.number(middle) + "H"
                            + Markup.number(x.at(percent(change.high()))));
            svg.empty(
                    "circle",
                    "class",
                    "point f" + colour,
                    "cx",
                    Markup.number(x.at(percent(change.ratio()))),
                    "cy",
                    Markup.number(middle),
                    "r",
                    "5");
            if (!Double.isNaN(change.published())) {
                double cx = x.at(percent(change.published()));
                svg.empty(
                        "path",
                        "class",
                        "published",
                        "d",
                        "M" + Markup.number(cx) + " " + Markup.number(middle - 7) + "l7 7l-7 7l-7 -7z");
            }
        }
        return svg.close("svg").toString();
    }

    /** Every run in the order in which it was made; hollow marks were disturbed. */
    public static String order(String title, String yLabel, List<String> seriesLabels, List<Mark> marks) {
        int left = 84;
        int top = 14;
        int bottom = 240;
        double greatest = marks.stream().mapToDouble(Mark::value).max().orElse(1);
        double least = marks.stream().mapToDouble(Mark::value).min().orElse(0);
        Scale y = Scale.linear(least > greatest / 2 ? least : 0, greatest, bottom, top, 5);
        Markup svg = start(title, bottom + 52 + legendHeight(seriesLabels.size()));
        horizontalGrid(svg, y, left, yLabel, top, bottom);
        double step = (WIDTH - RIGHT - left) / (double) Math.max(1, marks.size());
        int every = Math.max(1, marks.size() / 20);
        for (int i = 0; i < marks.size(); i++) {
            Mark mark = marks.get(i);
            double cx = left + (i + 0.5) * step;
            if (i % every == 0) {
                text(svg, cx, bottom + 18, "middle", Integer.toString(i + 1));
            }
            svg.open(
                            "circle",
                            "class",
                            (mark.flagged() ? "hollow k" : "point f") + mark.series() % COLOURS,
                            "cx",
                            Markup.number(cx),
                            "cy",
                            Markup.number(y.at(mark.value())),
                            "r",
                            "4")
                    .element("title", mark.title())
                    .close("circle");
        }
        text(svg, (left + WIDTH - RIGHT) / 2.0, bottom + 38, "middle", "run, in the order in which they were made");
        legend(svg, seriesLabels, left, bottom + 58);
        return svg.close("svg").toString();
    }

    private static double percent(double ratio) {
        return (ratio - 1) * 100;
    }

    static Markup start(String title, int height) {
        return new Markup()
                .open(
                        "svg",
                        "xmlns",
                        "http://www.w3.org/2000/svg",
                        "viewBox",
                        "0 0 " + WIDTH + " " + height,
                        "role",
                        "img",
                        "aria-label",
                        title);
    }

    static int leftMargin(List<String> labels) {
        int longest = labels.stream().mapToInt(String::length).max().orElse(0);
        return (int) Math.clamp(longest * CHARACTER_WIDTH + 18, 60, 340);
    }

    static void text(Markup svg, double x, double y, String anchor, String content) {
        // Titles of axes have the whole width; what stands beside a bar or in a legend has not.
        boolean narrow = !anchor.equals("middle");
        String shown = narrow && content.length() > 48 ? content.substring(0, 47) + "…" : content;
        svg.element(
                "text", shown, "class", "label", "x", Markup.number(x), "y", Markup.number(y), "text-anchor", anchor);
    }

    static void whisker(Markup svg, double from, double to, double middle, double half) {
        String y = Markup.number(middle);
        String cap = "V" + Markup.number(middle + half);
        svg.empty(
                "path",
                "class",
                "error",
                "d",
                "M" + Markup.number(from) + " " + y + "H" + Markup.number(to) + "M" + Markup.number(from) + " "
                        + Markup.number(middle - half) + cap + "M" + Markup.number(to) + " "
                        + Markup.number(middle - half) + cap);
    }

    static void verticalGrid(Markup svg, Scale x, int top, int bottom, String label) {
        double first = x.ticks().getFirst();
        double last = x.ticks().getLast();
        double lastLabelEnd = Double.NEGATIVE_INFINITY;
        for (double tick : x.ticks()) {
            String at = Markup.number(x.at(tick));
            svg.empty("path", "class", "grid", "d", "M" + at + " " + top + "V" + bottom);
            String shown = Scale.label(tick);
            double half = shown.length() * CHARACTER_WIDTH / 2;
            if (x.at(tick) - half > lastLabelEnd + 6) {
                text(svg, x.at(tick), bottom + 18, "middle", shown);
                lastLabelEnd = x.at(tick) + half;
            }
        }
        svg.empty(
                "path",
                "class",
                "axis",
                "d",
                "M" + Markup.number(x.at(first)) + " " + bottom + "H" + Markup.number(x.at(last)));
        text(svg, (x.at(first) + x.at(last)) / 2, bottom + 38, "middle", label);
    }

    static void horizontalGrid(Markup svg, Scale y, int left, String label, int top, int bottom) {
        for (double tick : y.ticks()) {
            String at = Markup.number(y.at(tick));
            svg.empty("path", "class", "grid", "d", "M" + left + " " + at + "H" + (WIDTH - RIGHT));
            text(svg, left - 8, y.at(tick) + 4, "end", Scale.label(tick));
        }
        svg.empty("path", "class", "axis", "d", "M" + left + " " + bottom + "H" + (WIDTH - RIGHT));
        svg.element(
                "text",
                label,
                "class",
                "label",
                "transform",
                "translate(16 " + (top + bottom) / 2 + ") rotate(-90)",
                "text-anchor",
                "middle");
    }

    static int legendHeight(int entries) {
        return entries < 2 ? 0 : 14 + 20 * ((entries + 1) / 2);
    }

    static void legend(Markup svg, List<String> labels, int left, int top) {
        if (labels.size() < 2) {
            return;
        }
        double column = (WIDTH - RIGHT - left) / 2.0;
        for (int i = 0; i < labels.size(); i++) {
            double x = left + i % 2 * column;
            double y = top + i / 2 * 20;
            svg.empty(
                    "rect",
                    "class",
                    "bar f" + i % COLOURS,
                    "x",
                    Markup.number(x),
                    "y",
                    Markup.number(y - 2),
                    "width",
                    "14",
                    "height",
                    "10");
            text(svg, x + 20, y + 7, "start", labels.get(i));
        }
    }
}
