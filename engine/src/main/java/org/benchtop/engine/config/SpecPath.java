package org.benchtop.engine.config;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.benchtop.spi.BenchtopException;

/**
 * Changes one value of a document by its path: {@code cpus}, {@code drives.disk0.cache}, {@code devices[0].queues},
 * {@code devices[blk0].queues} by id, {@code devices[virtio-blk-pci].queues} by a type that occurs once.
 */
final class SpecPath {
    private static final Pattern STEP = Pattern.compile("([A-Za-z0-9_-]+|\"[^\"]*\")|\\[([^\\[\\]]+)\\]");
    private static final int MAX_LIST = 1000;
    /** Keys whose short form (one word) stands for one member of their long form. */
    private static final Map<String, String> SHORT_FORMS =
            Map.of("accel", "type", "memory", "size", "cpu", "model", "display", "type");

    private final String text;
    private final ConfigValue value;

    private SpecPath(String text, ConfigValue value) {
        this.text = text;
        this.value = value;
    }

    private record Step(String word, boolean bracket, int end) {}

    static ConfigValue.Mapping set(ConfigValue.Mapping root, String path, ConfigValue value) {
        SpecPath change = new SpecPath(path, value);
        return (ConfigValue.Mapping) change.change(Optional.of(root), "", change.steps(), 0);
    }

    private List<Step> steps() {
        List<Step> steps = new ArrayList<>();
        Matcher matcher = STEP.matcher(text);
        int at = 0;
        while (at < text.length()) {
            if (at > 0 && text.charAt(at) == '.') {
                at++;
            } else if (at > 0 && text.charAt(at) != '[') {
                throw malformed(at);
            }
            if (!matcher.find(at) || matcher.start() != at) {
                throw malformed(at);
            }
            boolean bracket = matcher.group(1) == null;
            String word = bracket ? matcher.group(2) : matcher.group(1).replace("\"", "");
            at = matcher.end();
            steps.add(new Step(word.strip(), bracket, at));
        }
        if (steps.isEmpty() || steps.getFirst().bracket()) {
            throw malformed(0);
        }
        return steps;
    }

    private BenchtopException malformed(int at) {
        return BenchtopException.config("--set " + text + ": not a path at character " + (at + 1)
                + " (like cpus, drives.disk0.cache or devices[0].queues)");
    }

    private BenchtopException error(Step step, String message) {
        return BenchtopException.config("--set " + text.substring(0, step.end()) + ": " + message);
    }

    private ConfigValue change(Optional<ConfigValue> current, String path, List<Step> steps, int index) {
        if (index == steps.size()) {
            return replacement(current, path);
        }
        Step step = steps.get(index);
        if (current.isPresent() && current.get() instanceof ConfigValue.Sequence sequence) {
            return inList(sequence, path, steps, index);
        }
        if (current.isEmpty() && (step.bracket() || path.equals("devices"))) {
            return inList(new ConfigValue.Sequence(List.of(), value.position(), path), path, steps, index);
        }
        ConfigValue.Mapping mapping = asMapping(current, path, step);
        Optional<ConfigValue> next = mapping.find(step.word());
        String nextPath = ConfigValue.child(path, step.word());
        SourcePosition keyPosition = Optional.ofNullable(mapping.members().get(step.word()))
                .map(ConfigValue.Member::keyPosition)
                .orElse(value.position());
        return mapping.with(
                step.word(),
                index + 1 == steps.size() ? value.position() : keyPosition,
                change(next, nextPath, steps, index + 1));
    }

    private ConfigValue replacement(Optional<ConfigValue> current, String path) {
        String member = SHORT_FORMS.get(path);
        if (member != null
                && !path.equals("accel")
                && !path.equals("display")
                && value instanceof ConfigValue.Scalar
                && current.isPresent()
                && current.get() instanceof ConfigValue.Mapping mapping) {
            return mapping.with(member, value.position(), value.at(ConfigValue.child(path, member)));
        }
        return value.at(path);
    }

    private ConfigValue.Mapping asMapping(Optional<ConfigValue> current, String path, Step step) {
        return switch (current.orElse(new ConfigValue.Mapping(Map.of(), value.position(), path))) {
            case ConfigValue.Mapping mapping -> mapping;
            case ConfigValue.Scalar scalar -> longForm(scalar, path, step);
            case ConfigValue.Sequence sequence -> throw error(step, "\"" + path + "\" is a list");
        };
    }

    private ConfigValue.Mapping longForm(ConfigValue.Scalar scalar, String path, Step step) {
        ConfigValue.Mapping empty = new ConfigValue.Mapping(Map.of(), scalar.position(), path);
        String member = SHORT_FORMS.get(path);
        if (scalar.isNull()) {
            return empty;
        }
        if (member == null) {
            throw error(step, "\"" + path + "\" is " + scalar.shape() + " and has no options");
        }
        return empty.with(member, scalar.position(), scalar.at(ConfigValue.child(path, member)));
    }

    private ConfigValue inList(ConfigValue.Sequence sequence, String path, List<Step> steps, int index) {
        Step step = steps.get(index);
        List<ConfigValue> items = new ArrayList<>(sequence.items());
        int at = position(items, step, path);
        String itemPath = path + "[" + at + "]";
        Optional<ConfigValue> current = at < items.size() ? Optional.of(items.get(at)) : Optional.empty();
        ConfigValue changed = change(current, itemPath, steps, index + 1);
        if (at < items.size()) {
            items.set(at, changed);
        } else {
            items.add(changed);
        }
        return new ConfigValue.Sequence(items, sequence.position(), path);
    }

    private int position(List<ConfigValue> items, Step step, String path) {
        if (step.word().equals("+")) {
            return items.size();
        }
        if (step.word().chars().allMatch(c -> c >= '0' && c <= '9')
                && step.word().length() <= 6) {
            int index = Integer.parseInt(step.word());
            if (index > items.size() || index >= MAX_LIST) {
                throw error(
                        step,
                        path + " has " + items.size() + (items.size() == 1 ? " entry" : " entries")
                                + " (the next one would be [" + items.size() + "])");
            }
            return index;
        }
        List<String> ids = ids(items);
        int byId = ids.indexOf(step.word());
        if (byId >= 0) {
            return byId;
        }
        List<Integer> byType = new ArrayList<>();
        for (int i = 0; i < items.size(); i++) {
            if (member(items.get(i), "type").equals(step.word())) {
                byType.add(i);
            }
        }
        if (byType.size() == 1) {
            return byType.getFirst();
        }
        if (byType.size() > 1) {
            throw error(
                    step,
                    path + " has " + byType.size() + " entries of type " + step.word() + " (known: "
                            + Suggestions.list(byType.stream().map(ids::get).toList()) + ")");
        }
        throw error(step, "no entry \"" + step.word() + "\" in " + path + Suggestions.hint(step.word(), ids));
    }

    private static List<String> ids(List<ConfigValue> items) {
        List<String> ids = new ArrayList<>();
        Map<String, Integer> next = new HashMap<>();
        for (ConfigValue item : items) {
            String id = member(item, "id");
            if (id.isEmpty()) {
                String type = member(item, "type");
                int number = next.getOrDefault(type, 0);
                next.put(type, number + 1);
                id = type + "." + number;
            }
            ids.add(id);
        }
        return ids;
    }

    private static String member(ConfigValue item, String name) {
        return switch (item) {
            case ConfigValue.Mapping mapping ->
                mapping.find(name)
                        .map(value -> value instanceof ConfigValue.Scalar scalar ? scalar.text() : "")
                        .orElse("");
            case ConfigValue.Scalar scalar -> name.equals("type") ? scalar.text() : "";
            case ConfigValue.Sequence sequence -> "";
        };
    }
}
