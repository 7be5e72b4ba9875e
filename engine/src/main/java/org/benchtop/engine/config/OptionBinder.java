package org.benchtop.engine.config;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.Option;
import org.benchtop.spi.PluginType;
import org.jspecify.annotations.Nullable;

/** Turns what was written for an entry into the options record of its type. */
public final class OptionBinder {
    private final BindContext context;
    private final Problems problems;
    private final String subject;

    private OptionBinder(BindContext context, Problems problems, String subject) {
        this.context = context;
        this.problems = problems;
        this.subject = subject;
    }

    /**
     * The options of an entry.
     *
     * @throws BenchtopException of kind CONFIG for the first mistake in the entry, or PLUGIN for one in the record
     */
    public static <O extends Record> O bind(PluginType<O> type, EntrySpec entry, BindContext context) {
        return bind(type.optionsType(), type.name(), entry.options(), context);
    }

    /** The options of an entry; empty after adding its mistakes to {@code problems}. */
    public static <O extends Record> Optional<O> bind(
            PluginType<O> type, EntrySpec entry, BindContext context, Problems problems) {
        return bind(type.optionsType(), type.name(), entry.options(), context, problems);
    }

    /**
     * A record of options.
     *
     * @param subject what the options belong to, for messages
     */
    public static <O extends Record> O bind(
            Class<O> type, String subject, ConfigValue.Mapping options, BindContext context) {
        Problems problems = new Problems();
        Optional<O> bound = bind(type, subject, options, context, problems);
        problems.throwFirst();
        return bound.orElseThrow();
    }

    /** A record of options; empty after adding its mistakes to {@code problems}. */
    public static <O extends Record> Optional<O> bind(
            Class<O> type, String subject, ConfigValue.Mapping options, BindContext context, Problems problems) {
        return new OptionBinder(context, problems, subject).record(OptionsShape.of(type), options);
    }

    private <O extends Record> Optional<O> record(OptionsShape<O> shape, ConfigValue.Mapping options) {
        int before = problems.count();
        List<OptionField> fields = shape.fields();
        if (!options.members().isEmpty()) {
            List<String> names = shape.names();
            options.members().forEach((name, member) -> {
                if (!names.contains(name)) {
                    problems.add(
                            member.keyPosition(),
                            member.value().path(),
                            "unknown option \"" + name + "\" of " + subject + Suggestions.hint(name, names));
                }
            });
        }
        @Nullable Object[] values = new Object[fields.size()];
        for (int i = 0; i < values.length; i++) {
            OptionField field = fields.get(i);
            Optional<ConfigValue> written = options.find(field.name());
            values[i] = written.isPresent() && !isNull(written.get())
                    ? value(field.type(), written.get())
                    : absent(field, options);
        }
        if (problems.count() > before) {
            return Optional.empty();
        }
        try {
            return Optional.of(shape.create(values));
        } catch (IllegalArgumentException e) {
            problems.add(options, (options.path().equals(subject) ? "" : subject + ": ") + oneLine(e));
            return Optional.empty();
        }
    }

    private static String oneLine(IllegalArgumentException e) {
        return Optional.ofNullable(e.getMessage())
                .orElse("refused")
                .lines()
                .findFirst()
                .orElse("refused");
    }

    private static boolean isNull(ConfigValue value) {
        return value instanceof ConfigValue.Scalar scalar && scalar.isNull();
    }

    private @Nullable Object absent(OptionField field, ConfigValue.Mapping options) {
        if (field.defaultText().isEmpty()) {
            if (field.type() instanceof OptionType.Maybe) {
                return Optional.empty();
            }
            boolean empty = options.find(field.name()).isPresent();
            String doc = field.doc().isEmpty() ? "" : " (" + field.doc() + ")";
            problems.add(
                    options,
                    empty
                            ? "the option \"" + field.name() + "\" of " + subject + " has no value" + doc
                            : "missing option \"" + field.name() + "\" of " + subject + doc);
            return null;
        }
        String text = field.defaultText().get();
        Problems defaultProblems = new Problems();
        OptionBinder binder = new OptionBinder(new BindContext(context.baseDir(), Map.of()), defaultProblems, subject);
        String path = ConfigValue.child(options.path(), field.name());
        ConfigValue written = text.startsWith("[") || text.startsWith("{")
                ? YamlReader.read(text, "default", path)
                : new ConfigValue.Scalar(text, true, SourcePosition.NONE, path);
        @Nullable Object value = binder.value(field.type(), written);
        if (!defaultProblems.isEmpty()) {
            throw BenchtopException.of(
                    ErrorKind.PLUGIN,
                    "the default of option \"" + field.name() + "\" of " + subject + " is wrong: "
                            + defaultProblems.all().getFirst());
        }
        return value;
    }

    private @Nullable Object value(OptionType type, ConfigValue value) {
        return switch (type) {
            case OptionType.Flag flag -> flag(value);
            case OptionType.Whole whole -> whole(whole, value);
            case OptionType.Real real -> real(real, value);
            case OptionType.Text text -> text(text, value);
            case OptionType.FilePath filePath -> path(value);
            case OptionType.Time time -> duration(value);
            case OptionType.Choice choice -> choice(choice, value);
            case OptionType.Nested nested -> nested(nested, value);
            case OptionType.ListOf list -> list(list, value);
            case OptionType.MapOf map -> map(map, value);
            case OptionType.Maybe maybe -> {
                @Nullable Object inner = value(maybe.value(), value);
                yield inner == null ? null : Optional.of(inner);
            }
        };
    }

    private @Nullable Object expected(String what, ConfigValue value) {
        problems.add(value, "expected " + what + ", got " + value.shape());
        return null;
    }

    private @Nullable Object flag(ConfigValue value) {
        if (value instanceof ConfigValue.Scalar scalar) {
            switch (scalar.text()) {
                case "on", "true", "yes" -> {
                    return true;
                }
                case "off", "false", "no" -> {
                    return false;
                }
                default -> {}
            }
        }
        return expected("on or off", value);
    }

    private @Nullable Object whole(OptionType.Whole type, ConfigValue value) {
        String what = switch (type.unit()) {
            case NONE -> "a whole number";
            case BYTES -> "a size such as 512M, 4GiB or 10GB";
            case NANOSECONDS -> "a duration such as 100us, 2ms or 15s";
        };
        if (!(value instanceof ConfigValue.Scalar scalar)) {
            return expected(what, value);
        }
        OptionalLong parsed = switch (type.unit()) {
            case NONE -> Units.parseWhole(scalar.text());
            case BYTES -> Units.parseSize(scalar.text());
            case NANOSECONDS -> Units.parseNanos(scalar.text());
        };
        if (parsed.isEmpty()) {
            return expected(what, value);
        }
        long number = parsed.getAsLong();
        if (number < type.min() || number > type.max()) {
            String range = type.range();
            problems.add(
                    value,
                    scalar.text() + " is outside "
                            + (range.isEmpty() ? type.format(type.min()) + ".." + type.format(type.max()) : range));
            return null;
        }
        return type.wide() ? (Object) number : (Object) (int) number;
    }

    private @Nullable Object real(OptionType.Real type, ConfigValue value) {
        if (!(value instanceof ConfigValue.Scalar scalar)) {
            return expected("a number", value);
        }
        try {
            double number = Double.parseDouble(scalar.text());
            if (Double.isFinite(number)) {
                if (number < type.min() || number > type.max()) {
                    problems.add(value, scalar.text() + " is outside " + type.range());
                    return null;
                }
                return number;
            }
        } catch (NumberFormatException e) {
            return expected("a number", value);
        }
        return expected("a number", value);
    }

    private @Nullable Object text(OptionType.Text type, ConfigValue value) {
        if (!(value instanceof ConfigValue.Scalar scalar)) {
            return expected(type.text(), value);
        }
        Set<String> known = context.knownNames().get(type.ref());
        if (type.ref() != Option.Ref.NONE && known != null && !known.contains(scalar.text())) {
            String kind = type.ref().name().toLowerCase(java.util.Locale.ROOT);
            problems.add(
                    value,
                    "no " + kind + " \"" + scalar.text() + "\""
                            + (known.isEmpty()
                                    ? " (there are no " + kind + "s)"
                                    : Suggestions.hint(scalar.text(), known)));
            return null;
        }
        return scalar.text();
    }

    private @Nullable Object path(ConfigValue value) {
        if (!(value instanceof ConfigValue.Scalar scalar) || scalar.text().isEmpty()) {
            return expected("a path", value);
        }
        try {
            return context.baseDir().resolve(Path.of(scalar.text())).normalize();
        } catch (InvalidPathException e) {
            return expected("a path", value);
        }
    }

    private @Nullable Object duration(ConfigValue value) {
        if (value instanceof ConfigValue.Scalar scalar) {
            OptionalLong nanos = Units.parseNanos(scalar.text());
            if (nanos.isPresent()) {
                return Duration.ofNanos(nanos.getAsLong());
            }
        }
        return expected("a duration such as 100us, 2ms or 15s", value);
    }

    private @Nullable Object choice(OptionType.Choice type, ConfigValue value) {
        Set<String> allowed = type.constants().keySet();
        if (!(value instanceof ConfigValue.Scalar scalar)) {
            return expected("one of " + Suggestions.list(allowed), value);
        }
        Object constant = type.constants().get(scalar.text());
        if (constant == null && (scalar.text().equals("true") || scalar.text().equals("false"))) {
            // A YAML 1.1 tool may have rewritten on and off.
            constant = type.constants().get(scalar.text().equals("true") ? "on" : "off");
        }
        if (constant == null) {
            problems.add(
                    value,
                    "unknown value \"" + scalar.text() + "\"" + Suggestions.hintAndAllowed(scalar.text(), allowed));
        }
        return constant;
    }

    private @Nullable Object nested(OptionType.Nested type, ConfigValue value) {
        if (!(value instanceof ConfigValue.Mapping mapping)) {
            return expected("a map with " + Suggestions.list(type.shape().names()), value);
        }
        return record(type.shape(), mapping).orElse(null);
    }

    private @Nullable Object list(OptionType.ListOf type, ConfigValue value) {
        if (!(value instanceof ConfigValue.Sequence sequence)) {
            return expected("a list", value);
        }
        List<Object> items = new ArrayList<>(sequence.items().size());
        for (ConfigValue item : sequence.items()) {
            @Nullable Object bound = value(type.item(), item);
            if (bound != null) {
                items.add(bound);
            }
        }
        return List.copyOf(items);
    }

    private @Nullable Object map(OptionType.MapOf type, ConfigValue value) {
        if (!(value instanceof ConfigValue.Mapping mapping)) {
            return expected("a map", value);
        }
        Map<String, Object> members =
                LinkedHashMap.newLinkedHashMap(mapping.members().size());
        mapping.members().forEach((name, member) -> {
            @Nullable Object bound = value(type.value(), member.value());
            if (bound != null) {
                members.put(name, bound);
            }
        });
        return Collections.unmodifiableMap(members);
    }
}
