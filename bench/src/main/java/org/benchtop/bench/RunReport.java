package org.benchtop.bench;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Locale;
import java.util.Map;
import org.benchtop.bench.measure.MetricUnit;

/** The small report at the end of {@code benchtop run}. */
public final class RunReport {
    private static final ObjectMapper JSON = JsonMapper.builder().build();
    private static final int SHOWN_REASONS = 4;

    private RunReport() {}

    /** Some lines for people; figures that make no sense without requests are left out when there were none. */
    public static String text(RunFigures figures) {
        StringBuilder text = new StringBuilder();
        double seconds = figures.elapsedNanos() / 1e9;
        line(
                text,
                "machine",
                String.format(Locale.ROOT, "%s on %s, %.2f s", figures.machine(), figures.accelerator(), seconds));
        if (figures.requests() == 0) {
            line(text, "requests", "none");
            line(text, "vCPU exits", String.format(Locale.ROOT, "%,d%s", figures.exitCount(), reasons(figures, 1)));
            return text.toString();
        }
        line(
                text,
                "requests",
                String.format(
                        Locale.ROOT,
                        "%,d (%,d read, %,d write, %,d flush), %,d failed",
                        figures.requests(),
                        figures.reads(),
                        figures.writes(),
                        figures.flushes(),
                        figures.errors()));
        line(
                text,
                "throughput",
                MetricUnit.format(figures.requests() / seconds) + " IOPS, "
                        + MetricUnit.format(figures.bytes() / seconds / 1e6) + " MB/s");
        if (figures.latency().measured()) {
            line(
                    text,
                    "latency",
                    "p50 " + MetricUnit.format(figures.latency().quantileNanos(0.5) / 1e3) + " µs, p99 "
                            + MetricUnit.format(figures.latency().quantileNanos(0.99) / 1e3) + " µs (in the backend)");
        }
        line(
                text,
                "per request",
                MetricUnit.format(perRequest(figures, figures.exitCount())) + " exits, "
                        + MetricUnit.format(perRequest(figures, figures.interrupts())) + " interrupts"
                        + (figures.cpuNanos() < 0
                                ? ""
                                : ", "
                                        + MetricUnit.format(perRequest(figures, figures.cpuNanos()) / 1e3)
                                        + " µs host CPU"));
        line(
                text,
                "exits",
                String.format(Locale.ROOT, "%,d%s", figures.exitCount(), reasons(figures, figures.requests())));
        return text.toString();
    }

    private static double perRequest(RunFigures figures, long amount) {
        return (double) amount / figures.requests();
    }

    private static String reasons(RunFigures figures, long divisor) {
        StringBuilder text = new StringBuilder();
        figures.exits().entrySet().stream()
                .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
                .limit(SHOWN_REASONS)
                .forEach(exit -> text.append(text.isEmpty() ? ": " : ", ")
                        .append(exit.getKey())
                        .append(' ')
                        .append(MetricUnit.format((double) exit.getValue() / divisor))
                        .append(divisor > 1 ? "/req" : ""));
        return text.toString();
    }

    private static void line(StringBuilder text, String name, String value) {
        text.append(String.format(Locale.ROOT, "  %-12s %s%n", name, value));
    }

    /** The same as one JSON object, indented; times in nanoseconds. */
    public static String json(RunFigures figures) {
        double seconds = figures.elapsedNanos() / 1e9;
        ObjectNode node = JSON.createObjectNode();
        node.put("format", 1);
        node.put("machine", figures.machine());
        node.put("accelerator", figures.accelerator());
        node.put("elapsedNanos", figures.elapsedNanos());
        node.put("requests", figures.requests());
        node.put("reads", figures.reads());
        node.put("writes", figures.writes());
        node.put("flushes", figures.flushes());
        node.put("bytes", figures.bytes());
        node.put("errors", figures.errors());
        if (figures.elapsedNanos() > 0) {
            node.put("iops", figures.requests() / seconds);
            node.put("bytesPerSecond", figures.bytes() / seconds);
        }
        if (figures.latency().measured()) {
            node.put("latencyMeanNanos", figures.latency().meanNanos());
            node.put("latencyP50Nanos", figures.latency().quantileNanos(0.5));
            node.put("latencyP99Nanos", figures.latency().quantileNanos(0.99));
            node.put("latencyP999Nanos", figures.latency().quantileNanos(0.999));
            node.put("latencyMaxNanos", figures.latency().maxNanos());
        }
        node.put("exits", figures.exitCount());
        node.set("exitsByReason", JSON.valueToTree(figures.exits()));
        node.put("interrupts", figures.interrupts());
        if (figures.cpuNanos() >= 0) {
            node.put("hostCpuNanos", figures.cpuNanos());
        }
        if (figures.requests() > 0) {
            node.put("exitsPerRequest", perRequest(figures, figures.exitCount()));
            node.put("interruptsPerRequest", perRequest(figures, figures.interrupts()));
            if (figures.cpuNanos() >= 0) {
                node.put("hostCpuNanosPerRequest", perRequest(figures, figures.cpuNanos()));
            }
        }
        try {
            return JSON.writerWithDefaultPrettyPrinter().writeValueAsString(node) + "\n";
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a tree of plain values cannot fail to be written", e);
        }
    }
}
