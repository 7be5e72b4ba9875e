package org.benchtop.bench.experiment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.benchtop.bench.measure.Metric;
import org.benchtop.engine.config.ConfigDocument;
import org.benchtop.spi.BenchtopException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ExperimentReaderTest {
    private static final Path FILE = Path.of("e4.yaml");
    private static final String BASE = """
            experiment: e4
            vm:
              cpus: 1
              drives: { disk0: { type: file, file: "${scratch}/disk-${guest}.img" } }
              devices:
                - { type: virtio-blk-pci, drive: disk0 }
            job: { guest: diskbench, bs: 4k, runtime: 10s }
            """;

    private static Experiment read(String more) {
        return ExperimentReader.parse(BASE + more, FILE, ExperimentOverrides.NONE);
    }

    private static Experiment read(String more, String... sets) {
        return ExperimentReader.parse(
                BASE + more, FILE, new ExperimentOverrides(OptionalInt.empty(), List.of(sets), false));
    }

    private static String error(String more) {
        return assertThrows(BenchtopException.class, () -> read(more)).getMessage();
    }

    private static String vm(CaseSpec spec) {
        return ConfigDocument.write(spec.vm());
    }

    private static List<String> ids(Experiment experiment) {
        return experiment.cases().stream().map(CaseSpec::id).toList();
    }

    @Test
    void withoutMatrixThereIsOneCase() {
        Experiment experiment = read("");

        assertEquals(List.of("the only case"), ids(experiment));
        assertEquals(5, experiment.repeats());
        assertEquals(1, experiment.warmupRuns());
        assertEquals(42, experiment.seed());
        assertEquals("4k", experiment.cases().getFirst().job().parameters().get("bs"));
    }

    @Test
    void theMatrixIsTheProductOfItsAxes() {
        Experiment experiment = read("""
                matrix:
                  devices[0].ioeventfd: [on, off]
                  cpus: [1, 2]
                  job.bs: [4k, 16k]
                """);

        assertEquals(8, experiment.cases().size());
        assertEquals("ioeventfd=on, cpus=1, bs=4k", ids(experiment).getFirst());
        assertEquals("ioeventfd=off, cpus=2, bs=16k", ids(experiment).getLast());
        CaseSpec last = experiment.cases().getLast();
        assertTrue(vm(last).contains("cpus: 2"), vm(last));
        assertTrue(vm(last).matches("(?s).*ioeventfd: \"?off\"?.*"), vm(last));
        assertEquals("16k", last.job().parameters().get("bs"));
    }

    @Test
    void labelledValuesCanBeAnythingAndNothing() {
        Experiment experiment = read("""
                matrix:
                  devices[0].iothread: [~, { label: own, value: io0 }]
                  drives.disk0: [{ label: fast, value: { type: "null", size: 1M } }]
                """);

        assertEquals(List.of("iothread=none, disk0=fast", "iothread=own, disk0=fast"), ids(experiment));
        assertTrue(vm(experiment.cases().getLast()).contains("io0"));
        assertTrue(vm(experiment.cases().getLast()).contains("size: 1M"));
    }

    @Test
    void namedCasesAreOverlaysAndCrossTheMatrix() {
        Experiment experiment = read("""
                cases:
                  - { name: one guest }
                  - { name: two guests, set: { guests: 2, "devices[0].queues": 2 } }
                matrix: { cpus: [1, 2] }
                """);

        assertEquals(
                List.of(
                        "case=one guest, cpus=1",
                        "case=one guest, cpus=2",
                        "case=two guests, cpus=1",
                        "case=two guests, cpus=2"),
                ids(experiment));
        assertEquals(1, experiment.cases().get(0).guests());
        assertEquals(2, experiment.cases().get(3).guests());
        assertTrue(vm(experiment.cases().get(3)).contains("queues: 2"));
    }

    @Test
    void guestsCanBeAnAxis() {
        Experiment experiment = read("matrix: { guests: [1, 4] }\n");

        assertEquals(
                List.of(1, 4), experiment.cases().stream().map(CaseSpec::guests).toList());
    }

    @Test
    void cellsCanBeExcludedAndIncluded() {
        Experiment experiment = read("""
                matrix: { cpus: [1, 2, 4], job.bs: [4k, 16k] }
                exclude:
                  - { cpus: [2, 4], bs: 16k }
                include:
                  - { cpus: 8, bs: 4k }
                """);

        assertEquals(
                List.of("cpus=1, bs=4k", "cpus=1, bs=16k", "cpus=2, bs=4k", "cpus=4, bs=4k", "cpus=8, bs=4k"),
                ids(experiment));
        assertEquals(List.of("1", "2", "4", "8"), experiment.axes().getFirst().values());
        assertTrue(vm(experiment.cases().getLast()).contains("cpus: 8"));
    }

    @Test
    void pathsWithTheSameLastNameKeepTheirWholePathAsLabel() {
        Experiment experiment = read("matrix: { drives.disk0.cache: [none], 'devices[0].cache': [x] }\n");

        assertEquals(
                List.of("drives.disk0.cache", "devices[0].cache"),
                experiment.axes().stream().map(Axis::label).toList());
    }

    @Test
    void comparisonsNameAxisBaselineAndMetrics() {
        Experiment experiment = read("""
                matrix: { "devices[0].ioeventfd": [on, off] }
                compare: { by: "devices[0].ioeventfd", baseline: off, metric: [iops, clat-p99] }
                """);

        assertEquals(
                List.of(
                        new CompareSpec("ioeventfd", "off", Metric.IOPS),
                        new CompareSpec("ioeventfd", "off", Metric.CLAT_P99)),
                experiment.comparisons());
        assertEquals(List.of(Metric.IOPS, Metric.CLAT_P99), experiment.primaryMetrics());
    }

    @Test
    void theMachineCanBeInAnotherFile(@TempDir Path folder) throws IOException {
        Files.writeString(folder.resolve("vm.yaml"), "cpus: 3\ndevices: []\n");
        Path file =
                Files.writeString(folder.resolve("x.yaml"), "experiment: x\nvm: vm.yaml\njob: { guest: diskbench }\n");

        Experiment experiment = ExperimentReader.read(file, ExperimentOverrides.NONE);

        assertTrue(vm(experiment.cases().getFirst()).contains("cpus: 3"));
        assertEquals(folder, experiment.cases().getFirst().folder());
    }

    @Test
    void setChangesMachineJobAndExperiment() {
        Experiment experiment =
                read("matrix: { cpus: [1, 2] }\n", "job.bs=64k", "drives.disk0.cache=none", "repeats=7", "guests=2");

        CaseSpec first = experiment.cases().getFirst();
        assertEquals("64k", first.job().parameters().get("bs"));
        assertTrue(vm(first).contains("cache: none"), vm(first));
        assertEquals(7, experiment.repeats());
        assertEquals(2, first.guests());
    }

    @Test
    void setOfAnAxisIsRefused() {
        String message = assertThrows(BenchtopException.class, () -> read("matrix: { cpus: [1, 2] }\n", "cpus=4"))
                .getMessage();

        assertEquals(
                "--set cpus: it is an axis of the matrix; choose some of its values with --filter cpus=…", message);
    }

    @Test
    void quickIsShorterAndKeepsItsResultsApart() {
        Experiment experiment =
                ExperimentReader.parse(BASE, FILE, new ExperimentOverrides(OptionalInt.empty(), List.of(), true));

        assertEquals("e4-quick", experiment.id());
        assertEquals(2, experiment.repeats());
        assertEquals("1s", experiment.cases().getFirst().job().parameters().get("runtime"));
    }

    @Test
    void quickCanBeDescribed() {
        Experiment experiment = ExperimentReader.parse(
                BASE + "quick: { repeats: 3, set: { job.runtime: 2s, job.bs: 8k } }\n",
                FILE,
                new ExperimentOverrides(OptionalInt.empty(), List.of(), true));

        assertEquals(3, experiment.repeats());
        assertEquals("2s", experiment.cases().getFirst().job().parameters().get("runtime"));
        assertEquals("8k", experiment.cases().getFirst().job().parameters().get("bs"));
    }

    @Test
    void theHashFollowsWhatFiguresDependOnAndNothingElse() {
        String hash = read("matrix: { cpus: [1, 2] }\nrepeats: 5\n").hash();

        assertEquals(
                hash,
                read("matrix:\n  cpus: [ 1 , 2 ]\nrepeats: 50\ntitle: other\n").hash());
        assertNotEquals(hash, read("matrix: { cpus: [1, 3] }\n").hash());
        assertNotEquals(hash, read("matrix: { cpus: [1, 2] }\nseed: 43\n").hash());
        assertNotEquals(hash, read("matrix: { cpus: [1, 2] }\n", "job.bs=8k").hash());
        assertNotEquals(
                hash,
                read("matrix: { cpus: [1, 2] }\n", "drives.disk0.cache=none").hash());
    }

    @Test
    void publishedFiguresHaveAxesAndMetrics() {
        Published published = read("""
                matrix: { "devices[0].ioeventfd": [on, off] }
                published:
                  source: list, 2011
                  columns:
                    - { name: ioeventfd, axis: ioeventfd }
                    - { name: bw KB/s, metric: bandwidth, unit: KB/s }
                    - guest sys %
                  rows:
                    - [off, 20080, 13.40]
                    - [on, ~, 19.34]
                """).published().orElseThrow();

        assertEquals(List.of("off", "20080", "13.40"), published.rows().getFirst());
        assertEquals(List.of("on", "", "19.34"), published.rows().getLast());
        assertEquals(Metric.BANDWIDTH, published.columns().get(1).metric().orElseThrow());
        assertFalse(published.columns().get(2).axis().isPresent());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '#',
            value = {
                "matrx: {}#e4.yaml:8:1 matrx: unknown key \"matrx\" of an experiment (did you mean \"matrix\"?)",
                "matrix: 3#e4.yaml:8:9 matrix: a map is expected, not \"3\"",
                "matrix: { cpus: 3 }#e4.yaml:8:17 matrix.cpus: a list is expected, not \"3\"",
                "matrix: { cpus: [] }#e4.yaml:8:17 matrix.cpus: at least one value is needed",
                "matrix: { cpus: [1, 1] }#e4.yaml:8:21 matrix.cpus[1]: the value 1 is there twice",
                "matrix: { cpus: [[1]] }#e4.yaml:8:18 matrix.cpus[0]: a list as a value needs a label: {label: …, value: […]}",
                "matrix: { \"devices[3].queues\": [1] }#e4.yaml:8:33 devices[3]: devices has 1 entry (the next one would be [1])",
                "matrix: { guests: [65] }#e4.yaml:8:20 matrix.guests[0]: \"65\" is not a whole number between 1 and 64",
                "repeats: many#e4.yaml:8:10 repeats: \"many\" is not a whole number between 1 and 1000",
                "order: backwards#e4.yaml:8:8 order: \"backwards\" is no order (allowed: random, listed)",
                "exclude: [{ cpus: 1 }]#e4.yaml:8:13 exclude[0].cpus: \"cpus\" is no axis of the matrix (there are none)",
                "columns: [iop]#e4.yaml:8:11 columns[0]: unknown metric \"iop\" (did you mean \"iops\"?)",
                "compare: { by: cpus }#e4.yaml:8:16 compare.by: \"cpus\" is no axis of the matrix (there are none)",
                "images: { fil: on }#e4.yaml:8:11 images.fil: unknown key \"fil\" of images (did you mean \"fill\"?)",
                "images: { fill: maybe }#e4.yaml:8:17 images.fill: \"maybe\" is neither on nor off",
            })
    void mistakesAreReportedWithTheirPlace(String line, String message) {
        assertEquals(message, error(line + "\n"));
    }

    @Test
    void mistakesInComparisonsListWhatIsThere() {
        String axes = "matrix: { cpus: [1, 2], job.bs: [4k, 8k] }\n";

        assertEquals(
                "e4.yaml:9:16 compare.by: \"cpu\" is no axis of the matrix (did you mean \"cpus\"?)",
                error(axes + "compare: { by: cpu, baseline: 1 }\n"));
        assertEquals(
                "e4.yaml:9:32 compare.baseline: \"3\" is no value of the axis cpus (did you mean \"1\"?)",
                error(axes + "compare: { by: cpus, baseline: 3 }\n"));
    }

    @Test
    void everythingExcludedIsRefused() {
        assertEquals(
                "e4.yaml:9:1 exclude: no case is left",
                error("matrix: { cpus: [1, 2] }\nexclude: [{ cpus: [1, 2] }]\n"));
    }

    @Test
    void tooManyCasesAreRefusedBeforeTheyAreMade() {
        StringBuilder values = new StringBuilder("0");
        for (int i = 1; i < 200; i++) {
            values.append(", ").append(i);
        }
        String axis = ": [" + values + "]\n";

        assertEquals(
                "e4.yaml:8:1 matrix: 320000000000 cases, at most 1000 are allowed",
                error("matrix:\n  a" + axis + "  b" + axis + "  c" + axis + "  d" + axis + "  e" + axis));
        assertEquals(
                "e4.yaml:8:1 matrix: 40000 cases, at most 1000 are allowed",
                error("matrix:\n  cpus" + axis + "  job.bs" + axis));
    }

    @Test
    void aDurationWithoutUnitIsRefused() {
        String message = assertThrows(BenchtopException.class, () -> read("", "job.runtime=10"))
                .getMessage();

        assertEquals("--set job.runtime: \"10\" is not a duration such as 500ms or 10s", message);
    }

    @Test
    void whatIsMissingIsNamed() {
        BenchtopException vm = assertThrows(
                BenchtopException.class,
                () -> ExperimentReader.parse("experiment: x\n", FILE, ExperimentOverrides.NONE));
        BenchtopException job = assertThrows(
                BenchtopException.class,
                () -> ExperimentReader.parse("experiment: x\nvm: {}\njob: {}\n", FILE, ExperimentOverrides.NONE));

        assertEquals("e4.yaml:1:1: the key \"job\" is missing", job(vm));
        assertEquals("e4.yaml:3:6 job: the key \"guest\" is missing", job.getMessage());
    }

    private static String job(BenchtopException e) {
        return e.getMessage().replace("\"vm\"", "\"job\"");
    }

    @Test
    void namesThatCannotBeFoldersAreRefused() {
        BenchtopException e = assertThrows(
                BenchtopException.class,
                () -> ExperimentReader.parse("experiment: ../x\n", FILE, ExperimentOverrides.NONE));

        assertEquals(
                "e4.yaml:1:13 experiment: \"../x\" is not a name: lower-case letters, digits and dashes, at most 64",
                e.getMessage());
    }

    @Test
    void missingFilesAreNamed(@TempDir Path folder) {
        Path file = folder.resolve("none.yaml");
        BenchtopException e =
                assertThrows(BenchtopException.class, () -> ExperimentReader.read(file, ExperimentOverrides.NONE));

        assertEquals(file + ": there is no such file", e.getMessage());
    }

    @Test
    void findNeedsExactlyOneCase() {
        Experiment experiment = read("matrix: { cpus: [1, 2], job.bs: [4k, 8k] }\n");

        assertTrue(experiment.find(Map.of("cpus", "1")).isEmpty());
        assertEquals(
                "cpus=1, bs=8k",
                experiment.find(Map.of("cpus", "1", "bs", "8k")).orElseThrow().id());
    }
}
