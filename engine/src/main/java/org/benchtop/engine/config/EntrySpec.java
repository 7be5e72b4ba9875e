package org.benchtop.engine.config;

import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.jspecify.annotations.Nullable;

/**
 * A plugin type with its options, not yet bound; where it was written does not count in comparisons. An entry of {@code drives}, {@code chardevs}, {@code netdevs} or
 * {@code devices}, or the {@code accel}.
 *
 * @param type the type's name
 * @param id the entry's own name where it is written
 * @param options everything but {@code type} and {@code id}
 * @param typePosition where the type was written
 */
public record EntrySpec(String type, Optional<String> id, ConfigValue.Mapping options, SourcePosition typePosition) {

    /** An entry made in Java; a member {@code id} of the options is its id. */
    public static EntrySpec of(String type, Map<String, ?> options) {
        return of(type, (ConfigValue.Mapping) ConfigValue.of(options, ""));
    }

    /** An entry made in Java out of an options record. */
    public static EntrySpec of(String type, Record options) {
        return of(type, (ConfigValue.Mapping) ConfigValue.of(options, ""));
    }

    private static EntrySpec of(String type, ConfigValue.Mapping options) {
        Optional<String> id =
                options.find("id").map(value -> value instanceof ConfigValue.Scalar scalar ? scalar.text() : "");
        return new EntrySpec(type, id, options.without("id", "type"), SourcePosition.NONE);
    }

    /** The entry's place in the machine, such as {@code devices[1]}. */
    public String path() {
        return options.path();
    }

    /** The same at another path. */
    public EntrySpec at(String path) {
        return new EntrySpec(type, id, options.at(path), typePosition);
    }

    /** The same with an id. */
    public EntrySpec withId(String newId) {
        return new EntrySpec(type, Optional.of(newId), options, typePosition);
    }

    /** A mistake in this entry. */
    public BenchtopException error(String message) {
        return new ConfigProblem(options.position(), path(), message).exception();
    }

    /** A mistake in the type's name. */
    public BenchtopException typeError(String message) {
        return new ConfigProblem(typePosition, ConfigValue.child(path(), "type"), message).exception();
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof EntrySpec entry
                && entry.type.equals(type)
                && entry.id.equals(id)
                && entry.options.equals(options);
    }

    @Override
    public int hashCode() {
        return Objects.hash(type, id, options);
    }
}
