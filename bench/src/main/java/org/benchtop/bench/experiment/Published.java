package org.benchtop.bench.experiment;

import java.util.List;
import java.util.Optional;
import org.benchtop.bench.measure.Metric;
import org.benchtop.bench.measure.MetricUnit;

/**
 * Somebody else's figures, shown beside ours in their own table shape.
 *
 * @param source where they were published; may be empty
 * @param note how they may be compared; may be empty
 * @param columns at least one
 * @param rows cells as written, one for every column
 */
public record Published(String source, String note, List<Column> columns, List<List<String>> rows) {
    public Published {
        columns = List.copyOf(columns);
        rows = rows.stream().map(List::copyOf).toList();
    }

    /**
     * A column.
     *
     * @param name its heading
     * @param axis the label of our axis that its cells are values of, if they are
     * @param metric our figure for the same thing, if there is one
     * @param unit the unit of its cells; only meaningful with a metric
     * @param guest the number of the guest that the figure is of, from 0; −1 for all together
     */
    public record Column(String name, Optional<String> axis, Optional<Metric> metric, MetricUnit unit, int guest) {}
}
