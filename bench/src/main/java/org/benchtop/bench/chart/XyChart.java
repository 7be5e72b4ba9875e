package org.benchtop.bench.chart;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/** Lines, distributions or vertical bars over two axes, each linear or logarithmic. */
public final class XyChart {
    private static final int TOP = 14;
    private static final int BOTTOM = 300;
    private static final int LEFT = 84;
    private static final int HEAD = 26;
    private static final int WANTED_TICKS = 6;
    private static final int MARKED_POINTS = 200;
    private static final double LEAST_LOG = 1e-3;

    private XyChart() {}

    /** How series are drawn. */
    public enum Style {
        /** Points joined by lines. */
        LINES,
        /** A line that changes at each point only. */
        STEPS,
        /** A bar for each category. */
        BARS
    }

    /**
     * An axis.
     *
     * @param label with its unit; may be empty
     * @param log whether it is logarithmic; what is not positive has no place on it
     */
    public record Axis(String label, boolean log) {}

    /** A point whose error bar reaches from {@code low} to {@code high}; both are {@code y} if it has none. */
    public record Point(double x, double y, double low, double high) {}

    /** Points of one colour. */
    public record Series(String label, List<Point> points) {
        public Series {
            points = List.copyOf(points);
        }
    }

    /**
     * Draws.
     *
     * @param title may be empty
     * @param categories the names of bars; empty for other styles
     */
    public static String svg(String title, Style style, Axis x, Axis y, List<Series> series, List<String> categories) {
        List<Series> drawn = series.stream()
                .map(one -> new Series(
                        one.label,
                        one.points.stream()
                                .filter(point -> drawable(point, style == Style.BARS ? new Axis("", false) : x, y))
                                .toList()))
                .toList();
        Scale vertical = yScale(drawn, y, style);
        Markup svg = Charts.start(
                title.isEmpty() ? y.label() : title, HEAD + BOTTOM + 52 + Charts.legendHeight(drawn.size()));
        if (!title.isEmpty()) {
            svg.element("text", title, "class", "head", "x", Integer.toString(LEFT), "y", "20");
        }
        svg.open("g", "transform", "translate(0 " + HEAD + ")");
        Charts.horizontalGrid(svg, vertical, LEFT, y.label(), TOP, BOTTOM);
        if (style == Style.BARS) {
            bars(svg, vertical, y.log(), drawn, categories);
            Charts.text(svg, (LEFT + Charts.WIDTH - Charts.RIGHT) / 2.0, BOTTOM + 38, "middle", x.label());
        } else {
            Scale horizontal = xScale(drawn, x);
            Charts.verticalGrid(svg, horizontal, TOP, BOTTOM, x.label());
            for (int s = 0; s < drawn.size(); s++) {
                line(svg, drawn.get(s), s % Charts.COLOURS, style, horizontal, vertical);
            }
        }
        Charts.legend(svg, drawn.stream().map(Series::label).toList(), LEFT, BOTTOM + 58);
        return svg.close("g").close("svg").toString();
    }

    private static boolean drawable(Point point, Axis x, Axis y) {
        return Double.isFinite(point.x)
                && Double.isFinite(point.y)
                && (!x.log || point.x > 0)
                && (!y.log || point.y > 0);
    }

    private static double[] range(List<Series> series, List<ToDoubleFunction<Point>> figures, double otherwise) {
        double least = Double.POSITIVE_INFINITY;
        double greatest = Double.NEGATIVE_INFINITY;
        for (Series one : series) {
            for (Point point : one.points) {
                for (ToDoubleFunction<Point> figure : figures) {
                    double value = figure.applyAsDouble(point);
                    if (Double.isFinite(value)) {
                        least = Math.min(least, value);
                        greatest = Math.max(greatest, value);
                    }
                }
            }
        }
        return least > greatest ? new double[] {otherwise, otherwise} : new double[] {least, greatest};
    }

    private static Scale xScale(List<Series> series, Axis axis) {
        double[] range = range(series, List.of(Point::x), 1);
        int right = Charts.WIDTH - Charts.RIGHT;
        return axis.log
                ? Scale.logarithmic(range[0], range[1], LEFT, right)
                : Scale.linear(range[0], range[1], LEFT, right, WANTED_TICKS + 1);
    }

    private static Scale yScale(List<Series> series, Axis axis, Style style) {
        double[] range = range(series, List.of(Point::y, Point::low, Point::high), 1);
        if (axis.log) {
            double[] positive = range(series, List.of(Point::y), 1);
            return Scale.logarithmic(Math.max(LEAST_LOG, positive[0]), Math.max(LEAST_LOG, range[1]), BOTTOM, TOP);
        }
        // Shares of a distribution end at 100 %; other figures are compared by their lengths, so they start at 0.
        double greatest = style == Style.STEPS && range[1] > 50 && range[1] <= 100 ? 100 : range[1];
        return Scale.linear(Math.min(0, range[0]), greatest, BOTTOM, TOP, WANTED_TICKS);
    }

    private static void bars(Markup svg, Scale y, boolean log, List<Series> series, List<String> categories) {
        double step = (Charts.WIDTH - Charts.RIGHT - LEFT) / (double) Math.max(1, categories.size());
        double width = Math.min(70, step * 0.8 / series.size());
        double base = y.at(log ? y.low() : 0);
        int room = (int) (step / 6.5);
        for (int i = 0; i < categories.size(); i++) {
            String name = categories.get(i);
            String shown = name.length() > room ? name.substring(0, Math.max(1, room - 1)) + "…" : name;
            Charts.text(svg, LEFT + (i + 0.5) * step, BOTTOM + 18, "middle", shown);
        }
        for (int s = 0; s < series.size(); s++) {
            for (Point point : series.get(s).points) {
                int i = (int) point.x;
                if (i < 0 || i >= categories.size()) {
                    continue;
                }
                double left = LEFT + (i + 0.5) * step + (s - series.size() / 2.0) * width;
                double top = y.at(point.y);
                svg.open(
                                "rect",
                                "class",
                                "bar f" + s % Charts.COLOURS,
                                "x",
                                Markup.number(left + 1),
                                "y",
                                Markup.number(Math.min(top, base)),
                                "width",
                                Markup.number(Math.max(1, width - 2)),
                                "height",
                                Markup.number(Math.abs(base - top)))
                        .element("title", categories.get(i) + ": " + shortly(point.y))
                        .close("rect");
                error(svg, point, left + width / 2, y, "error");
            }
        }
    }

    private static void line(Markup svg, Series one, int colour, Style style, Scale x, Scale y) {
        List<String> path = new ArrayList<>();
        for (Point point : one.points) {
            String px = Markup.number(x.at(point.x));
            String py = Markup.number(y.at(point.y));
            if (path.isEmpty()) {
                path.add("M" + px + " " + py);
            } else {
                path.add(style == Style.STEPS ? "H" + px + "V" + py : "L" + px + " " + py);
            }
        }
        if (one.points.size() > 1) {
            svg.empty("path", "class", "line k" + colour, "d", String.join("", path));
        }
        boolean marked = style == Style.LINES && one.points.size() <= MARKED_POINTS || one.points.size() == 1;
        for (Point point : one.points) {
            error(svg, point, x.at(point.x), y, "whisker k" + colour);
            if (marked) {
                svg.open(
                                "circle",
                                "class",
                                "point f" + colour,
                                "cx",
                                Markup.number(x.at(point.x)),
                                "cy",
                                Markup.number(y.at(point.y)),
                                "r",
                                "3.5")
                        .element(
                                "title",
                                (one.label.isEmpty() ? "" : one.label + ": ") + shortly(point.x) + ", "
                                        + shortly(point.y))
                        .close("circle");
            }
        }
    }

    private static void error(Markup svg, Point point, double at, Scale y, String look) {
        if (!(point.low < point.high)) {
            return;
        }
        String high = Markup.number(y.at(point.high));
        String low = Markup.number(y.at(point.low));
        String left = Markup.number(at - 4);
        svg.empty(
                "path",
                "class",
                look,
                "d",
                "M" + left + " " + high + "h8M" + left + " " + low + "h8M" + Markup.number(at) + " " + high + "V"
                        + low);
    }

    private static String shortly(double value) {
        return String.format(Locale.ROOT, Math.abs(value) >= 1e4 ? "%,.0f" : "%.4g", value);
    }
}
