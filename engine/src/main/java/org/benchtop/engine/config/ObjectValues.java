package org.benchtop.engine.config;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.spi.Option;
import org.jspecify.annotations.Nullable;

/** Turns Java objects into configuration values. */
final class ObjectValues {
    private ObjectValues() {}

    static ConfigValue of(@Nullable Object object, String path, SourcePosition position) {
        if (object == null) {
            return new ConfigValue.Scalar("null", false, position, path);
        }
        return switch (object) {
            case ConfigValue value -> value.at(path);
            case Optional<?> optional -> of(optional.orElse(null), path, position);
            case Boolean flag -> new ConfigValue.Scalar(flag ? "on" : "off", false, position, path);
            case Number number -> new ConfigValue.Scalar(number.toString(), false, position, path);
            case CharSequence text -> new ConfigValue.Scalar(text.toString(), true, position, path);
            case Path file -> new ConfigValue.Scalar(file.toString(), true, position, path);
            case Duration duration ->
                new ConfigValue.Scalar(Units.formatNanos(duration.toNanos()), false, position, path);
            case Enum<?> constant -> new ConfigValue.Scalar(OptionsShape.spelling(constant), false, position, path);
            case Collection<?> items -> {
                List<ConfigValue> values = new ArrayList<>(items.size());
                for (Object item : items) {
                    values.add(of(item, path + "[" + values.size() + "]", position));
                }
                yield new ConfigValue.Sequence(values, position, path);
            }
            case Map<?, ?> map -> mapping(map, path, position);
            case Record options -> mapping(recordValues(options), path, position);
            default ->
                throw new IllegalArgumentException(
                        path + ": cannot use a " + object.getClass().getName() + " as an option value");
        };
    }

    private static Map<String, Object> recordValues(Record options) {
        OptionsShape<?> shape = OptionsShape.of(options.getClass());
        Map<String, Object> values = shape.values(options);
        for (OptionField field : shape.fields()) {
            if (field.type() instanceof OptionType.Whole whole
                    && whole.unit() == Option.Unit.NANOSECONDS
                    && values.get(field.name()) instanceof Number number) {
                values.put(field.name(), Duration.ofNanos(number.longValue()));
            }
            if (field.type() instanceof OptionType.Maybe maybe
                    && maybe.value() instanceof OptionType.Whole whole
                    && whole.unit() == Option.Unit.NANOSECONDS
                    && values.get(field.name()) instanceof Optional<?> optional
                    && optional.isPresent()) {
                values.put(field.name(), Duration.ofNanos(((Number) optional.get()).longValue()));
            }
        }
        values.values().removeIf(value -> value instanceof Optional<?> optional && optional.isEmpty());
        return values;
    }

    private static ConfigValue mapping(Map<?, ?> map, String path, SourcePosition position) {
        Map<String, ConfigValue.Member> members = LinkedHashMap.newLinkedHashMap(map.size());
        map.forEach((key, value) -> {
            String name = String.valueOf(key);
            members.put(name, new ConfigValue.Member(position, of(value, ConfigValue.child(path, name), position)));
        });
        return new ConfigValue.Mapping(members, position, path);
    }
}
