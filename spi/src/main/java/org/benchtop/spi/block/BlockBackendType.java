package org.benchtop.spi.block;

import org.benchtop.spi.PluginType;

/**
 * A type for the {@code drives:} section.
 *
 * @param <O> the options record
 */
public interface BlockBackendType<O extends Record> extends PluginType<O> {
    /** Opens a backend; throws {@link org.benchtop.spi.BenchtopException} when that fails, leaving nothing behind. */
    BlockBackend create(O options, BlockContext context);
}
