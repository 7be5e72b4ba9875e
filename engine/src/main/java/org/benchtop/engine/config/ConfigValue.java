package org.benchtop.engine.config;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A piece of configuration that knows where it was written, which does not count in comparisons. Immutable. */
public sealed interface ConfigValue {
    /** Where it was written. */
    SourcePosition position();

    /** Its place in the machine, such as {@code devices[1].cache}. */
    String path();

    /** The same value at another path. */
    ConfigValue at(String path);

    /** What people call this shape. */
    String shape();

    /**
     * Text, a number, a flag or nothing: not interpreted before it is bound.
     *
     * @param text the characters
     * @param quoted whether they were quoted in YAML
     */
    record Scalar(String text, boolean quoted, SourcePosition position, String path) implements ConfigValue {
        /** Whether it is {@code null}, {@code ~} or empty. */
        public boolean isNull() {
            return !quoted && (text.isEmpty() || text.equals("~") || text.equalsIgnoreCase("null"));
        }

        @Override
        public Scalar at(String newPath) {
            return new Scalar(text, quoted, position, newPath);
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Scalar scalar && scalar.text.equals(text) && scalar.isNull() == isNull();
        }

        @Override
        public int hashCode() {
            return text.hashCode();
        }

        @Override
        public String shape() {
            return isNull() ? "nothing" : '"' + text + '"';
        }
    }

    /**
     * A list.
     *
     * @param items its elements
     */
    record Sequence(List<ConfigValue> items, SourcePosition position, String path) implements ConfigValue {
        public Sequence {
            items = List.copyOf(items);
        }

        @Override
        public Sequence at(String newPath) {
            List<ConfigValue> moved = new ArrayList<>(items.size());
            for (ConfigValue item : items) {
                moved.add(item.at(newPath + "[" + moved.size() + "]"));
            }
            return new Sequence(moved, position, newPath);
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Sequence sequence && sequence.items.equals(items);
        }

        @Override
        public int hashCode() {
            return items.hashCode();
        }

        @Override
        public String shape() {
            return "a list";
        }
    }

    /**
     * A map from names to values.
     *
     * @param members by name, in the order in which they were written
     */
    record Mapping(Map<String, Member> members, SourcePosition position, String path) implements ConfigValue {
        /** Without members. */
        public static final Mapping EMPTY = new Mapping(Map.of(), SourcePosition.NONE, "");

        public Mapping {
            members = java.util.Collections.unmodifiableMap(new LinkedHashMap<>(members));
        }

        /** The value of a member. */
        public Optional<ConfigValue> find(String name) {
            return Optional.ofNullable(members.get(name)).map(Member::value);
        }

        /** The same without some members. */
        public Mapping without(String... names) {
            Map<String, Member> rest = new LinkedHashMap<>(members);
            rest.keySet().removeAll(List.of(names));
            return new Mapping(rest, position, path);
        }

        /** The same with a member added or replaced. */
        public Mapping with(String name, SourcePosition keyPosition, ConfigValue value) {
            Map<String, Member> more = new LinkedHashMap<>(members);
            more.put(name, new Member(keyPosition, value));
            return new Mapping(more, position, path);
        }

        @Override
        public Mapping at(String newPath) {
            Map<String, Member> moved = LinkedHashMap.newLinkedHashMap(members.size());
            members.forEach((name, member) ->
                    moved.put(name, new Member(member.keyPosition, member.value.at(child(newPath, name)))));
            return new Mapping(moved, position, newPath);
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Mapping mapping && mapping.members.equals(members);
        }

        @Override
        public int hashCode() {
            return members.hashCode();
        }

        @Override
        public String shape() {
            return "a map";
        }
    }

    /**
     * A member of a map.
     *
     * @param keyPosition where its name was written
     * @param value its value
     */
    record Member(SourcePosition keyPosition, ConfigValue value) {
        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Member member && member.value.equals(value);
        }

        @Override
        public int hashCode() {
            return value.hashCode();
        }
    }

    /** The path of a member of the map at {@code path}. */
    static String child(String path, String name) {
        return path.isEmpty() ? name : path + "." + name;
    }

    /**
     * The value of a Java object: a map, collection, option record, {@link Optional}, {@link Duration}, {@link Path},
     * enum constant, number, boolean or text.
     *
     * @throws IllegalArgumentException for other classes
     */
    static ConfigValue of(Object object, String path) {
        return ObjectValues.of(object, path, SourcePosition.NONE);
    }
}
