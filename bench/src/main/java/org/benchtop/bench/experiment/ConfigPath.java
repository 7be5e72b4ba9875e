package org.benchtop.bench.experiment;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.benchtop.engine.config.ConfigValue;
import org.benchtop.engine.config.SourcePosition;

/**
 * A place in a YAML tree, such as {@code devices[0].ioeventfd}.
 *
 * @param text as written
 * @param steps names ({@link String}) and list positions ({@link Integer})
 */
record ConfigPath(String text, List<Step> steps) {
    private static final Pattern STEP = Pattern.compile("\\.?([A-Za-z0-9_-]+)|\\[(\\d{1,6})]");

    /** A step down the tree. */
    sealed interface Step {
        /** Into a map. */
        record Key(String name) implements Step {}

        /** Into a list. */
        record Index(int number) implements Step {}
    }

    /** Says what is wrong with a path for a tree, in a phrase. */
    static final class MismatchException extends Exception {
        private static final long serialVersionUID = 1L;

        MismatchException(String message) {
            super(message, null, false, false);
        }
    }

    ConfigPath {
        steps = List.copyOf(steps);
    }

    /** The path, if the text is one. */
    static Optional<ConfigPath> parse(String text) {
        Matcher matcher = STEP.matcher(text);
        List<Step> steps = new ArrayList<>();
        int end = 0;
        while (end < text.length()) {
            matcher.region(end, text.length());
            boolean dot = text.charAt(end) == '.';
            if (!matcher.lookingAt() || dot == steps.isEmpty() && matcher.group(1) != null) {
                return Optional.empty();
            }
            steps.add(
                    matcher.group(1) != null
                            ? new Step.Key(matcher.group(1))
                            : new Step.Index(Integer.parseInt(matcher.group(2))));
            end = matcher.end();
        }
        return steps.isEmpty() || steps.getFirst() instanceof Step.Index
                ? Optional.empty()
                : Optional.of(new ConfigPath(text, steps));
    }

    /** The name of the last key. */
    String lastName() {
        for (Step step : steps.reversed()) {
            if (step instanceof Step.Key key) {
                return key.name();
            }
        }
        return text;
    }

    /**
     * A tree with the value at this place added, replaced, or, when the value is YAML's null, removed. Maps on the way
     * are made where they are missing, list entries are not.
     */
    ConfigValue.Mapping set(ConfigValue.Mapping root, ConfigValue value) throws MismatchException {
        return (ConfigValue.Mapping) set(root, 0, value);
    }

    private ConfigValue set(ConfigValue node, int depth, ConfigValue value) throws MismatchException {
        if (depth == steps.size()) {
            return value.at(node.path());
        }
        return switch (steps.get(depth)) {
            case Step.Key key -> setMember(node, key.name(), depth, value);
            case Step.Index index -> setItem(node, index.number(), depth, value);
        };
    }

    private ConfigValue setMember(ConfigValue node, String name, int depth, ConfigValue value)
            throws MismatchException {
        if (!(node instanceof ConfigValue.Mapping mapping)) {
            throw new MismatchException(node.path() + " is " + node.shape() + ", not a map");
        }
        boolean last = depth == steps.size() - 1;
        if (last && value instanceof ConfigValue.Scalar scalar && scalar.isNull()) {
            return mapping.without(name);
        }
        String path = ConfigValue.child(mapping.path(), name);
        ConfigValue old = mapping.find(name).orElse(ConfigValue.Mapping.EMPTY.at(path));
        return mapping.with(name, value.position(), set(old, depth + 1, value));
    }

    private ConfigValue setItem(ConfigValue node, int number, int depth, ConfigValue value) throws MismatchException {
        if (!(node instanceof ConfigValue.Sequence sequence)) {
            throw new MismatchException(node.path() + " is "
                    + (node instanceof ConfigValue.Mapping empty && empty.position() == SourcePosition.NONE
                            ? "not there"
                            : node.shape() + ", not a list"));
        }
        if (number >= sequence.items().size()) {
            throw new MismatchException("there is no " + sequence.path() + "[" + number + "], " + sequence.path()
                    + " has " + sequence.items().size()
                    + (sequence.items().size() == 1 ? " entry" : " entries"));
        }
        List<ConfigValue> items = new ArrayList<>(sequence.items());
        items.set(number, set(items.get(number), depth + 1, value));
        return new ConfigValue.Sequence(items, sequence.position(), sequence.path());
    }
}
