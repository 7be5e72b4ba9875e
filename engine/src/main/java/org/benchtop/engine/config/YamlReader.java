package org.benchtop.engine.config;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.benchtop.spi.BenchtopException;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.DumperOptions;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.error.Mark;
import org.yaml.snakeyaml.error.MarkedYAMLException;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.events.AliasEvent;
import org.yaml.snakeyaml.events.Event;
import org.yaml.snakeyaml.events.MappingStartEvent;
import org.yaml.snakeyaml.events.NodeEvent;
import org.yaml.snakeyaml.events.ScalarEvent;
import org.yaml.snakeyaml.events.SequenceStartEvent;
import org.yaml.snakeyaml.parser.ParserImpl;
import org.yaml.snakeyaml.reader.StreamReader;

/** Reads one YAML document into values with positions. Anchors, aliases and merge keys work within bounds. */
final class YamlReader {
    private static final int MAX_CHARACTERS = 4 << 20;
    private static final int MAX_VALUES = 50_000;
    private static final int MAX_DEPTH = 64;
    private static final String STANDARD_TAGS = "tag:yaml.org,2002:";
    private static final Set<String> STANDARD_TYPES = Set.of("str", "int", "float", "bool", "null", "map", "seq");

    private final String source;
    private final ParserImpl parser;
    private final Function<String, Optional<String>> variables;
    private final Map<String, Anchored> anchors = new HashMap<>();
    private final int firstLine;
    private int values;

    private record Anchored(ConfigValue value, int size) {}

    private YamlReader(String text, String source, int firstLine, Function<String, Optional<String>> variables) {
        this.source = source;
        this.firstLine = firstLine;
        this.variables = variables;
        LoaderOptions options = new LoaderOptions();
        options.setCodePointLimit(MAX_CHARACTERS);
        options.setNestingDepthLimit(MAX_DEPTH);
        options.setProcessComments(false);
        this.parser = new ParserImpl(new StreamReader(text), options);
    }

    /** A document without variables. */
    static ConfigValue read(String text, String source, String path) {
        return read(text, source, path, 1, Optional::of);
    }

    /**
     * A document.
     *
     * @param source its name in messages
     * @param path the path of its root
     * @param firstLine the number of its first line, or 0 if it has no lines of interest
     * @param variables values of {@code ${NAME}}
     * @throws BenchtopException of kind CONFIG if it is not valid YAML, or beyond the bounds
     */
    static ConfigValue read(
            String text, String source, String path, int firstLine, Function<String, Optional<String>> variables) {
        SourcePosition start = new SourcePosition(source, firstLine, firstLine == 0 ? 0 : 1);
        if (text.length() > MAX_CHARACTERS) {
            throw new ConfigProblem(start, path, "longer than " + MAX_CHARACTERS + " characters").exception();
        }
        YamlReader reader = null;
        try {
            reader = new YamlReader(text, source, firstLine, variables);
            return reader.document(path);
        } catch (MarkedYAMLException e) {
            SourcePosition position =
                    e.getProblemMark() == null || reader == null ? start : reader.position(e.getProblemMark());
            String context = e.getContext() == null ? "" : " " + e.getContext();
            throw new ConfigProblem(position, path, oneLine("not valid YAML" + context + ": " + e.getProblem()))
                    .exception();
        } catch (YAMLException e) {
            throw new ConfigProblem(start, path, oneLine("not valid YAML: " + e.getMessage())).exception();
        }
    }

    private static String oneLine(String text) {
        return text.lines().findFirst().orElse("").strip();
    }

    private ConfigValue document(String path) {
        parser.getEvent();
        if (parser.checkEvent(Event.ID.StreamEnd)) {
            throw new ConfigProblem(SourcePosition.of(source), path, "the YAML document is empty").exception();
        }
        parser.getEvent();
        ConfigValue root = value(path, 0);
        parser.getEvent();
        if (!parser.checkEvent(Event.ID.StreamEnd)) {
            throw error(parser.peekEvent(), path, "only one YAML document is allowed");
        }
        return root;
    }

    private ConfigValue value(String path, int depth) {
        Event event = parser.getEvent();
        if (depth > MAX_DEPTH) {
            throw error(event, path, "nested more than " + MAX_DEPTH + " deep");
        }
        if (++values > MAX_VALUES) {
            throw error(event, path, "more than " + MAX_VALUES + " values");
        }
        if (event instanceof AliasEvent alias) {
            return alias(alias, path);
        }
        int first = values;
        ConfigValue value = switch (event) {
            case ScalarEvent scalar -> scalar(scalar, path);
            case SequenceStartEvent sequenceStartEvent -> sequence(event, path, depth);
            case MappingStartEvent mappingStartEvent -> mapping(event, path, depth);
            default -> throw error(event, path, "unexpected " + event.getEventId());
        };
        if (event instanceof NodeEvent node && node.getAnchor() != null) {
            anchors.put(node.getAnchor(), new Anchored(value, values - first + 1));
        }
        return value;
    }

    private ConfigValue alias(AliasEvent event, String path) {
        @Nullable Anchored anchored = anchors.get(event.getAnchor());
        if (anchored == null) {
            throw error(event, path, "unknown anchor *" + event.getAnchor());
        }
        values += anchored.size;
        if (values > MAX_VALUES) {
            throw error(event, path, "more than " + MAX_VALUES + " values");
        }
        return anchored.value.at(path);
    }

    private ConfigValue scalar(ScalarEvent event, String path) {
        checkTag(event, event.getTag(), path);
        boolean quoted = event.getScalarStyle() != DumperOptions.ScalarStyle.PLAIN;
        try {
            return new ConfigValue.Scalar(
                    Substitution.apply(event.getValue(), variables), quoted, position(event.getStartMark()), path);
        } catch (IllegalArgumentException e) {
            throw error(event, path, String.valueOf(e.getMessage()));
        }
    }

    private ConfigValue sequence(Event start, String path, int depth) {
        checkTag(start, ((SequenceStartEvent) start).getTag(), path);
        List<ConfigValue> items = new ArrayList<>();
        while (!parser.checkEvent(Event.ID.SequenceEnd)) {
            items.add(value(path + "[" + items.size() + "]", depth + 1));
        }
        parser.getEvent();
        return new ConfigValue.Sequence(items, position(start.getStartMark()), path);
    }

    private ConfigValue mapping(Event start, String path, int depth) {
        checkTag(start, ((MappingStartEvent) start).getTag(), path);
        Map<String, ConfigValue.Member> members = new LinkedHashMap<>();
        List<ConfigValue> merged = new ArrayList<>();
        while (!parser.checkEvent(Event.ID.MappingEnd)) {
            Event key = parser.getEvent();
            if (!(key instanceof ScalarEvent scalar)) {
                throw error(key, path, "a key must be a plain word");
            }
            String name = scalar.getValue();
            if (name.equals("<<") && scalar.getScalarStyle() == DumperOptions.ScalarStyle.PLAIN) {
                merged.add(value(path, depth + 1));
                continue;
            }
            SourcePosition keyPosition = position(key.getStartMark());
            ConfigValue.@Nullable Member before = members.get(name);
            if (before != null) {
                throw error(
                        key,
                        ConfigValue.child(path, name),
                        "the key \"" + name + "\" is written twice (first in line "
                                + before.keyPosition().line() + ")");
            }
            members.put(name, new ConfigValue.Member(keyPosition, value(ConfigValue.child(path, name), depth + 1)));
        }
        parser.getEvent();
        merged.forEach(value -> merge(members, value, start, path));
        return new ConfigValue.Mapping(members, position(start.getStartMark()), path);
    }

    private void merge(Map<String, ConfigValue.Member> members, ConfigValue value, Event start, String path) {
        switch (value) {
            case ConfigValue.Mapping mapping -> mapping.at(path).members().forEach(members::putIfAbsent);
            case ConfigValue.Sequence sequence -> sequence.items().forEach(item -> merge(members, item, start, path));
            case ConfigValue.Scalar scalar -> throw error(start, path, "\"<<\" needs a map or a list of maps");
        }
    }

    private void checkTag(Event event, @Nullable String tag, String path) {
        if (tag == null || tag.equals("!")) {
            return;
        }
        if (!tag.startsWith(STANDARD_TAGS) || !STANDARD_TYPES.contains(tag.substring(STANDARD_TAGS.length()))) {
            throw error(event, path, "the YAML tag " + oneLine(tag) + " is not allowed");
        }
    }

    private SourcePosition position(Mark mark) {
        return firstLine == 0
                ? SourcePosition.of(source)
                : new SourcePosition(source, mark.getLine() + firstLine, mark.getColumn() + 1);
    }

    private BenchtopException error(Event event, String path, String message) {
        return new ConfigProblem(position(event.getStartMark()), path, message).exception();
    }
}
