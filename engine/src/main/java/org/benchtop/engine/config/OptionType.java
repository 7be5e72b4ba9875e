package org.benchtop.engine.config;

import java.util.Map;
import org.benchtop.spi.Option;

/** What may be written as the value of an option. */
public sealed interface OptionType {
    /** {@code on} or {@code off}. */
    record Flag() implements OptionType {}

    /**
     * A whole number.
     *
     * @param wide whether it is a {@code long} and not an {@code int}
     * @param min least value
     * @param max greatest value
     * @param unit how it is written
     */
    record Whole(boolean wide, long min, long max, Option.Unit unit) implements OptionType {
        /** A number as it is written. */
        String format(long value) {
            return switch (unit) {
                case NONE -> Long.toString(value);
                case BYTES -> Units.formatSize(value);
                case NANOSECONDS -> Units.formatNanos(value);
            };
        }
    }

    /**
     * A number with a fraction.
     *
     * @param min least value
     * @param max greatest value
     */
    record Real(double min, double max) implements OptionType {}

    /**
     * Text.
     *
     * @param ref what it names
     */
    record Text(Option.Ref ref) implements OptionType {}

    /** A file or folder. */
    record FilePath() implements OptionType {}

    /** A duration as {@link java.time.Duration}. */
    record Time() implements OptionType {}

    /**
     * One of several words.
     *
     * @param constants the enum constant of each spelling
     */
    record Choice(Map<String, Object> constants) implements OptionType {}

    /**
     * A map of options.
     *
     * @param shape its options
     */
    record Nested(OptionsShape<?> shape) implements OptionType {}

    /**
     * A list.
     *
     * @param item what its elements are
     */
    record ListOf(OptionType item) implements OptionType {}

    /**
     * A map from free names.
     *
     * @param value what its values are
     */
    record MapOf(OptionType value) implements OptionType {}

    /**
     * A value that may be left out.
     *
     * @param value what it is otherwise
     */
    record Maybe(OptionType value) implements OptionType {}

    /** A few words for people, such as {@code on|off} or {@code size}. */
    default String text() {
        return switch (this) {
            case Flag flag -> "on|off";
            case Whole whole ->
                switch (whole.unit()) {
                    case NONE -> "number";
                    case BYTES -> "size";
                    case NANOSECONDS -> "duration";
                };
            case Real real -> "number";
            case Text text ->
                switch (text.ref()) {
                    case NONE -> "text";
                    case DRIVE -> "name of a drive";
                    case CHARDEV -> "name of a chardev";
                    case NETDEV -> "name of a netdev";
                    case IOTHREAD -> "name of an iothread";
                };
            case FilePath filePath -> "path";
            case Time time -> "duration";
            case Choice choice -> String.join("|", choice.constants().keySet());
            case Nested nested -> "map";
            case ListOf list -> "list of " + list.item().text();
            case MapOf map -> "map to " + map.value().text();
            case Maybe maybe -> maybe.value().text();
        };
    }

    /** The allowed range of numbers as people write it, such as {@code 1..256}; empty where everything is allowed. */
    default String range() {
        return switch (this) {
            case Whole whole -> {
                boolean low = whole.min() != (whole.wide() ? Long.MIN_VALUE : Integer.MIN_VALUE)
                        && !(whole.unit() != Option.Unit.NONE && whole.min() == 0);
                boolean high = whole.max() != (whole.wide() ? Long.MAX_VALUE : Integer.MAX_VALUE);
                yield low || high
                        ? (low || whole.min() == 0 ? whole.format(whole.min()) : "") + ".."
                                + (high ? whole.format(whole.max()) : "")
                        : "";
            }
            case Real real -> {
                boolean low = real.min() != Double.NEGATIVE_INFINITY;
                boolean high = real.max() != Double.POSITIVE_INFINITY;
                yield low || high ? (low ? real.min() : "") + ".." + (high ? real.max() : "") : "";
            }
            case ListOf list -> list.item().range();
            case MapOf map -> map.value().range();
            case Maybe maybe -> maybe.value().range();
            case Flag flag -> "";
            case Text text -> "";
            case FilePath path -> "";
            case Time time -> "";
            case Choice choice -> "";
            case Nested nested -> "";
        };
    }
}
