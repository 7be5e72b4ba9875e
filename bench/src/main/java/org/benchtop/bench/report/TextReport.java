package org.benchtop.bench.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.benchtop.bench.experiment.Axis;
import org.benchtop.bench.experiment.Experiment;
import org.benchtop.bench.experiment.Published;
import org.benchtop.bench.measure.Metric;
import org.benchtop.bench.measure.MetricUnit;
import org.benchtop.bench.run.Session;
import org.benchtop.bench.statistics.Comparison;
import org.benchtop.bench.statistics.Sample;
import org.benchtop.bench.statistics.Verdict;

/** The report for a terminal or a log. */
public final class TextReport {
    private static final String BOLD = "1";
    private static final String GREEN = "32";
    private static final String YELLOW = "33";
    private static final String DIM = "2";
    private static final String NOTHING = "–";

    private final Report report;
    private final boolean colours;
    private final StringBuilder text = new StringBuilder();

    private TextReport(Report report, boolean colours) {
        this.report = report;
        this.colours = colours;
    }

    /**
     * The whole report, lines ended by a newline.
     *
     * @param colours whether escape sequences for colours are used
     */
    public static String of(Report report, boolean colours) {
        return new TextReport(report, colours).text();
    }

    private String text() {
        Experiment experiment = report.experiment();
        line(styled(BOLD, experiment.id() + ": " + experiment.title()));
        line(styled(DIM, summary(experiment)));
        for (Session session : report.outcome().sessions().reversed()) {
            Map<String, String> host = session.host().facts();
            line(styled(DIM, host.getOrDefault("CPU", "") + ", " + host.getOrDefault("kernel", "")));
            break;
        }
        line("");
        figures(experiment);
        comparisons();
        published();
        if (!report.remarks().isEmpty()) {
            line("");
            report.remarks().forEach(remark -> line(styled(YELLOW, "note: " + remark)));
        }
        return text.toString();
    }

    private String summary(Experiment experiment) {
        int cases = report.cases().size();
        return (report.accelerators().isEmpty() ? "" : report.accelerators() + ", ") + cases
                + (cases == 1 ? " case" : " cases") + " × " + experiment.repeats()
                + (experiment.repeats() == 1 ? " repeat" : " repeats")
                + (experiment.shuffled() ? " in random order (seed " + experiment.seed() + ")" : "")
                + ", spec " + experiment.hash();
    }

    private void figures(Experiment experiment) {
        List<Axis> axes = experiment.axes();
        List<Metric> columns = experiment.columns().stream()
                .filter(metric -> report.cases().stream()
                        .anyMatch(summary -> summary.sample(metric).isPresent()))
                .toList();
        List<TextTable.Align> aligns = new ArrayList<>();
        List<String> heading = new ArrayList<>();
        for (Axis axis : axes) {
            aligns.add(TextTable.Align.LEFT);
            heading.add(axis.label());
        }
        aligns.add(TextTable.Align.RIGHT);
        heading.add("runs");
        List<Metric> primary = experiment.primaryMetrics();
        for (Metric metric : columns) {
            aligns.add(TextTable.Align.RIGHT);
            heading.add(metric.headingWithUnit());
            if (primary.contains(metric)) {
                aligns.add(TextTable.Align.RIGHT);
                heading.add("spread");
            }
        }
        TextTable table = new TextTable(aligns);
        table.row(heading);
        for (CaseSummary summary : report.cases()) {
            List<String> row = new ArrayList<>();
            axes.forEach(axis -> row.add(summary.spec().labels().getOrDefault(axis.label(), "")));
            row.add(Integer.toString(summary.runs().size()));
            for (Metric metric : columns) {
                row.add(summary.sample(metric)
                        .map(sample -> MetricUnit.format(sample.median()))
                        .orElse(NOTHING));
                if (primary.contains(metric)) {
                    row.add(summary.sample(metric).map(TextReport::spread).orElse(NOTHING));
                }
            }
            table.row(row);
        }
        table(table);
    }

    static String spread(Sample sample) {
        return sample.size() < 2 ? NOTHING : String.format(Locale.ROOT, "%.1f %%", sample.relativeSpread() * 100);
    }

    private void comparisons() {
        if (report.comparisons().isEmpty()) {
            return;
        }
        line("");
        for (ComparisonLine line : report.comparisons()) {
            String colour = switch (line.comparison().verdict()) {
                case Verdict.Differs ignored -> GREEN;
                case Verdict.NoDifference ignored -> BOLD;
                case Verdict.Noisy ignored -> YELLOW;
                case Verdict.TooFew ignored -> YELLOW;
                case Verdict.NoRatio ignored -> YELLOW;
            };
            line(line.spec().metric().key() + ", " + line.subject() + ": " + styled(colour, line.verdict())
                    + (line.publishedRatio().isPresent()
                            ? styled(
                                    DIM,
                                    "  [published "
                                            + Comparison.percent(
                                                    line.publishedRatio().getAsDouble())
                                            + "]")
                            : ""));
        }
    }

    private void published() {
        report.published().ifPresent(table -> {
            Published published = table.published();
            line("");
            line(styled(BOLD, "published / ours")
                    + (published.source().isEmpty() ? "" : styled(DIM, "  (" + published.source() + ")")));
            List<TextTable.Align> aligns = new ArrayList<>();
            List<String> heading = new ArrayList<>();
            for (Published.Column column : published.columns()) {
                aligns.add(column.metric().isPresent() ? TextTable.Align.RIGHT : TextTable.Align.LEFT);
                heading.add(column.name());
            }
            TextTable rows = new TextTable(aligns);
            rows.row(heading);
            for (List<PublishedTable.Cell> row : table.rows()) {
                List<String> cells = new ArrayList<>();
                for (int i = 0; i < row.size(); i++) {
                    String theirs = row.get(i).published().isEmpty()
                            ? NOTHING
                            : row.get(i).published();
                    String ours =
                            row.get(i).ours().isEmpty() ? NOTHING : row.get(i).ours();
                    cells.add(published.columns().get(i).metric().isPresent() ? theirs + " / " + ours : theirs);
                }
                rows.row(cells);
            }
            table(rows);
            if (!published.note().isEmpty()) {
                line(styled(DIM, published.note().replace('\n', ' ')));
            }
        });
    }

    private void table(TextTable table) {
        List<String> lines = table.lines();
        line(styled(BOLD, lines.getFirst()));
        lines.subList(1, lines.size()).forEach(this::line);
    }

    private void line(String content) {
        text.append(content).append('\n');
    }

    private String styled(String code, String content) {
        return colours && !content.isEmpty() ? "\u001b[" + code + "m" + content + "\u001b[0m" : content;
    }
}
