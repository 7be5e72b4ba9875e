package org.benchtop.bench.experiment;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.benchtop.engine.config.ConfigValue;
import org.benchtop.engine.config.Suggestions;

/** Expands {@code matrix}, {@code cases}, {@code exclude} and {@code include} into cells. */
final class Matrix {
    /** The greatest number of cells. */
    static final int MAX_CELLS = 1000;

    /** The greatest number of values of an axis. */
    private static final int MAX_VALUES = 200;

    private static final Pattern LAST_NAME = Pattern.compile("([A-Za-z0-9_-]+)(?:\\[[^\\]]*])*$");

    /**
     * One value of an axis.
     *
     * @param label what it is called
     * @param settings what it sets
     */
    record Value(String label, List<Setting> settings) {}

    /**
     * A value at a place.
     *
     * @param path the place
     * @param value what is put there
     */
    record Setting(String path, ConfigValue value) {}

    /**
     * A cell.
     *
     * @param labels by the axes' labels
     * @param settings what the cell sets, in order
     */
    record Cell(Map<String, String> labels, List<Setting> settings) {}

    private final List<Axis> axes = new ArrayList<>();
    private final List<List<Value>> values = new ArrayList<>();

    private Matrix() {}

    /** Reads the axes of an experiment. */
    static Matrix read(Section experiment) {
        Matrix matrix = new Matrix();
        experiment.find("cases").ifPresent(matrix::readCases);
        experiment.find("matrix").ifPresent(matrix::readAxes);
        return matrix;
    }

    List<Axis> axes() {
        return List.copyOf(axes);
    }

    private void readCases(ConfigValue list) {
        List<Value> cases = new ArrayList<>();
        Set<String> names = new HashSet<>();
        for (ConfigValue item : Section.list(list)) {
            Section section = Section.of(item).allow("a case", List.of("name", "set"));
            String name = Section.text(section.require("name"));
            if (!names.add(name)) {
                throw Section.error(section.require("name"), "two cases are named \"" + name + "\"");
            }
            List<Setting> settings = new ArrayList<>();
            section.find("set").ifPresent(set -> {
                Section.of(set)
                        .mapping()
                        .members()
                        .forEach((path, member) -> settings.add(new Setting(path, member.value())));
            });
            cases.add(new Value(name, settings));
        }
        add(
                list,
                new Axis(Axis.CASE, Axis.CASE, cases.stream().map(Value::label).toList()),
                cases);
    }

    private void readAxes(ConfigValue value) {
        Section matrix = Section.of(value);
        Map<String, Integer> shortNames = new HashMap<>();
        matrix.mapping().members().keySet().forEach(path -> shortNames.merge(lastName(path), 1, Integer::sum));
        matrix.mapping().members().forEach((path, member) -> {
            String shortName = lastName(path);
            boolean unique = shortNames.getOrDefault(shortName, 0) == 1 && !shortName.equals(Axis.CASE);
            String label = unique ? shortName : path;
            List<Value> choices = new ArrayList<>();
            Set<String> labels = new HashSet<>();
            for (ConfigValue item : Section.list(member.value())) {
                Value choice = choice(path, item);
                if (!labels.add(choice.label())) {
                    throw Section.error(item, "the value " + choice.label() + " is there twice");
                }
                choices.add(choice);
            }
            add(
                    member.value(),
                    new Axis(path, label, choices.stream().map(Value::label).toList()),
                    choices);
        });
    }

    private void add(ConfigValue where, Axis axis, List<Value> choices) {
        if (choices.isEmpty()) {
            throw Section.error(where, "at least one value is needed");
        }
        if (choices.size() > MAX_VALUES) {
            throw Section.error(where, choices.size() + " values, at most " + MAX_VALUES + " are allowed");
        }
        axes.add(axis);
        values.add(choices);
    }

    /** The last name of a path: {@code ioeventfd} of {@code devices[0].ioeventfd}. */
    private static String lastName(String path) {
        Matcher matcher = LAST_NAME.matcher(path);
        return matcher.find() ? matcher.group(1) : path;
    }

    private static Value choice(String path, ConfigValue item) {
        if (item instanceof ConfigValue.Mapping mapping) {
            Section section = new Section(mapping).allow("a labelled value", List.of("label", "value"));
            return new Value(
                    Section.text(section.require("label")), List.of(new Setting(path, section.require("value"))));
        }
        if (item instanceof ConfigValue.Scalar scalar) {
            return new Value(scalar.isNull() ? "none" : scalar.text(), List.of(new Setting(path, item)));
        }
        throw Section.error(item, "a list as a value needs a label: {label: …, value: […]}");
    }

    /** All cells that are left after {@code exclude}, and those of {@code include}. */
    List<Cell> cells(Section experiment) {
        long product = 1;
        for (List<Value> choices : values) {
            product = Math.min(Long.MAX_VALUE / MAX_VALUES, product * choices.size());
        }
        List<Map<String, Set<String>>> excluded = patterns(experiment, "exclude");
        if (product > MAX_CELLS * 100L) {
            throw experiment.keyError("matrix", tooMany(product));
        }
        List<Cell> cells = new ArrayList<>(List.of(new Cell(Map.of(), List.of())));
        for (int axis = 0; axis < axes.size(); axis++) {
            List<Cell> longer = new ArrayList<>();
            for (Cell cell : cells) {
                for (Value value : values.get(axis)) {
                    longer.add(extend(cell, axes.get(axis), value));
                }
            }
            cells = longer;
        }
        cells.removeIf(cell -> excluded.stream().anyMatch(pattern -> matches(cell, pattern)));
        addIncluded(experiment, cells);
        if (cells.isEmpty()) {
            throw experiment.keyError("exclude", "no case is left");
        }
        if (cells.size() > MAX_CELLS) {
            throw experiment.keyError("matrix", tooMany(cells.size()));
        }
        return cells;
    }

    private static String tooMany(long count) {
        return count + " cases, at most " + MAX_CELLS + " are allowed";
    }

    private static Cell extend(Cell cell, Axis axis, Value value) {
        Map<String, String> labels = new LinkedHashMap<>(cell.labels());
        labels.put(axis.label(), value.label());
        List<Setting> settings = new ArrayList<>(cell.settings());
        settings.addAll(value.settings());
        return new Cell(labels, settings);
    }

    private static boolean matches(Cell cell, Map<String, Set<String>> pattern) {
        return pattern.entrySet().stream()
                .allMatch(term -> term.getValue().contains(cell.labels().get(term.getKey())));
    }

    private List<Map<String, Set<String>>> patterns(Section experiment, String key) {
        List<Map<String, Set<String>>> patterns = new ArrayList<>();
        experiment.find(key).ifPresent(list -> {
            for (ConfigValue item : Section.list(list)) {
                Section section = Section.of(item);
                if (section.mapping().members().isEmpty()) {
                    throw Section.error(item, "at least one axis is needed");
                }
                Map<String, Set<String>> pattern = new LinkedHashMap<>();
                for (String name : section.mapping().members().keySet()) {
                    int axis = axis(section, name);
                    Set<String> labels = new HashSet<>();
                    ConfigValue wanted = section.require(name);
                    List<ConfigValue> alternatives =
                            wanted instanceof ConfigValue.Sequence several ? several.items() : List.of(wanted);
                    for (ConfigValue alternative : alternatives) {
                        labels.add(value(axis, alternative).label());
                    }
                    pattern.put(axes.get(axis).label(), labels);
                }
                patterns.add(pattern);
            }
        });
        return patterns;
    }

    private void addIncluded(Section experiment, List<Cell> cells) {
        experiment.find("include").ifPresent(list -> {
            for (ConfigValue item : Section.list(list)) {
                Section section = Section.of(item);
                section.mapping().members().keySet().forEach(name -> axis(section, name));
                Cell cell = new Cell(Map.of(), List.of());
                for (int axis = 0; axis < axes.size(); axis++) {
                    cell = extend(cell, axes.get(axis), included(section, axis));
                }
                Map<String, String> labels = cell.labels();
                if (cells.stream().anyMatch(other -> other.labels().equals(labels))) {
                    throw Section.error(item, "the case " + CaseSpec.idOf(labels) + " is there already");
                }
                cells.add(cell);
            }
        });
    }

    /** A value for an included cell: one of the axis, or for a plain axis any other. */
    private Value included(Section section, int axis) {
        Axis named = axes.get(axis);
        ConfigValue written = section.find(named.label())
                .or(() -> section.find(named.path()))
                .orElseThrow(() -> Section.error(section.mapping(), "the axis \"" + named.label() + "\" is missing"));
        Optional<Value> known = known(axis, written);
        if (known.isPresent()) {
            return known.get();
        }
        if (named.path().equals(Axis.CASE)) {
            return value(axis, written);
        }
        return choice(named.path(), written);
    }

    private int axis(Section section, String name) {
        for (int axis = 0; axis < axes.size(); axis++) {
            if (axes.get(axis).label().equals(name) || axes.get(axis).path().equals(name)) {
                return axis;
            }
        }
        throw section.keyError(
                name,
                "\"" + name + "\" is no axis of the matrix"
                        + Suggestions.hint(name, axes.stream().map(Axis::label).toList()));
    }

    private Optional<Value> known(int axis, ConfigValue written) {
        String label = written instanceof ConfigValue.Scalar scalar
                ? scalar.isNull() ? "none" : scalar.text()
                : written.shape();
        return values.get(axis).stream()
                .filter(value -> value.label().equals(label))
                .findFirst();
    }

    private Value value(int axis, ConfigValue written) {
        return known(axis, written)
                .orElseThrow(() -> Section.error(
                        written,
                        written.shape() + " is no value of the axis "
                                + axes.get(axis).label()
                                + Suggestions.hint(
                                        written instanceof ConfigValue.Scalar scalar ? scalar.text() : "",
                                        axes.get(axis).values())));
    }

    /** The axis that a name means: its label or its path. */
    static Optional<Axis> find(List<Axis> axes, String name) {
        return axes.stream()
                .filter(axis -> axis.label().equals(name) || axis.path().equals(name))
                .findFirst();
    }
}
