package org.benchtop.spi;

/**
 * The SPI version that a plugin was compiled against.
 *
 * @param major must equal {@link Spi#MAJOR} of the engine
 * @param minor informative
 */
public record SpiVersion(int major, int minor) {
    @Override
    public String toString() {
        return major + "." + minor;
    }
}
