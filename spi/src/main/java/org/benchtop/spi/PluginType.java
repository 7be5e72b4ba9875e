package org.benchtop.spi;

/**
 * What every pluggable type has: a name, a sentence about it, and a record of options.
 *
 * <p>The options record is the single source of YAML binding, JSON Schema, {@code plugins describe}, the builder DSL
 * and the defaults. Its components are annotated with {@link Option}; a component without annotation is a required
 * option whose name is the component's name in kebab case. Allowed component types: {@code boolean} (also written
 * {@code on}/{@code off}), {@code int}, {@code long}, {@code double}, {@link String}, {@link java.nio.file.Path}
 * (relative ones are resolved against the YAML's folder), {@link java.time.Duration}, enums (constants in lower kebab
 * case unless annotated with {@link Option}), nested records, and {@link java.util.List}, {@link java.util.Map} (with
 * {@code String} keys) and {@link java.util.Optional} of those. A compact constructor may check what annotations
 * cannot; it throws {@link IllegalArgumentException} with a message that names the option.
 *
 * @param <O> the options record
 */
public interface PluginType<O extends Record> {
    /** The name in YAML, such as {@code virtio-blk-pci}. */
    String name();

    /** One sentence for {@code plugins list}. */
    String summary();

    /** The options record's class. */
    Class<O> optionsType();
}
