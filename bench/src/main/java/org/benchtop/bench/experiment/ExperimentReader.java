package org.benchtop.bench.experiment;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.benchtop.bench.measure.Job;
import org.benchtop.bench.measure.Metric;
import org.benchtop.engine.config.ConfigDocument;
import org.benchtop.engine.config.ConfigValue;
import org.benchtop.engine.config.SourcePosition;
import org.benchtop.engine.config.Suggestions;
import org.benchtop.engine.config.Units;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/** Reads experiment files. The format is documented in {@code docs/experiments.md}. */
public final class ExperimentReader {
    /** The greatest number of repeats. */
    public static final int MAX_REPEATS = 1000;

    /** The greatest number of machines in one case. */
    public static final int MAX_GUESTS = 64;

    private static final List<String> KEYS = List.of(
            "experiment",
            "title",
            "question",
            "source",
            "notes",
            "vm",
            "guests",
            "job",
            "images",
            "matrix",
            "cases",
            "exclude",
            "include",
            "repeats",
            "warmup-runs",
            "seed",
            "order",
            "columns",
            "compare",
            "published",
            "quick");
    private static final Pattern ID = Pattern.compile("[a-z0-9][a-z0-9-]{0,63}");
    private static final String QUICK_RUNTIME = "1s";
    private static final String QUICK_WARMUP = "0s";
    private static final int QUICK_REPEATS = 2;

    private final Path file;
    private final Path folder;
    private final Section root;
    private final boolean quick;

    private ExperimentReader(Path file, Section root, boolean quick) {
        this.file = file;
        this.folder = Optional.ofNullable(file.toAbsolutePath().getParent()).orElse(Path.of("/"));
        this.root = root;
        this.quick = quick;
    }

    /**
     * Reads an experiment file.
     *
     * @throws BenchtopException with position, key and what is allowed
     */
    public static Experiment read(Path file, ExperimentOverrides overrides) {
        return parse(content(file), file, overrides);
    }

    /**
     * Reads an experiment from text.
     *
     * @param file its name in messages; relative paths start from its folder
     */
    public static Experiment parse(String text, Path file, ExperimentOverrides overrides) {
        ConfigValue document = ConfigDocument.read(text, file.toString(), ExperimentReader::variable);
        Section root = Section.of(document).allow("an experiment", KEYS);
        return new ExperimentReader(file, root, overrides.quick()).experiment(overrides);
    }

    private static Optional<String> variable(String name) {
        // The run fills in its own variables, once for every guest.
        return CaseSpec.VARIABLES.contains(name)
                ? Optional.of("${" + name + "}")
                : Optional.ofNullable(System.getenv(name));
    }

    private static String content(Path file) {
        try {
            return Files.readString(file, StandardCharsets.UTF_8);
        } catch (NoSuchFileException e) {
            throw BenchtopException.of(ErrorKind.CONFIG, file + ": there is no such file", e);
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.CONFIG, file + ": cannot be read: " + e.getMessage(), e);
        }
    }

    private Experiment experiment(ExperimentOverrides overrides) {
        String id = Section.text(root.require("experiment"));
        if (!ID.matcher(id).matches()) {
            throw Section.error(
                    root.require("experiment"),
                    "\"" + id + "\" is not a name: lower-case letters, digits and dashes, at most 64");
        }
        Matrix matrix = Matrix.read(root);
        Settings settings = new Settings();
        if (quick) {
            quickSettings(settings);
        }
        overrides.sets().forEach(set -> settings.addWord(set, matrix.axes()));

        Map<String, ConfigValue> plain = settings.plain;
        int repeats = overrides
                .repeats()
                .orElseGet(() -> Optional.ofNullable(plain.get("repeats"))
                        .map(value -> (int) Section.number(value, 1, MAX_REPEATS))
                        .orElseGet(() -> (int) root.number("repeats", 5, 1, MAX_REPEATS)));
        if (repeats < 1 || repeats > MAX_REPEATS) {
            throw BenchtopException.config(
                    "--repeats: " + repeats + " is not a whole number between 1 and " + MAX_REPEATS);
        }
        int warmupRuns = (int) plainOr(plain, "warmup-runs", quick ? 0 : 1, 0, 100);
        long seed = plainOr(plain, "seed", 42, Long.MIN_VALUE, Long.MAX_VALUE);
        boolean shuffled = shuffled();

        List<CaseSpec> cases = cases(matrix, settings);
        List<Axis> axes = withIncludedValues(matrix.axes(), cases);
        return new Experiment(
                quick ? id + "-quick" : id,
                root.text("title", id),
                root.text("question", "").strip(),
                root.text("source", "").strip(),
                root.texts("notes"),
                file,
                axes,
                cases,
                repeats,
                warmupRuns,
                seed,
                shuffled,
                columns(),
                comparisons(axes),
                root.find("published").map(value -> PublishedReader.read(value, axes)),
                hash(cases, seed, shuffled, warmupRuns));
    }

    private long plainOr(Map<String, ConfigValue> plain, String key, long otherwise, long min, long max) {
        ConfigValue set = plain.get(key);
        return set != null ? Section.number(set, min, max) : root.number(key, otherwise, min, max);
    }

    private boolean shuffled() {
        return root.find("order")
                .map(value -> switch (Section.text(value)) {
                    case "random" -> true;
                    case "listed" -> false;
                    default -> throw Section.error(value, value.shape() + " is no order (allowed: random, listed)");
                })
                .orElse(true);
    }

    private List<CaseSpec> cases(Matrix matrix, Settings common) {
        Machine machine = machine();
        Section job = Section.of(root.require("job"));
        Images images = root.find("images")
                .map(value -> Section.of(value).allow("images", List.of("fill", "drop-page-cache")))
                .map(section -> new Images(section.flag("fill", true), section.flag("drop-page-cache", false)))
                .orElse(new Images(true, false));
        List<CaseSpec> cases = new ArrayList<>();
        for (Matrix.Cell cell : matrix.cells(root)) {
            Settings settings = new Settings();
            cell.settings().forEach(setting -> settings.add(setting.path(), setting.value()));
            // The command line has the last word over named cases; over an axis it is refused earlier.
            common.all.forEach(settings::add);
            int guests = settings.plain.containsKey("guests")
                    ? (int) Section.number(settings.plain.get("guests"), 1, MAX_GUESTS)
                    : (int) root.number("guests", 1, 1, MAX_GUESTS);
            cases.add(new CaseSpec(
                    CaseSpec.idOf(cell.labels()),
                    cell.labels(),
                    settings.applyTo(machine.vm()),
                    machine.folder(),
                    settings.job(job),
                    guests,
                    images));
        }
        return cases;
    }

    private record Machine(ConfigValue.Mapping vm, Path folder) {}

    private Machine machine() {
        ConfigValue vm = root.require("vm");
        if (vm instanceof ConfigValue.Mapping inline) {
            return new Machine(inline.at(""), folder);
        }
        Path other = folder.resolve(Section.text(vm)).normalize();
        if (!Files.isRegularFile(other)) {
            throw Section.error(vm, "there is no file " + other);
        }
        String name = Path.of("").toAbsolutePath().equals(folder) ? Section.text(vm) : other.toString();
        ConfigValue document = ConfigDocument.read(content(other), name, ExperimentReader::variable);
        return new Machine(
                Section.of(document).mapping(),
                Optional.ofNullable(other.getParent()).orElse(folder));
    }

    private void quickSettings(Settings settings) {
        Optional<Section> section =
                root.find("quick").map(value -> Section.of(value).allow("quick", List.of("repeats", "set")));
        section.flatMap(quickKeys -> quickKeys.find("repeats"))
                .ifPresentOrElse(
                        value -> settings.plain.put("repeats", value),
                        () -> settings.plain.put(
                                "repeats",
                                new ConfigValue.Scalar(
                                        Integer.toString(QUICK_REPEATS),
                                        false,
                                        SourcePosition.of("--quick"),
                                        "repeats")));
        Optional<Section> sets =
                section.flatMap(quickKeys -> quickKeys.find("set")).map(Section::of);
        if (sets.isEmpty()) {
            settings.addWord("job.runtime=" + QUICK_RUNTIME, List.of());
            settings.addWord("job.warmup=" + QUICK_WARMUP, List.of());
            return;
        }
        sets.get().mapping().members().forEach((path, member) -> settings.add(path, member.value()));
    }

    private List<Metric> columns() {
        List<Metric> columns = new ArrayList<>();
        root.find("columns").ifPresent(list -> Section.list(list).forEach(item -> columns.add(metric(item))));
        return columns.isEmpty() ? Experiment.DEFAULT_COLUMNS : columns;
    }

    static Metric metric(ConfigValue value) {
        String key = Section.text(value);
        return Metric.byKey(key)
                .orElseThrow(() ->
                        Section.error(value, "unknown metric \"" + key + "\"" + Suggestions.hint(key, Metric.keys())));
    }

    private List<CompareSpec> comparisons(List<Axis> axes) {
        List<CompareSpec> comparisons = new ArrayList<>();
        root.find("compare").ifPresent(value -> {
            List<ConfigValue> items =
                    value instanceof ConfigValue.Sequence sequence ? sequence.items() : List.of(value);
            for (ConfigValue item : items) {
                comparisons.addAll(comparison(Section.of(item), axes));
            }
        });
        return comparisons;
    }

    private static List<CompareSpec> comparison(Section section, List<Axis> axes) {
        section.allow("compare", List.of("by", "baseline", "metric"));
        ConfigValue by = section.require("by");
        String name = Section.text(by);
        Axis axis = Matrix.find(axes, name)
                .orElseThrow(() -> Section.error(
                        by,
                        "\"" + name + "\" is no axis of the matrix"
                                + Suggestions.hint(
                                        name, axes.stream().map(Axis::label).toList())));
        ConfigValue baseline = section.require("baseline");
        String label =
                baseline instanceof ConfigValue.Scalar scalar && scalar.isNull() ? "none" : Section.text(baseline);
        if (!axis.values().contains(label)) {
            throw Section.error(
                    baseline,
                    "\"" + label + "\" is no value of the axis " + axis.label()
                            + Suggestions.hint(label, axis.values()));
        }
        if (axis.values().size() < 2) {
            throw Section.error(by, "the axis " + axis.label() + " has only one value, there is nothing to compare");
        }
        List<Metric> metrics = new ArrayList<>();
        section.find("metric").ifPresent(value -> {
            if (value instanceof ConfigValue.Sequence several) {
                several.items().forEach(item -> metrics.add(metric(item)));
            } else {
                metrics.add(metric(value));
            }
        });
        if (metrics.isEmpty()) {
            metrics.add(Metric.IOPS);
        }
        return metrics.stream()
                .map(metric -> new CompareSpec(axis.label(), label, metric))
                .toList();
    }

    /** Axes with the values that only included cases have. */
    private static List<Axis> withIncludedValues(List<Axis> axes, List<CaseSpec> cases) {
        List<Axis> complete = new ArrayList<>();
        for (Axis axis : axes) {
            List<String> values = new ArrayList<>(axis.values());
            for (CaseSpec spec : cases) {
                String value = spec.labels().getOrDefault(axis.label(), "");
                if (!values.contains(value)) {
                    values.add(value);
                }
            }
            complete.add(new Axis(axis.path(), axis.label(), values));
        }
        return complete;
    }

    private static String hash(List<CaseSpec> cases, long seed, boolean shuffled, int warmupRuns) {
        StringBuilder text = new StringBuilder();
        text.append(seed)
                .append(' ')
                .append(shuffled)
                .append(' ')
                .append(warmupRuns)
                .append('\n');
        for (CaseSpec spec : cases) {
            text.append(spec.id()).append('\n');
            text.append(spec.job()).append('\n');
            text.append(spec.guests()).append(' ').append(spec.images()).append('\n');
            text.append(CanonicalText.of(spec.vm())).append('\n');
        }
        try {
            byte[] digest =
                    MessageDigest.getInstance("SHA-256").digest(text.toString().getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest, 0, 6);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }

    /** Values at paths, sorted by what they belong to. */
    private static final class Settings {
        private static final List<String> PLAIN = List.of("guests", "repeats", "seed", "warmup-runs");
        private static final String JOB = "job.";

        private final Map<String, ConfigValue> all = new LinkedHashMap<>();
        private final Map<String, ConfigValue> plain = new LinkedHashMap<>();
        private final Map<String, ConfigValue> jobParameters = new LinkedHashMap<>();
        private final Map<String, ConfigValue> machine = new LinkedHashMap<>();

        /** Takes a {@code path=value} word of the command line. */
        void addWord(String word, List<Axis> axes) {
            int equals = word.indexOf('=');
            String path = equals < 0 ? word : word.substring(0, equals).strip();
            if (equals <= 0) {
                throw BenchtopException.config("--set: \"" + word + "\" is not path=value, such as job.bs=16k");
            }
            Matrix.find(axes, path).filter(axis -> axis.path().equals(path)).ifPresent(axis -> {
                throw BenchtopException.config("--set " + path + ": it is an axis of the matrix; choose some of its "
                        + "values with --filter " + axis.label() + "=…");
            });
            add(path, ConfigDocument.readValue(word.substring(equals + 1), path));
        }

        void add(String path, ConfigValue value) {
            all.put(path, value);
            if (PLAIN.contains(path)) {
                plain.put(path, value);
            } else if (path.startsWith(JOB)) {
                jobParameters.put(path.substring(JOB.length()), value);
            } else {
                machine.put(path, value);
            }
        }

        ConfigValue.Mapping applyTo(ConfigValue.Mapping vm) {
            ConfigValue.Mapping changed = vm;
            for (Map.Entry<String, ConfigValue> setting : machine.entrySet()) {
                changed = ConfigDocument.set(changed, setting.getKey(), setting.getValue());
            }
            return changed;
        }

        Job job(Section written) {
            Map<String, String> parameters = new LinkedHashMap<>();
            written.mapping().members().forEach((name, member) -> parameters.put(name, Section.text(member.value())));
            jobParameters.forEach((name, value) -> {
                if (value instanceof ConfigValue.Scalar scalar && scalar.isNull()) {
                    parameters.remove(name);
                } else {
                    parameters.put(name, Section.text(value));
                }
            });
            String guest = Optional.ofNullable(parameters.remove("guest"))
                    .orElseThrow(() -> Section.error(written.mapping(), "the key \"guest\" is missing"));
            for (String duration : List.of("runtime", "warmup")) {
                String value = parameters.getOrDefault(duration, "0");
                if (Units.parseNanos(value).isEmpty()) {
                    ConfigValue where =
                            Optional.ofNullable(jobParameters.get(duration)).orElseGet(() -> written.require(duration));
                    throw Section.error(where, "\"" + value + "\" is not a duration such as 500ms or 10s");
                }
            }
            return new Job(guest, parameters);
        }
    }
}
