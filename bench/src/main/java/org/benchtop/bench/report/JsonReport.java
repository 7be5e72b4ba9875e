package org.benchtop.bench.report;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Instant;
import org.benchtop.bench.experiment.Experiment;
import org.benchtop.bench.measure.Latency;
import org.benchtop.bench.measure.LatencyBucket;
import org.benchtop.bench.measure.Metric;
import org.benchtop.bench.run.RunRecord;
import org.benchtop.bench.run.Session;
import org.benchtop.bench.statistics.Comparison;
import org.benchtop.bench.statistics.Interval;
import org.benchtop.bench.statistics.Sample;
import org.benchtop.bench.statistics.Verdict;
import org.benchtop.engine.config.ConfigDocument;

/** The report for programs: the same content as the HTML page, figures in full precision. */
public final class JsonReport {
    private static final ObjectMapper JSON = JsonMapper.builder().build();

    private JsonReport() {}

    /** The report as one JSON object, indented. */
    public static String of(Report report) {
        Experiment experiment = report.experiment();
        ObjectNode root = JSON.createObjectNode();
        root.put("format", 1);
        root.put("experiment", experiment.id());
        root.put("title", experiment.title());
        root.put("question", experiment.question());
        root.put("source", experiment.source());
        root.set("notes", JSON.valueToTree(experiment.notes()));
        root.put("hash", experiment.hash());
        root.put("repeats", experiment.repeats());
        root.put("seed", experiment.seed());
        root.put("interrupted", report.outcome().interrupted());
        root.put("accelerator", report.accelerators());
        root.set("remarks", JSON.valueToTree(report.remarks()));
        root.set("axes", JSON.valueToTree(experiment.axes()));
        ArrayNode sessions = root.putArray("sessions");
        for (Session session : report.outcome().sessions()) {
            sessions.addObject()
                    .put("number", session.number())
                    .put(
                            "started",
                            Instant.ofEpochMilli(session.startedMillis()).toString())
                    .set("host", JSON.valueToTree(session.host().facts()));
        }
        ArrayNode cases = root.putArray("cases");
        report.cases().forEach(summary -> cases.add(summary(summary)));
        ArrayNode comparisons = root.putArray("comparisons");
        report.comparisons().forEach(line -> comparisons.add(comparison(line)));
        report.published().ifPresent(table -> root.set("published", published(table)));
        try {
            return JSON.writerWithDefaultPrettyPrinter().writeValueAsString(root) + "\n";
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a tree of plain values cannot fail to be written", e);
        }
    }

    private static ObjectNode summary(CaseSummary summary) {
        ObjectNode node = JSON.createObjectNode();
        node.put("id", summary.spec().id());
        node.set("labels", JSON.valueToTree(summary.spec().labels()));
        node.put("job", summary.spec().job().toString());
        node.put("guests", summary.spec().guests());
        node.put("vm", ConfigDocument.write(summary.spec().vm()));
        node.put("disturbed", summary.disturbed());
        ObjectNode figures = node.putObject("figures");
        for (Metric metric : Metric.values()) {
            summary.sample(metric).ifPresent(sample -> figures.set(metric.key(), sample(metric, sample)));
        }
        node.set("exitsPerRequest", JSON.valueToTree(summary.exitsPerRequest()));
        node.set("facts", JSON.valueToTree(summary.facts()));
        node.set("clatHistogram", histogram(summary.clat()));
        node.set("slatHistogram", histogram(summary.slat()));
        ArrayNode runs = node.putArray("runs");
        summary.runs().forEach(run -> runs.add(run(run)));
        return node;
    }

    private static ObjectNode sample(Metric metric, Sample sample) {
        return JSON.createObjectNode()
                .put("unit", metric.unit().symbol())
                .put("runs", sample.size())
                .put("median", sample.median())
                .put("q1", sample.quantile(0.25))
                .put("q3", sample.quantile(0.75))
                .put("mad", sample.medianAbsoluteDeviation())
                .put("min", sample.min())
                .put("max", sample.max());
    }

    private static ArrayNode histogram(Latency latency) {
        ArrayNode steps = JSON.createArrayNode();
        for (LatencyBucket bucket : latency.buckets()) {
            steps.addArray().add(bucket.upperNanos()).add(bucket.count());
        }
        return steps;
    }

    private static ObjectNode run(RunRecord run) {
        ObjectNode node = JSON.createObjectNode();
        node.put("block", run.block());
        node.put("session", run.session());
        node.put("started", Instant.ofEpochMilli(run.startedMillis()).toString());
        ObjectNode figures = node.putObject("figures");
        run.measurement().ifPresent(measurement -> {
            for (Metric metric : Metric.values()) {
                metric.value(measurement).ifPresent(value -> figures.put(metric.key(), value));
            }
            node.put("requests", measurement.requests());
            node.put("errors", measurement.errors());
            node.set("exits", JSON.valueToTree(measurement.exits()));
        });
        node.set("load", JSON.valueToTree(run.load()));
        node.set("flags", JSON.valueToTree(run.flags()));
        return node;
    }

    private static ObjectNode comparison(ComparisonLine line) {
        Comparison comparison = line.comparison();
        ObjectNode node = JSON.createObjectNode();
        node.put("metric", line.spec().metric().key());
        node.put("axis", line.spec().axis());
        node.put("candidate", comparison.candidateName());
        node.put("baseline", comparison.baselineName());
        node.set("elsewhere", JSON.valueToTree(line.elsewhere()));
        node.put("pairs", comparison.pairs());
        node.put("ratio", comparison.ratio());
        node.put("spread", comparison.spread());
        switch (comparison.verdict()) {
            case Verdict.TooFew ignored -> node.put("verdict", "too-few");
            case Verdict.NoRatio ignored -> node.put("verdict", "no-ratio");
            case Verdict.Noisy noisy -> interval(node.put("verdict", "noisy"), noisy.change());
            case Verdict.NoDifference none -> interval(node.put("verdict", "no-difference"), none.change());
            case Verdict.Differs differs -> interval(node.put("verdict", "differs"), differs.change());
        }
        node.put("text", line.verdict());
        line.publishedRatio().ifPresent(ratio -> node.put("publishedRatio", ratio));
        return node;
    }

    private static void interval(ObjectNode node, Interval interval) {
        node.put("confidence", Comparison.CONFIDENCE);
        node.putArray("ratioInterval").add(interval.low()).add(interval.high());
    }

    private static ObjectNode published(PublishedTable table) {
        ObjectNode node = JSON.createObjectNode();
        node.put("source", table.published().source());
        node.put("note", table.published().note());
        ArrayNode columns = node.putArray("columns");
        table.published().columns().forEach(column -> columns.add(column.name()));
        ArrayNode rows = node.putArray("rows");
        for (var row : table.rows()) {
            ArrayNode cells = rows.addArray();
            row.forEach(
                    cell -> cells.addObject().put("published", cell.published()).put("ours", cell.ours()));
        }
        return node;
    }
}
