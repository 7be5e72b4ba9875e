package org.benchtop.bench.report;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.benchtop.bench.chart.Charts;
import org.benchtop.bench.chart.Markup;
import org.benchtop.bench.experiment.Axis;
import org.benchtop.bench.experiment.Experiment;
import org.benchtop.bench.experiment.Published;
import org.benchtop.bench.measure.Metric;
import org.benchtop.bench.measure.MetricUnit;
import org.benchtop.bench.run.HostLoad;
import org.benchtop.bench.run.RunRecord;
import org.benchtop.bench.run.Session;
import org.benchtop.bench.statistics.Interval;
import org.benchtop.bench.statistics.Verdict;
import org.benchtop.engine.config.ConfigDocument;
import org.benchtop.engine.config.Units;

/** The report as one page that needs nothing else: no script, no network, charts inside, well-formed XML. */
public final class HtmlReport {
    private static final int MOST_DISTRIBUTIONS = 8;
    private static final int LEAST_SWEEP = 3;
    private static final String NOTHING = "–";
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss xxx", Locale.ROOT).withZone(ZoneId.systemDefault());

    private final Report report;
    private final Experiment experiment;
    private final Markup page = new Markup();

    private HtmlReport(Report report) {
        this.report = report;
        this.experiment = report.experiment();
    }

    /** The whole page. */
    public static String of(Report report) {
        return new HtmlReport(report).page();
    }

    private String page() {
        page.raw("<!DOCTYPE html>\n").open("html", "xmlns", "http://www.w3.org/1999/xhtml", "lang", "en");
        page.open("head").empty("meta", "charset", "utf-8");
        page.empty("meta", "name", "viewport", "content", "width=device-width, initial-scale=1");
        page.element("title", experiment.title());
        page.element("style", styles()).close("head").newline();
        page.open("body").open("main");
        heading();
        verdicts();
        figures();
        published();
        charts();
        exits();
        observations();
        conditions();
        runs();
        page.close("main").close("body").close("html").newline();
        return page.toString();
    }

    private static String styles() {
        try (InputStream in = HtmlReport.class.getResourceAsStream("report.css")) {
            if (in == null) {
                throw new IllegalStateException("report.css is missing from the jar");
            }
            String css = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            // A style element is text to HTML but markup to XML: what would need escaping must not occur.
            if (css.indexOf('<') >= 0 || css.indexOf('&') >= 0 || css.indexOf('>') >= 0) {
                throw new IllegalStateException("report.css holds <, > or &");
            }
            return css.replace("\"", "'");
        } catch (IOException e) {
            throw new IllegalStateException("report.css cannot be read", e);
        }
    }

    private void heading() {
        page.element("h1", experiment.title());
        page.element(
                "p",
                experiment.id() + ", " + experiment.cases().size()
                        + (experiment.cases().size() == 1 ? " case × " : " cases × ") + experiment.repeats()
                        + (experiment.repeats() == 1 ? " repeat" : " repeats")
                        + (report.accelerators().isEmpty() ? "" : ", accelerator " + report.accelerators()),
                "class",
                "soft");
        if (!experiment.question().isEmpty()) {
            page.element("p", experiment.question(), "class", "question");
        }
        if (!experiment.source().isEmpty()) {
            page.element("p", "After: " + experiment.source(), "class", "source");
        }
        for (String note : experiment.notes()) {
            page.element("p", note);
        }
        page.newline();
    }

    private void verdicts() {
        if (!report.comparisons().isEmpty()) {
            page.open("ul", "class", "verdicts");
            for (ComparisonLine line : report.comparisons()) {
                String look = switch (line.comparison().verdict()) {
                    case Verdict.Differs ignored -> "differs";
                    case Verdict.NoDifference ignored -> "equal";
                    case Verdict.Noisy ignored -> "unsure";
                    case Verdict.TooFew ignored -> "unsure";
                    case Verdict.NoRatio ignored -> "unsure";
                };
                page.open("li", "class", look).element("strong", line.verdict());
                page.element("span", line.spec().metric().key() + ", " + line.subject(), "class", "soft");
                line.publishedRatio()
                        .ifPresent(ratio -> page.element(
                                "span",
                                "; published: " + org.benchtop.bench.statistics.Comparison.percent(ratio),
                                "class",
                                "soft"));
                page.close("li");
            }
            page.close("ul").newline();
        }
        if (!report.remarks().isEmpty()) {
            page.open("ul", "class", "remarks");
            report.remarks().forEach(remark -> page.element("li", remark));
            page.close("ul").newline();
        }
    }

    private void figures() {
        page.element("h2", "Figures");
        page.element(
                "p",
                "Medians over the runs; below them the spread (interquartile range as a share of the median).",
                "class",
                "soft");
        List<Metric> columns = experiment.columns().stream()
                .filter(metric -> report.cases().stream()
                        .anyMatch(summary -> summary.sample(metric).isPresent()))
                .toList();
        page.open("div", "class", "scroll").open("table").open("thead").open("tr");
        experiment.axes().forEach(axis -> page.element("th", axis.label(), "title", axis.path()));
        page.element("th", "runs", "class", "n");
        columns.forEach(
                metric -> page.element("th", metric.headingWithUnit(), "class", "n", "title", metric.meaning()));
        page.close("tr").close("thead").open("tbody").newline();
        for (CaseSummary summary : report.cases()) {
            page.open("tr");
            experiment
                    .axes()
                    .forEach(axis -> page.element("td", summary.spec().labels().getOrDefault(axis.label(), "")));
            page.open("td", "class", "n")
                    .content(Integer.toString(summary.runs().size()));
            if (summary.disturbed() > 0) {
                page.element("small", summary.disturbed() + " disturbed");
            }
            page.close("td");
            for (Metric metric : columns) {
                page.open("td", "class", "n");
                summary.sample(metric)
                        .ifPresentOrElse(
                                sample -> {
                                    page.content(MetricUnit.format(sample.median()));
                                    page.element("small", TextReport.spread(sample));
                                },
                                () -> page.content(NOTHING));
                page.close("td");
            }
            page.close("tr").newline();
        }
        page.close("tbody").close("table").close("div").newline();
    }

    private void published() {
        report.published().ifPresent(table -> {
            Published published = table.published();
            page.element("h2", "Published figures beside ours");
            if (!published.source().isEmpty()) {
                page.element("p", published.source(), "class", "source");
            }
            page.open("div", "class", "scroll").open("table").open("thead").open("tr");
            for (Published.Column column : published.columns()) {
                page.element(
                        "th",
                        column.name(),
                        column.metric().isPresent()
                                ? new String[] {"colspan", "2", "class", "n"}
                                : new String[] {"rowspan", "2"});
            }
            page.close("tr").open("tr");
            for (Published.Column column : published.columns()) {
                if (column.metric().isPresent()) {
                    page.element("th", "published", "class", "n").element("th", "ours", "class", "n");
                }
            }
            page.close("tr").close("thead").open("tbody").newline();
            for (List<PublishedTable.Cell> row : table.rows()) {
                page.open("tr");
                for (int i = 0; i < row.size(); i++) {
                    boolean measured = published.columns().get(i).metric().isPresent();
                    page.element("td", shown(row.get(i).published()), "class", measured ? "n" : "");
                    if (measured) {
                        page.element("td", shown(row.get(i).ours()), "class", "n ours");
                    }
                }
                page.close("tr").newline();
            }
            page.close("tbody").close("table").close("div");
            if (!published.note().isEmpty()) {
                page.element("p", published.note(), "class", "soft");
            }
            page.newline();
        });
    }

    private static String shown(String cell) {
        return cell.isEmpty() ? NOTHING : cell;
    }

    private void charts() {
        if (report.cases().stream().allMatch(summary -> summary.runs().isEmpty())) {
            return;
        }
        page.element("h2", "Charts");
        changes();
        for (Metric metric : experiment.primaryMetrics()) {
            bars(metric);
            sweeps(metric);
        }
        latencies();
        order(experiment.primaryMetrics().getFirst());
    }

    private void changes() {
        List<Charts.Change> changes = new ArrayList<>();
        Set<Metric> metrics = new LinkedHashSet<>();
        report.comparisons().forEach(line -> metrics.add(line.spec().metric()));
        for (ComparisonLine line : report.comparisons()) {
            Optional<Interval> interval = switch (line.comparison().verdict()) {
                case Verdict.Differs differs -> Optional.of(differs.change());
                case Verdict.NoDifference none -> Optional.of(none.change());
                case Verdict.Noisy noisy -> Optional.of(noisy.change());
                case Verdict.TooFew ignored -> Optional.empty();
                case Verdict.NoRatio ignored -> Optional.empty();
            };
            interval.ifPresent(found -> changes.add(new Charts.Change(
                    (metrics.size() > 1 ? line.spec().metric().key() + ", " : "") + line.subject(),
                    line.comparison().ratio(),
                    found.low(),
                    found.high(),
                    line.publishedRatio().orElse(Double.NaN),
                    line.comparison().verdict() instanceof Verdict.Differs)));
        }
        if (!changes.isEmpty()) {
            boolean published = changes.stream().anyMatch(change -> !Double.isNaN(change.published()));
            figure(
                    "Change against the baseline",
                    Charts.changes("Change against the baseline", changes),
                    "Ratio of medians with its bootstrap interval; grey where no difference is shown."
                            + (published ? " The open diamond is the published change." : ""));
        }
    }

    private void bars(Metric metric) {
        List<String> series = seriesValues();
        List<Charts.Bar> bars = new ArrayList<>();
        for (CaseSummary summary : report.cases()) {
            summary.sample(metric)
                    .ifPresent(sample -> bars.add(
                            new Charts.Bar(label(summary, Set.of()), series.indexOf(seriesValue(summary)), sample)));
        }
        if (!bars.isEmpty()) {
            figure(
                    capital(metric.meaning()),
                    Charts.bars(metric.meaning(), axisTitle(metric), bars),
                    "Bars end at the median, whiskers span the middle half of the runs, every dot is one run.");
        }
    }

    /** A line chart for every axis of figures, one line for every combination of the other axes. */
    private void sweeps(Metric metric) {
        for (Axis axis : experiment.axes()) {
            if (axis.values().size() < LEAST_SWEEP
                    || !axis.values().stream()
                            .allMatch(value -> Units.parseSize(value).isPresent())) {
                continue;
            }
            Map<String, List<Charts.Point>> points = new LinkedHashMap<>();
            for (CaseSummary summary : report.cases()) {
                int position = axis.values().indexOf(summary.spec().labels().getOrDefault(axis.label(), ""));
                summary.sample(metric)
                        .ifPresent(sample -> points.computeIfAbsent(
                                        label(summary, Set.of(axis.label())), key -> new ArrayList<>())
                                .add(new Charts.Point(position, sample)));
            }
            if (points.isEmpty() || points.size() > MOST_DISTRIBUTIONS * 2) {
                continue;
            }
            List<Charts.Line> lines = new ArrayList<>();
            points.forEach((label, list) -> lines.add(new Charts.Line(label, list)));
            String title = capital(metric.meaning()) + " by " + axis.label();
            figure(
                    title,
                    Charts.lines(title, axis.label(), axisTitle(metric), axis.values(), lines),
                    "Points are medians, whiskers span the middle half of the runs.");
        }
    }

    private void latencies() {
        List<Charts.Distribution> distributions = new ArrayList<>();
        for (CaseSummary summary : report.cases()) {
            if (!summary.clat().buckets().isEmpty()) {
                distributions.add(new Charts.Distribution(label(summary, Set.of()), summary.clat()));
            }
        }
        int charts = (distributions.size() + MOST_DISTRIBUTIONS - 1) / MOST_DISTRIBUTIONS;
        int each = charts == 0 ? 1 : (distributions.size() + charts - 1) / charts;
        for (int from = 0; from < distributions.size(); from += each) {
            List<Charts.Distribution> some = distributions.subList(from, Math.min(distributions.size(), from + each));
            figure(
                    from == 0 ? "Completion latency" : "Completion latency, continued",
                    Charts.distributions("Distribution of completion latency", some),
                    "Share of requests that completed within a time, all runs of a case together.");
        }
    }

    private void order(Metric metric) {
        List<String> series = seriesValues();
        List<RunRecord> runs = report.cases().stream()
                .flatMap(summary -> summary.runs().stream())
                .sorted(java.util.Comparator.comparingLong(RunRecord::startedMillis))
                .toList();
        Map<String, CaseSummary> byId = new LinkedHashMap<>();
        report.cases().forEach(summary -> byId.put(summary.spec().id(), summary));
        List<Charts.Mark> marks = new ArrayList<>();
        for (RunRecord run : runs) {
            run.measurement()
                    .flatMap(measurement ->
                            metric.value(measurement).stream().boxed().findFirst())
                    .ifPresent(value -> marks.add(new Charts.Mark(
                            Optional.ofNullable(byId.get(run.caseId()))
                                    .map(summary -> series.indexOf(seriesValue(summary)))
                                    .orElse(0),
                            value,
                            !run.flags().isEmpty(),
                            "repeat " + run.block() + ": " + run.caseId() + ", " + MetricUnit.format(value))));
        }
        if (!marks.isEmpty()) {
            figure(
                    "Runs in order",
                    Charts.order("Runs in order", axisTitle(metric), series.size() > 1 ? series : List.of(), marks),
                    "A drift over time would show here. Hollow marks are runs that something else on the host "
                            + "disturbed.");
        }
    }

    private void figure(String title, String svg, String caption) {
        page.element("h3", title)
                .open("figure")
                .raw(svg)
                .element("figcaption", caption)
                .close("figure")
                .newline();
    }

    /** The axis that decides colours: the compared one, otherwise the first. */
    private Optional<Axis> seriesAxis() {
        String compared = experiment.comparisons().isEmpty()
                ? ""
                : experiment.comparisons().getFirst().axis();
        return experiment.axes().stream()
                .filter(axis -> axis.label().equals(compared))
                .findFirst()
                .or(() -> experiment.axes().stream().findFirst());
    }

    private List<String> seriesValues() {
        return seriesAxis()
                .map(axis -> axis.values().stream()
                        .map(value -> axis.label() + "=" + value)
                        .limit(Charts.COLOURS)
                        .toList())
                .orElse(List.of(""));
    }

    private String seriesValue(CaseSummary summary) {
        String value = seriesAxis()
                .map(axis -> axis.label() + "=" + summary.spec().labels().getOrDefault(axis.label(), ""))
                .orElse("");
        List<String> known = seriesValues();
        return known.contains(value) ? value : known.getLast();
    }

    private static String label(CaseSummary summary, Set<String> without) {
        Map<String, String> labels = new LinkedHashMap<>(summary.spec().labels());
        labels.keySet().removeAll(without);
        return labels.isEmpty() ? summary.spec().job().guest() : caseName(labels);
    }

    private static String caseName(Map<String, String> labels) {
        return String.join(
                ", ",
                labels.entrySet().stream()
                        .map(label -> label.getKey().equals(Axis.CASE)
                                ? label.getValue()
                                : label.getKey() + "=" + label.getValue())
                        .toList());
    }

    private static String axisTitle(Metric metric) {
        return metric.meaning()
                + (metric.unit().symbol().isEmpty() || metric == Metric.IOPS
                        ? ""
                        : ", " + metric.unit().symbol());
    }

    private static String capital(String phrase) {
        return phrase.isEmpty() ? phrase : phrase.substring(0, 1).toUpperCase(Locale.ROOT) + phrase.substring(1);
    }

    private void exits() {
        Set<String> reasons = new LinkedHashSet<>();
        report.cases()
                .forEach(summary -> summary.exitsPerRequest().forEach((reason, rate) -> {
                    if (rate > 0) {
                        reasons.add(reason);
                    }
                }));
        if (reasons.isEmpty()) {
            return;
        }
        page.element("h2", "vCPU exits per request, by reason");
        page.open("div", "class", "scroll").open("table").open("thead").open("tr");
        page.element("th", "case");
        reasons.forEach(reason -> page.element("th", reason, "class", "n"));
        page.close("tr").close("thead").open("tbody");
        for (CaseSummary summary : report.cases()) {
            page.open("tr").element("td", summary.spec().id());
            for (String reason : reasons) {
                double rate = summary.exitsPerRequest().getOrDefault(reason, 0.0);
                page.element("td", MetricUnit.format(rate), "class", "n");
            }
            page.close("tr");
        }
        page.close("tbody").close("table").close("div").newline();
    }

    private void observations() {
        Set<String> names = new LinkedHashSet<>();
        report.cases().forEach(summary -> names.addAll(summary.facts().keySet()));
        if (names.isEmpty()) {
            return;
        }
        page.element("h2", "What the runs observed");
        page.open("div", "class", "scroll").open("table").open("thead").open("tr");
        page.element("th", "case");
        names.forEach(name -> page.element("th", name));
        page.close("tr").close("thead").open("tbody");
        for (CaseSummary summary : report.cases()) {
            page.open("tr").element("td", summary.spec().id());
            names.forEach(name -> page.element("td", summary.facts().getOrDefault(name, NOTHING)));
            page.close("tr");
        }
        page.close("tbody").close("table").close("div").newline();
    }

    private void conditions() {
        page.element("h2", "Conditions");
        page.open("table").open("tbody");
        for (Session session : report.outcome().sessions()) {
            if (report.outcome().sessions().size() > 1) {
                fact("session " + session.number(), TIME.format(Instant.ofEpochMilli(session.startedMillis())));
            } else {
                fact("started", TIME.format(Instant.ofEpochMilli(session.startedMillis())));
            }
            boolean same = session.number() > 1
                    && session.host()
                            .equals(report.outcome().sessions().getFirst().host());
            if (!same) {
                session.host().facts().forEach(this::fact);
            }
        }
        fact("accelerator", shown(report.accelerators()));
        fact("repeats", Integer.toString(experiment.repeats()));
        fact(
                "order",
                experiment.shuffled()
                        ? "every repeat holds each case once, in random order (seed " + experiment.seed() + ")"
                        : "as listed");
        fact("warm-up", experiment.warmupRuns() + " full runs of every case, and one for the JVM; not counted");
        fact("spec", experiment.hash() + " (" + experiment.file().getFileName() + ")");
        page.close("tbody").close("table").newline();
        if (!experiment.axes().isEmpty()) {
            page.element("h3", "What varies");
            page.open("table").open("tbody");
            experiment.axes().forEach(axis -> fact(axis.path(), String.join(", ", axis.values())));
            page.close("tbody").close("table");
        }
        report.cases().stream().findFirst().ifPresent(first -> {
            page.element("h3", "Machine and job" + (experiment.axes().isEmpty() ? "" : " of the first case"));
            page.element(
                    "pre",
                    ConfigDocument.write(first.spec().vm()) + "\n# "
                            + first.spec().guests()
                            + (first.spec().guests() == 1 ? " machine" : " machines at once") + ", each running\n# "
                            + first.spec().job());
        });
    }

    private void fact(String name, String value) {
        page.open("tr")
                .element("th", name)
                .element("td", value, "class", "wrap")
                .close("tr");
    }

    private void runs() {
        page.element("h2", "Runs");
        page.open("div", "class", "scroll").open("table").open("thead").open("tr");
        page.element("th", "case").element("th", "repeat", "class", "n");
        List<Metric> shown = new ArrayList<>(experiment.primaryMetrics());
        shown.removeIf(Metric.CLAT_P99::equals);
        shown.add(Metric.CLAT_P99);
        shown.forEach(metric -> page.element("th", metric.headingWithUnit(), "class", "n"));
        page.element("th", "errors", "class", "n")
                .element("th", "others' CPU", "class", "n")
                .element("th", "stolen", "class", "n")
                .element("th", "remarks");
        page.close("tr").close("thead").open("tbody").newline();
        for (CaseSummary summary : report.cases()) {
            summary.runs().forEach(run -> run(run, shown));
        }
        report.outcome().failures().forEach(run -> run(run, shown));
        page.close("tbody").close("table").close("div").newline();
    }

    private void run(RunRecord run, List<Metric> shown) {
        page.open("tr").element("td", run.caseId()).element("td", Integer.toString(run.block()), "class", "n");
        for (Metric metric : shown) {
            String figure = run.measurement()
                    .flatMap(measurement ->
                            metric.value(measurement).stream().boxed().findFirst())
                    .map(MetricUnit::format)
                    .orElse(NOTHING);
            page.element("td", figure, "class", "n");
        }
        HostLoad load = run.load();
        page.element(
                "td",
                run.measurement()
                        .map(measurement -> Long.toString(measurement.errors()))
                        .orElse(NOTHING),
                "class",
                "n");
        page.element("td", String.format(Locale.ROOT, "%.1f %%", load.otherShare() * 100), "class", "n");
        page.element("td", String.format(Locale.ROOT, "%.1f %%", load.stealShare() * 100), "class", "n");
        page.element(
                "td",
                run.failure().isEmpty() ? String.join("; ", run.flags()) : "failed: " + run.failure(),
                "class",
                "wrap");
        page.close("tr").newline();
    }
}
