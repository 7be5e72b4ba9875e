package org.benchtop.bench.experiment;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.benchtop.bench.measure.Metric;
import org.benchtop.bench.measure.MetricUnit;
import org.benchtop.engine.config.ConfigValue;
import org.benchtop.engine.config.Suggestions;

/** Reads the {@code published} part of an experiment. */
final class PublishedReader {
    private static final int MAX_ROWS = 500;
    private static final int MAX_COLUMNS = 40;

    private PublishedReader() {}

    static Published read(ConfigValue value, List<Axis> axes) {
        Section section = Section.of(value).allow("published", List.of("source", "note", "columns", "rows"));
        List<Published.Column> columns = new ArrayList<>();
        for (ConfigValue item : Section.list(section.require("columns"))) {
            columns.add(column(item, axes));
        }
        if (columns.isEmpty() || columns.size() > MAX_COLUMNS) {
            throw Section.error(
                    section.require("columns"),
                    columns.size() + " columns, between 1 and " + MAX_COLUMNS + " are allowed");
        }
        List<List<String>> rows = new ArrayList<>();
        for (ConfigValue row : Section.list(section.require("rows"))) {
            rows.add(row(row, columns));
            if (rows.size() > MAX_ROWS) {
                throw Section.error(row, "more than " + MAX_ROWS + " rows");
            }
        }
        return new Published(
                section.text("source", ""), section.text("note", "").strip(), columns, rows);
    }

    private static Published.Column column(ConfigValue item, List<Axis> axes) {
        if (item instanceof ConfigValue.Scalar) {
            return new Published.Column(Section.text(item), Optional.empty(), Optional.empty(), MetricUnit.COUNT, -1);
        }
        Section section = Section.of(item).allow("a column", List.of("name", "axis", "metric", "unit", "guest"));
        Optional<Axis> axis = section.find("axis").map(value -> {
            String name = Section.text(value);
            return Matrix.find(axes, name)
                    .orElseThrow(() -> Section.error(
                            value,
                            "\"" + name + "\" is no axis of the matrix"
                                    + Suggestions.hint(
                                            name, axes.stream().map(Axis::label).toList())));
        });
        Optional<Metric> metric = section.find("metric").map(ExperimentReader::metric);
        if (axis.isPresent() && metric.isPresent()) {
            throw Section.error(item, "a column has an axis or a metric, not both");
        }
        MetricUnit unit = section.find("unit")
                .map(value -> unit(value, metric))
                .orElseGet(() -> metric.map(Metric::unit).orElse(MetricUnit.COUNT));
        int guest = (int) section.number("guest", -1, 0, ExperimentReader.MAX_GUESTS - 1);
        return new Published.Column(Section.text(section.require("name")), axis.map(Axis::label), metric, unit, guest);
    }

    private static MetricUnit unit(ConfigValue value, Optional<Metric> metric) {
        MetricUnit unit = MetricUnit.bySymbol(Section.text(value))
                .orElseThrow(() -> Section.error(value, "unknown unit " + value.shape()));
        if (metric.isEmpty()) {
            throw Section.error(value, "a unit needs a metric");
        }
        if (!unit.convertsFrom(metric.get().unit())) {
            throw Section.error(value, "the metric " + metric.get().key() + " is not measured in " + unit.symbol());
        }
        return unit;
    }

    private static List<String> row(ConfigValue row, List<Published.Column> columns) {
        List<ConfigValue> cells = Section.list(row);
        if (cells.size() != columns.size()) {
            throw Section.error(row, cells.size() + " cells for " + columns.size() + " columns");
        }
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < cells.size(); i++) {
            texts.add(cell(cells.get(i), columns.get(i)));
        }
        return texts;
    }

    private static String cell(ConfigValue cell, Published.Column column) {
        boolean empty = cell instanceof ConfigValue.Scalar scalar && scalar.isNull();
        if (column.axis().isPresent()) {
            // A row of a case that we do not have is still shown, so any value is allowed here.
            return empty ? "none" : Section.text(cell);
        }
        if (empty) {
            return "";
        }
        String text = Section.text(cell);
        if (column.metric().isPresent()) {
            try {
                Double.parseDouble(text);
            } catch (NumberFormatException e) {
                throw Section.error(cell, cell.shape() + " is not a number");
            }
        }
        return text;
    }
}
