package org.benchtop.bench.report;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.experiment.Experiment;
import org.benchtop.bench.experiment.Published;
import org.benchtop.bench.measure.Measurement;
import org.benchtop.bench.measure.Metric;
import org.benchtop.bench.measure.MetricUnit;
import org.benchtop.bench.run.RunRecord;
import org.benchtop.bench.statistics.Sample;

/**
 * Published figures with ours in the same shape.
 *
 * @param published as written
 * @param rows one for each published row
 */
public record PublishedTable(Published published, List<List<Cell>> rows) {
    /**
     * A cell.
     *
     * @param published as published; empty if they had none
     * @param ours our median in the same unit; empty if the column has no metric or there is no such case
     */
    public record Cell(String published, String ours) {}

    static PublishedTable of(Published published, Experiment experiment, List<CaseSummary> summaries) {
        Map<String, CaseSummary> byId = new HashMap<>();
        summaries.forEach(summary -> byId.put(summary.spec().id(), summary));
        List<List<Cell>> rows = new ArrayList<>();
        for (List<String> row : published.rows()) {
            Optional<CaseSummary> ours =
                    experiment.find(labels(published, row)).map(CaseSpec::id).map(byId::get);
            List<Cell> cells = new ArrayList<>();
            for (int i = 0; i < row.size(); i++) {
                Published.Column column = published.columns().get(i);
                cells.add(new Cell(
                        shown(row.get(i), column),
                        ours.map(summary -> figure(summary, column)).orElse("")));
            }
            rows.add(cells);
        }
        return new PublishedTable(published, rows);
    }

    private static String shown(String cell, Published.Column column) {
        return column.metric().isPresent() && !cell.isEmpty() ? MetricUnit.format(Double.parseDouble(cell)) : cell;
    }

    private static Map<String, String> labels(Published published, List<String> row) {
        Map<String, String> labels = new LinkedHashMap<>();
        for (int i = 0; i < row.size(); i++) {
            String cell = row.get(i);
            published.columns().get(i).axis().ifPresent(axis -> labels.put(axis, cell));
        }
        return labels;
    }

    private static String figure(CaseSummary summary, Published.Column column) {
        return column.metric()
                .map(metric -> {
                    double[] values = summary.runs().stream()
                            .map(RunRecord::measurement)
                            .flatMap(Optional::stream)
                            .filter(measurement ->
                                    column.guest() < measurement.guests().size())
                            .flatMap(measurement -> metric.base(seenBy(measurement, column.guest())).stream()
                                    .boxed())
                            .mapToDouble(Double::doubleValue)
                            .toArray();
                    return values.length == 0
                            ? ""
                            : MetricUnit.format(
                                    column.unit().fromBase(Sample.of(values).median()));
                })
                .orElse("");
    }

    private static Measurement seenBy(Measurement measurement, int guest) {
        return guest < 0 ? measurement : measurement.ofGuest(guest);
    }

    /** The ratio of two published figures of a metric, if both cases are there. */
    static OptionalDouble ratio(
            Published published, Metric metric, Map<String, String> candidate, Map<String, String> baseline) {
        Optional<Double> above = value(published, metric, candidate);
        Optional<Double> below = value(published, metric, baseline).filter(value -> value != 0);
        return above.isPresent() && below.isPresent()
                ? OptionalDouble.of(above.get() / below.get())
                : OptionalDouble.empty();
    }

    private static Optional<Double> value(Published published, Metric metric, Map<String, String> wanted) {
        for (int i = 0; i < published.columns().size(); i++) {
            Published.Column column = published.columns().get(i);
            if (column.metric().filter(metric::equals).isEmpty() || column.guest() >= 0) {
                continue;
            }
            for (List<String> row : published.rows()) {
                Map<String, String> labels = labels(published, row);
                if (!labels.isEmpty()
                        && wanted.entrySet().containsAll(labels.entrySet())
                        && !row.get(i).isEmpty()) {
                    return Optional.of(Double.parseDouble(row.get(i)));
                }
            }
        }
        return Optional.empty();
    }
}
