package org.benchtop.spi;

/**
 * The version of this contract.
 *
 * <p>Both numbers are compile-time constants, so a plugin's class file carries the version that it was compiled
 * against. The engine accepts every plugin of the same major version.
 */
public final class Spi {
    /** Changes when an existing plugin could break. */
    public static final int MAJOR = 1;
    /** Changes when something is added. */
    public static final int MINOR = 0;

    private Spi() {}
}
