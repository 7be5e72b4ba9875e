package org.benchtop.bench.report;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.benchtop.bench.experiment.Axis;
import org.benchtop.bench.measure.Metric;
import org.benchtop.bench.run.RunRecord;
import org.benchtop.bench.statistics.Sample;

/** Figures as comma-separated values (RFC 4180), full precision, units in the headings. */
public final class CsvReport {
    private CsvReport() {}

    /** One line for every measured run, failed ones included. */
    public static String runs(Report report) {
        List<String> heading = new ArrayList<>(List.of("case"));
        report.experiment().axes().forEach(axis -> heading.add(axis.label()));
        heading.addAll(List.of("block", "session", "started", "requests", "errors"));
        for (Metric metric : Metric.values()) {
            heading.add(named(metric));
        }
        heading.addAll(List.of("other CPU share", "steal share", "flags", "failure"));
        StringBuilder text = new StringBuilder();
        line(text, heading);
        for (CaseSummary summary : report.cases()) {
            summary.runs().forEach(run -> line(text, cells(report, summary, run)));
            report.outcome().failures().stream()
                    .filter(run -> run.caseId().equals(summary.spec().id()))
                    .forEach(run -> line(text, cells(report, summary, run)));
        }
        return text.toString();
    }

    private static List<String> cells(Report report, CaseSummary summary, RunRecord run) {
        List<String> cells = new ArrayList<>(List.of(run.caseId()));
        for (Axis axis : report.experiment().axes()) {
            cells.add(summary.spec().labels().getOrDefault(axis.label(), ""));
        }
        cells.add(Integer.toString(run.block()));
        cells.add(Integer.toString(run.session()));
        cells.add(Instant.ofEpochMilli(run.startedMillis()).toString());
        cells.add(run.measurement()
                .map(measurement -> Long.toString(measurement.requests()))
                .orElse(""));
        cells.add(run.measurement()
                .map(measurement -> Long.toString(measurement.errors()))
                .orElse(""));
        for (Metric metric : Metric.values()) {
            cells.add(run.measurement()
                    .flatMap(measurement ->
                            metric.value(measurement).stream().boxed().findFirst())
                    .map(value -> Double.toString(value))
                    .orElse(""));
        }
        cells.add(Double.toString(run.load().otherShare()));
        cells.add(Double.toString(run.load().stealShare()));
        cells.add(String.join("; ", run.flags()));
        cells.add(run.failure());
        return cells;
    }

    /** One line for every case and figure: median, spread and extremes. */
    public static String summary(Report report) {
        List<String> heading = new ArrayList<>(List.of("case"));
        report.experiment().axes().forEach(axis -> heading.add(axis.label()));
        heading.addAll(List.of("metric", "unit", "runs", "median", "q1", "q3", "MAD", "min", "max"));
        StringBuilder text = new StringBuilder();
        line(text, heading);
        for (CaseSummary summary : report.cases()) {
            for (Metric metric : Metric.values()) {
                summary.sample(metric).ifPresent(sample -> line(text, cells(report, summary, metric, sample)));
            }
        }
        return text.toString();
    }

    private static List<String> cells(Report report, CaseSummary summary, Metric metric, Sample sample) {
        List<String> cells = new ArrayList<>(List.of(summary.spec().id()));
        for (Axis axis : report.experiment().axes()) {
            cells.add(summary.spec().labels().getOrDefault(axis.label(), ""));
        }
        cells.add(metric.key());
        cells.add(metric.unit().symbol());
        cells.add(Integer.toString(sample.size()));
        cells.add(Double.toString(sample.median()));
        cells.add(Double.toString(sample.quantile(0.25)));
        cells.add(Double.toString(sample.quantile(0.75)));
        cells.add(Double.toString(sample.medianAbsoluteDeviation()));
        cells.add(Double.toString(sample.min()));
        cells.add(Double.toString(sample.max()));
        return cells;
    }

    private static String named(Metric metric) {
        return metric.unit().symbol().isEmpty()
                ? metric.key()
                : metric.key() + " " + metric.unit().symbol();
    }

    private static void line(StringBuilder text, List<String> cells) {
        text.append(cells.stream().map(CsvReport::quote).collect(Collectors.joining(",")))
                .append("\r\n");
    }

    static String quote(String cell) {
        boolean special = cell.contains(",")
                || cell.contains("\"")
                || cell.contains("\n")
                || cell.contains("\r")
                || !cell.equals(cell.strip());
        return special ? '"' + cell.replace("\"", "\"\"") + '"' : cell;
    }
}
