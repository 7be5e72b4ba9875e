package org.benchtop.engine.config;

import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.Option;
import org.jspecify.annotations.Nullable;

/**
 * The options of a record class, read from its components and their {@link Option} annotations. Immutable.
 *
 * @param <O> the options record
 */
public final class OptionsShape<O extends Record> {
    private static final int MAX_NESTING = 16;

    private static final ClassValue<OptionsShape<?>> CACHE = new ClassValue<>() {
        @Override
        @SuppressWarnings({"unchecked", "rawtypes"})
        protected OptionsShape<?> computeValue(Class<?> type) {
            return new OptionsShape(type, 0);
        }
    };

    private final Class<O> recordType;
    private final List<OptionField> fields;
    private final List<RecordComponent> components;
    private final Constructor<O> constructor;

    private OptionsShape(Class<O> recordType, int depth) {
        this.recordType = recordType;
        if (!recordType.isRecord() || depth > MAX_NESTING) {
            throw BenchtopException.of(
                    ErrorKind.PLUGIN,
                    recordType.getName() + (recordType.isRecord() ? " is nested too deeply" : " is not a record"));
        }
        RecordComponent[] found = recordType.getRecordComponents();
        List<OptionField> list = new ArrayList<>(found.length);
        Class<?>[] parameterTypes = new Class<?>[found.length];
        for (int i = 0; i < found.length; i++) {
            parameterTypes[i] = found[i].getType();
            list.add(field(found[i], depth));
        }
        this.fields = List.copyOf(list);
        this.components = List.of(found);
        try {
            this.constructor = recordType.getDeclaredConstructor(parameterTypes);
            this.constructor.setAccessible(true);
            for (RecordComponent component : found) {
                component.getAccessor().setAccessible(true);
            }
        } catch (NoSuchMethodException | RuntimeException e) {
            throw BenchtopException.of(
                    ErrorKind.PLUGIN, "the constructor of " + recordType.getName() + " is not accessible: " + e, e);
        }
    }

    /**
     * The shape of a record class.
     *
     * @throws BenchtopException of kind PLUGIN if a component has a type that options cannot have
     */
    @SuppressWarnings("unchecked")
    public static <O extends Record> OptionsShape<O> of(Class<O> recordType) {
        return (OptionsShape<O>) CACHE.get(recordType);
    }

    /** The options in the order of the record's components. */
    public List<OptionField> fields() {
        return fields;
    }

    /** The names of all options. */
    public List<String> names() {
        return fields.stream().map(OptionField::name).toList();
    }

    /** The record's class. */
    public Class<O> recordType() {
        return recordType;
    }

    /**
     * A record of values.
     *
     * @throws IllegalArgumentException if the record's constructor refuses them
     */
    O create(@Nullable Object[] values) {
        try {
            return constructor.newInstance(values);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof IllegalArgumentException refused) {
                throw refused;
            }
            if (e.getCause() instanceof BenchtopException own) {
                throw own;
            }
            throw BenchtopException.of(
                    ErrorKind.PLUGIN, "the constructor of " + recordType.getName() + " threw " + e.getCause(), e);
        } catch (ReflectiveOperationException e) {
            throw BenchtopException.of(ErrorKind.PLUGIN, "cannot create " + recordType.getName() + ": " + e, e);
        }
    }

    /** The values of a record by option name, in the order of its components. */
    Map<String, Object> values(Record options) {
        Map<String, Object> values = LinkedHashMap.newLinkedHashMap(fields.size());
        for (int i = 0; i < fields.size(); i++) {
            try {
                values.put(fields.get(i).name(), components.get(i).getAccessor().invoke(options));
            } catch (ReflectiveOperationException e) {
                throw BenchtopException.of(ErrorKind.PLUGIN, "cannot read " + recordType.getName() + ": " + e, e);
            }
        }
        return values;
    }

    private static OptionField field(RecordComponent component, int depth) {
        @Nullable Option option = component.getAnnotation(Option.class);
        OptionType type = type(component.getGenericType(), option, component, depth);
        if (option == null) {
            return new OptionField(kebab(component.getName()), "", type, Optional.empty());
        }
        String name = option.name().isEmpty() ? kebab(component.getName()) : option.name();
        Optional<String> defaultText =
                option.value().equals(Option.NONE) ? Optional.empty() : Optional.of(option.value());
        return new OptionField(name, option.doc(), type, defaultText);
    }

    private static OptionType type(Type type, @Nullable Option option, RecordComponent component, int depth) {
        if (type instanceof ParameterizedType parameterized) {
            Type[] arguments = parameterized.getActualTypeArguments();
            OptionType inner = type(arguments[arguments.length - 1], option, component, depth);
            if (parameterized.getRawType() == Optional.class) {
                return new OptionType.Maybe(inner);
            }
            if (parameterized.getRawType() == List.class) {
                return new OptionType.ListOf(inner);
            }
            if (parameterized.getRawType() == Map.class && arguments[0] == String.class) {
                return new OptionType.MapOf(inner);
            }
        }
        if (type == boolean.class || type == Boolean.class) {
            return new OptionType.Flag();
        }
        long min = option == null ? Long.MIN_VALUE : option.min();
        long max = option == null ? Long.MAX_VALUE : option.max();
        if (type == int.class || type == Integer.class || type == long.class || type == Long.class) {
            boolean wide = type == long.class || type == Long.class;
            Option.Unit unit = option == null ? Option.Unit.NONE : option.unit();
            long least = unit == Option.Unit.NONE ? min : Math.max(min, 0);
            return wide
                    ? new OptionType.Whole(true, least, max, unit)
                    : new OptionType.Whole(
                            false, Math.max(least, Integer.MIN_VALUE), Math.min(max, Integer.MAX_VALUE), unit);
        }
        if (type == double.class || type == Double.class) {
            return new OptionType.Real(
                    min == Long.MIN_VALUE ? Double.NEGATIVE_INFINITY : min,
                    max == Long.MAX_VALUE ? Double.POSITIVE_INFINITY : max);
        }
        if (type == String.class) {
            return new OptionType.Text(option == null ? Option.Ref.NONE : option.ref());
        }
        if (type == Path.class) {
            return new OptionType.FilePath();
        }
        if (type == Duration.class) {
            return new OptionType.Time();
        }
        if (type instanceof Class<?> raw && raw.isEnum()) {
            return new OptionType.Choice(constants(raw));
        }
        if (type instanceof Class<?> raw && raw.isRecord()) {
            return new OptionType.Nested(new OptionsShape<>(raw.asSubclass(Record.class), depth + 1));
        }
        throw BenchtopException.of(
                ErrorKind.PLUGIN,
                "option " + component.getName() + " of "
                        + component.getDeclaringRecord().getName() + " has the unsupported type " + type.getTypeName());
    }

    private static Map<String, Object> constants(Class<?> type) {
        Map<String, Object> constants = new LinkedHashMap<>();
        for (Object constant : type.getEnumConstants()) {
            constants.put(spelling((Enum<?>) constant), constant);
        }
        return Collections.unmodifiableMap(constants);
    }

    /** How an enum constant is written in YAML. */
    public static String spelling(Enum<?> constant) {
        try {
            AnnotatedElement field = constant.getDeclaringClass().getField(constant.name());
            @Nullable Option option = field.getAnnotation(Option.class);
            if (option != null && !option.name().isEmpty()) {
                return option.name();
            }
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException("enum constant without a field: " + constant, e);
        }
        return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** {@code configWce} becomes {@code config-wce}. */
    static String kebab(String camel) {
        StringBuilder kebab = new StringBuilder(camel.length() + 4);
        for (int i = 0; i < camel.length(); i++) {
            char c = camel.charAt(i);
            if (Character.isUpperCase(c) && i > 0) {
                kebab.append('-');
            }
            kebab.append(Character.toLowerCase(c));
        }
        return kebab.toString();
    }
}
