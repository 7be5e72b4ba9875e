package org.benchtop.pc.chardev;

import java.util.function.BiFunction;
import org.benchtop.spi.chardev.Chardev;
import org.benchtop.spi.chardev.ChardevContext;
import org.benchtop.spi.chardev.ChardevType;

/** A chardev type made of its parts. */
record ChardevEntry<O extends Record>(
        String name, String summary, Class<O> optionsType, BiFunction<O, ChardevContext, Chardev> factory)
        implements ChardevType<O> {
    @Override
    public Chardev create(O options, ChardevContext context) {
        return factory.apply(options, context);
    }
}
