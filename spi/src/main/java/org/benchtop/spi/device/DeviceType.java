package org.benchtop.spi.device;

import org.benchtop.spi.CreateContext;
import org.benchtop.spi.PluginType;

/**
 * A type for the {@code devices:} section.
 *
 * @param <O> the options record
 */
public interface DeviceType<O extends Record> extends PluginType<O> {
    /** Creates a device; claims nothing yet. */
    Device create(O options, CreateContext context);
}
