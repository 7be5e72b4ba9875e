package org.benchtop.spi;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Describes an option (on a record component) or the spelling of an enum constant (on the constant). */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.RECORD_COMPONENT, ElementType.FIELD})
public @interface Option {
    /** Marks an option without default. */
    String NONE = "\0";

    /** One sentence: what the option does. */
    String doc() default "";

    /** The spelling in YAML; empty means the component's name in kebab case. */
    String name() default "";

    /**
     * The default, spelled as in YAML ({@code "64MiB"}, {@code "off"}, {@code "[]"}); {@link #NONE} makes the option
     * required unless its type is {@link java.util.Optional}.
     */
    String value() default NONE;

    /** The least allowed number. */
    long min() default Long.MIN_VALUE;

    /** The greatest allowed number. */
    long max() default Long.MAX_VALUE;

    /** How numbers are written and shown. */
    Unit unit() default Unit.NONE;

    /** What a {@code String} option names. */
    Ref ref() default Ref.NONE;

    /** How a number is written and shown. */
    enum Unit {
        /** A plain number, decimal or 0x…. */
        NONE,
        /** Bytes: {@code 512}, {@code 4KiB}, {@code 64M} (powers of two, as in QEMU), {@code 10GB} (powers of ten). */
        BYTES,
        /** A duration stored as nanoseconds in a {@code long}: {@code 100us}, {@code 2ms}, {@code 15s}. */
        NANOSECONDS,
    }

    /** What a {@code String} option names, so that a dangling name is an error with its position. */
    enum Ref {
        /** Nothing. */
        NONE,
        /** An entry of {@code drives:}. */
        DRIVE,
        /** An entry of {@code chardevs:}. */
        CHARDEV,
        /** An entry of {@code netdevs:}. */
        NETDEV,
        /** An entry of {@code iothreads:}. */
        IOTHREAD,
    }
}
