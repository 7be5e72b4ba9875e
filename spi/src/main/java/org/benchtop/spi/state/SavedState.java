package org.benchtop.spi.state;

/**
 * What a device saves: a tree of records with a version.
 *
 * <p>Components may be primitives, {@code String}, {@code byte[]}, {@code int[]}, {@code long[]}, enums, {@code
 * Optional}, {@code List} and records of those, so that the engine can write it to a file without knowing the device.
 *
 * @param version of the record's meaning; a device restores its own and older versions and refuses newer ones
 * @param content the device's own record
 */
public record SavedState(int version, Record content) {
    /** A device without state. */
    public static final SavedState EMPTY = new SavedState(1, new Empty());

    /** The content of {@link #EMPTY}. */
    public record Empty() {}
}
