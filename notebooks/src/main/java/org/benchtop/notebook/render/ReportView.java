package org.benchtop.notebook.render;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.bench.chart.Charts;
import org.benchtop.bench.chart.Markup;
import org.benchtop.bench.experiment.Axis;
import org.benchtop.bench.measure.Metric;
import org.benchtop.bench.measure.MetricUnit;
import org.benchtop.bench.report.CaseSummary;
import org.benchtop.bench.report.ComparisonLine;
import org.benchtop.bench.report.Report;
import org.benchtop.bench.report.TextReport;
import org.benchtop.bench.statistics.Interval;
import org.benchtop.bench.statistics.Sample;
import org.benchtop.bench.statistics.Verdict;
import org.dflib.jjava.jupyter.kernel.display.DisplayData;
import org.dflib.jjava.jupyter.kernel.display.mime.MIMEType;

/** A report of measurements: verdicts, figures and charts. The page of {@code benchtop bench} has the rest. */
final class ReportView {
    private static final int LEAST_SWEEP = 3;
    private static final int MOST_LINES = 8;

    private ReportView() {}

    static void render(Report report, DisplayData data) {
        data.putText(TextReport.of(report, false).stripTrailing());
        List<String> pictures = new ArrayList<>();
        changes(report).ifPresent(pictures::add);
        if (report.cases().stream().anyMatch(summary -> !summary.runs().isEmpty())) {
            for (Metric metric : report.experiment().primaryMetrics()) {
                sweep(report, metric).or(() -> bars(report, metric)).ifPresent(pictures::add);
            }
        }
        distributions(report).ifPresent(pictures::add);
        StringBuilder html = new StringBuilder(verdicts(report)).append(figures(report));
        pictures.forEach(
                svg -> html.append("<div>").append(Renderings.inline(svg)).append("</div>"));
        data.putData(MIMEType.TEXT_HTML, html.toString());
        if (!pictures.isEmpty()) {
            Renderings.picture(pictures.getFirst(), data);
        }
    }

    private static String verdicts(Report report) {
        Markup html = new Markup();
        for (ComparisonLine line : report.comparisons()) {
            boolean differs = line.comparison().verdict() instanceof Verdict.Differs;
            html.open(
                            "div",
                            "style",
                            "border-left: 4px solid " + (differs ? "#2f9164" : "#7d8794")
                                    + "; padding: 4px 10px; margin: 4px 0")
                    .element("b", line.verdict())
                    .content(" (" + line.spec().metric().key() + ", " + line.subject() + ")")
                    .close("div");
        }
        for (String remark : report.remarks()) {
            html.element("div", remark, "style", "color: #b06a00");
        }
        return html.toString();
    }

    private static String figures(Report report) {
        List<Metric> columns = report.experiment().columns().stream()
                .filter(metric -> report.cases().stream()
                        .anyMatch(summary -> summary.sample(metric).isPresent()))
                .toList();
        List<Axis> axes = report.experiment().axes();
        List<String> heads = new ArrayList<>(axes.stream().map(Axis::label).toList());
        heads.add("runs");
        columns.forEach(metric -> heads.add(metric.headingWithUnit()));
        HtmlTable table =
                new HtmlTable("l".repeat(axes.size()) + "r".repeat(columns.size() + 1), heads.toArray(new String[0]));
        for (CaseSummary summary : report.cases()) {
            table.begin();
            axes.forEach(axis -> table.cell(summary.spec().labels().getOrDefault(axis.label(), "")));
            table.cell(Integer.toString(summary.runs().size()));
            for (Metric metric : columns) {
                table.raw(summary.sample(metric).map(ReportView::figure).orElse("–"));
            }
            table.end();
        }
        return table.toString();
    }

    private static String figure(Sample sample) {
        String median = MetricUnit.format(sample.median());
        return sample.size() < 2
                ? median
                : median + "<br/><small style=\"opacity: 0.65\">" + MetricUnit.format(sample.min()) + " – "
                        + MetricUnit.format(sample.max()) + "</small>";
    }

    private static Optional<String> changes(Report report) {
        List<Charts.Change> changes = new ArrayList<>();
        for (ComparisonLine line : report.comparisons()) {
            Optional<Interval> interval = switch (line.comparison().verdict()) {
                case Verdict.Differs differs -> Optional.of(differs.change());
                case Verdict.NoDifference none -> Optional.of(none.change());
                case Verdict.Noisy noisy -> Optional.of(noisy.change());
                case Verdict.TooFew ignored -> Optional.empty();
                case Verdict.NoRatio ignored -> Optional.empty();
            };
            interval.ifPresent(found -> changes.add(new Charts.Change(
                    line.spec().metric().key() + ", " + line.subject(),
                    line.comparison().ratio(),
                    found.low(),
                    found.high(),
                    line.publishedRatio().orElse(Double.NaN),
                    line.comparison().verdict() instanceof Verdict.Differs)));
        }
        return changes.isEmpty()
                ? Optional.empty()
                : Optional.of(Charts.changes("change against the baseline", changes));
    }

    private static Optional<String> bars(Report report, Metric metric) {
        List<Charts.Bar> bars = new ArrayList<>();
        for (CaseSummary summary : report.cases()) {
            summary.sample(metric)
                    .ifPresent(sample ->
                            bars.add(new Charts.Bar(summary.spec().id(), bars.size() % Charts.COLOURS, sample)));
        }
        return bars.isEmpty() ? Optional.empty() : Optional.of(Charts.bars(metric.meaning(), axisTitle(metric), bars));
    }

    /** A line chart if the first axis of figures has enough values; one line for every combination of the others. */
    private static Optional<String> sweep(Report report, Metric metric) {
        for (Axis axis : report.experiment().axes()) {
            if (axis.values().size() < LEAST_SWEEP
                    || !axis.values().stream().allMatch(value -> value.matches("\\d+[kKmM]?"))) {
                continue;
            }
            Map<String, List<Charts.Point>> lines = new LinkedHashMap<>();
            for (CaseSummary summary : report.cases()) {
                Map<String, String> others = new LinkedHashMap<>(summary.spec().labels());
                int position = axis.values().indexOf(String.valueOf(others.remove(axis.label())));
                String name = String.join(
                        ", ",
                        others.entrySet().stream()
                                .map(label -> label.getKey() + "=" + label.getValue())
                                .toList());
                summary.sample(metric)
                        .ifPresent(sample -> lines.computeIfAbsent(name, key -> new ArrayList<>())
                                .add(new Charts.Point(position, sample)));
            }
            if (!lines.isEmpty() && lines.size() <= MOST_LINES) {
                List<Charts.Line> drawn = new ArrayList<>();
                lines.forEach((name, points) -> drawn.add(new Charts.Line(name, points)));
                return Optional.of(
                        Charts.lines(metric.meaning(), axis.label(), axisTitle(metric), axis.values(), drawn));
            }
        }
        return Optional.empty();
    }

    private static Optional<String> distributions(Report report) {
        List<Charts.Distribution> all = report.cases().stream()
                .filter(summary -> !summary.clat().buckets().isEmpty())
                .limit(MOST_LINES)
                .map(summary -> new Charts.Distribution(summary.spec().id(), summary.clat()))
                .toList();
        return all.isEmpty() ? Optional.empty() : Optional.of(Charts.distributions("completion latency", all));
    }

    private static String axisTitle(Metric metric) {
        return metric.meaning()
                + (metric.unit().symbol().isEmpty() || metric == Metric.IOPS
                        ? ""
                        : ", " + metric.unit().symbol());
    }
}
