package org.benchtop.spi.chardev;

import org.benchtop.spi.PluginType;

/**
 * A type for the {@code chardevs:} section.
 *
 * @param <O> the options record
 */
public interface ChardevType<O extends Record> extends PluginType<O> {
    /** Opens a backend; throws {@link org.benchtop.spi.BenchtopException} when that fails, leaving nothing behind. */
    Chardev create(O options, ChardevContext context);
}
