package org.benchtop.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.measure.Job;
import org.benchtop.bench.measure.Metric;
import org.benchtop.bench.report.Report;
import org.benchtop.bench.report.TextReport;
import org.benchtop.bench.run.RunListener;
import org.benchtop.engine.config.ConfigDocument;
import org.benchtop.spi.BenchtopException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BenchTest {
    @TempDir
    Path folder;

    private Bench bench() {
        return new Bench(new FakeCaseRunner(BenchTest::iops), RunListener.SILENT, folder);
    }

    private static double iops(CaseSpec spec) {
        return ConfigDocument.write(spec.vm()).contains("ioeventfd: off")
                        || ConfigDocument.write(spec.vm()).contains("ioeventfd: \"off\"")
                ? 4000
                : 5000 * Integer.parseInt(spec.job().parameters().getOrDefault("iodepth", "1"));
    }

    @Test
    void aJobIsMeasuredOnTheDefaultMachine() {
        Report report = bench().bench(Job.disk().with("rw", "read"));

        assertEquals(3, report.cases().getFirst().runs().size());
        assertEquals(
                5000,
                report.cases().getFirst().sample(Metric.IOPS).orElseThrow().median(),
                100);
    }

    @Test
    void jobsAreCompared() {
        Report report = bench().compare(Job.disk().with("iodepth", 2), Job.disk());

        assertTrue(
                report.comparisons().getFirst().verdict().startsWith("diskbench iodepth=2 is faster: +"),
                report.comparisons().getFirst().verdict());
        assertTrue(TextReport.of(report, false).contains("diskbench iodepth=2"));
    }

    @Test
    void machinesAreCompared() {
        Trial on = Trial.of(Job.disk()).named("on");
        Trial off = on.named("off").with("devices[0].ioeventfd", "off");

        Report report = bench().compare(off, on, 6, Metric.IOPS);

        assertTrue(report.comparisons().getFirst().verdict().startsWith("off is slower: −"));
    }

    @Test
    void measuringTwiceStartsAnew() {
        Bench bench = bench();

        bench.bench(Job.disk());
        Report second = bench.bench(Job.disk().with("bs", "8k"));

        assertEquals(1, second.outcome().sessions().size());
        assertEquals(3, second.outcome().counted().size());
    }

    @Test
    void trialsThatCannotBeToldApartAreRefused() {
        BenchtopException e = assertThrows(BenchtopException.class, () -> bench().compare(Job.disk(), Job.disk()));

        assertEquals("two trials are named \"diskbench\"", e.getMessage());
    }
}
