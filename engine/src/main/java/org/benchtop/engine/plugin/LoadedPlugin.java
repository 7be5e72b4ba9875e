package org.benchtop.engine.plugin;

import org.benchtop.spi.SpiVersion;

/**
 * A plugin that is in use.
 *
 * @param name its name
 * @param spiVersion what it was compiled against
 * @param origin the jar or folder it came from
 * @param builtIn whether it is part of Benchtop
 */
public record LoadedPlugin(String name, SpiVersion spiVersion, String origin, boolean builtIn) {
    @Override
    public String toString() {
        return name + " (" + origin + ")";
    }
}
