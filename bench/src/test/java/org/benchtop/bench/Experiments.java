package org.benchtop.bench;

import java.nio.file.Path;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.experiment.Experiment;
import org.benchtop.bench.experiment.ExperimentOverrides;
import org.benchtop.bench.experiment.ExperimentReader;

/** A small experiment for tests. */
public final class Experiments {
    /** Its text: ioeventfd on and off, one and two CPUs. */
    public static final String TEXT = """
            experiment: tiny
            title: "Tiny & <quick>"
            question: Is "on" faster?
            source: a test
            notes: [made up]
            vm:
              cpus: 1
              drives: { disk0: { type: file, file: "${scratch}/disk.img", size: 1MiB, create: true } }
              devices:
                - { type: virtio-blk-pci, drive: disk0 }
            job: { guest: diskbench, rw: read, runtime: 1s }
            matrix: { "devices[0].ioeventfd": [off, on], cpus: [1, 2] }
            repeats: 6
            compare: { by: ioeventfd, baseline: off, metric: iops }
            published:
              source: somebody, 2011
              note: old hardware
              columns:
                - { name: ioeventfd, axis: ioeventfd }
                - { name: cpus, axis: cpus }
                - { name: iops, metric: iops }
                - { name: bw KB/s, metric: bandwidth, unit: KB/s }
                - sys %
              rows:
                - [off, 1, 5019, 20080, 13.40]
                - [on, 1, 4904, 19619, 19.34]
                - [on, 64, 1, 1, 1]
            """;

    private Experiments() {}

    public static Experiment tiny() {
        return parse(TEXT);
    }

    public static Experiment parse(String text) {
        return ExperimentReader.parse(text, Path.of("tiny.yaml"), ExperimentOverrides.NONE);
    }

    /** A speed that depends on the case: "on" is a tenth faster, a second CPU doubles it. */
    public static double iops(CaseSpec spec) {
        double base = "on".equals(spec.labels().get("ioeventfd")) ? 5500 : 5000;
        return "2".equals(spec.labels().get("cpus")) ? 2 * base : base;
    }
}
