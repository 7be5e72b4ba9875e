package org.benchtop.spi.net;

import org.benchtop.spi.CreateContext;
import org.benchtop.spi.PluginType;

/**
 * A type for the {@code netdevs:} section.
 *
 * @param <O> the options record
 */
public interface NetBackendType<O extends Record> extends PluginType<O> {
    /** Opens a backend; throws {@link org.benchtop.spi.BenchtopException} when that fails, leaving nothing behind. */
    NetBackend create(O options, CreateContext context);
}
