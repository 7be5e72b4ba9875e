package org.benchtop.spi.guest;

import org.benchtop.spi.PluginType;

/**
 * Makes or fetches what a machine starts with, for {@code boot: {NAME: {options}}}.
 *
 * @param <O> the options record
 */
public interface BootSourceType<O extends Record> extends PluginType<O> {
    /**
     * Prepares the files; takes what was prepared before where nothing has changed. May take long; not called by two
     * threads of a machine at once.
     *
     * @throws org.benchtop.spi.BenchtopException in one line, if something is missing or unknown
     */
    BootFiles prepare(O options, BootSourceContext context);
}
