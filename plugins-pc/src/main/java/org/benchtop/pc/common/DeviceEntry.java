package org.benchtop.pc.common;

import java.util.function.BiFunction;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceType;

/**
 * A device type made of its parts.
 *
 * @param name the name in YAML
 * @param summary one sentence
 * @param optionsType the options record's class
 * @param factory creates a device
 * @param <O> the options record
 */
public record DeviceEntry<O extends Record>(
        String name, String summary, Class<O> optionsType, BiFunction<O, CreateContext, Device> factory)
        implements DeviceType<O> {
    @Override
    public Device create(O options, CreateContext context) {
        return factory.apply(options, context);
    }
}
