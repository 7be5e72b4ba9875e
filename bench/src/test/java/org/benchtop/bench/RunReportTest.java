package org.benchtop.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.benchtop.bench.measure.Latency;
import org.benchtop.engine.stats.StatsSnapshot;
import org.junit.jupiter.api.Test;

class RunReportTest {
    private static StatsSnapshot stats() {
        Histogram reads = new Histogram(3);
        for (int i = 1; i <= 100; i++) {
            reads.recordValue(i * 1000L);
        }
        return new StatsSnapshot(
                0,
                new java.util.TreeMap<>(Map.of(
                        "vcpu0", new StatsSnapshot.Entry(Map.of("exits", 320L, "pio-out", 300L, "hlt", 20L), Map.of()),
                        "vcpu1", new StatsSnapshot.Entry(Map.of("exits", 10L, "hlt", 10L, "kick", 0L), Map.of()),
                        "virtio-blk-pci.0", new StatsSnapshot.Entry(Map.of("interrupts", 50L), Map.of()),
                        "disk0",
                                new StatsSnapshot.Entry(
                                        Map.of(
                                                "read-requests",
                                                100L,
                                                "read-bytes",
                                                409_600L,
                                                "write-requests",
                                                8L,
                                                "write-bytes",
                                                4096L,
                                                "flush-requests",
                                                2L,
                                                "errors",
                                                1L),
                                        Map.of("read-latency", reads)))));
    }

    private static RunFigures figures() {
        return RunFigures.of("quick", "kvm", stats(), 2_000_000_000L, 11_000_000L);
    }

    @Test
    void countersOfAMachineAreSummedUp() {
        RunFigures figures = figures();

        assertEquals(110, figures.requests());
        assertEquals(413_696, figures.bytes());
        assertEquals(1, figures.errors());
        assertEquals(50, figures.interrupts());
        assertEquals(Map.of("pio-out", 300L, "hlt", 30L), figures.exits());
        assertEquals(330, figures.exitCount());
        assertEquals(100, figures.latency().count());
        assertEquals(50_000, figures.latency().quantileNanos(0.5), 100);
    }

    @Test
    void theTextNamesEveryFigure() {
        String text = RunReport.text(figures());

        assertEquals("""
                  machine      quick on kvm, 2.00 s
                  requests     110 (100 read, 8 write, 2 flush), 1 failed
                  throughput   55.00 IOPS, 0.207 MB/s
                  latency      p50 50.02 µs, p99 99.01 µs (in the backend)
                  per request  3.00 exits, 0.455 interrupts, 100.0 µs host CPU
                  exits        330: pio-out 2.73/req, hlt 0.273/req
                """, text.replace(System.lineSeparator(), "\n"));
    }

    @Test
    void aMachineWithoutDisksHasAReportToo() {
        RunFigures none = new RunFigures("x", "kvm", 0, 0, 0, 0, 0, 0, Latency.NONE, Map.of("hlt", 5L), 0, -1);

        assertTrue(RunReport.text(none).contains("requests     none"));
        assertTrue(RunReport.text(none).contains("vCPU exits   5: hlt 5"));
        assertFalse(RunReport.json(none).contains("NaN"));
    }

    @Test
    void jsonHasTheSameFigures() throws IOException {
        JsonNode root = new ObjectMapper().readTree(RunReport.json(figures()));

        assertEquals(110, root.get("requests").asLong());
        assertEquals(55, root.get("iops").asDouble());
        assertEquals(3, root.get("exitsPerRequest").asDouble());
        assertEquals(100_000, root.get("hostCpuNanosPerRequest").asDouble());
        assertEquals("kvm", root.get("accelerator").asText());
        assertEquals(300, root.get("exitsByReason").get("pio-out").asLong());
    }
}
