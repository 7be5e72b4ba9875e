package org.benchtop.spi.bus;

/**
 * Guest access to a range of registers, primitive and allocation-free.
 *
 * <p>Called on a vCPU thread; the engine does not serialise calls, the device does. Sizes are 1, 2, 4 or 8; the whole
 * access lies inside the registered range but may be unaligned. Values are zero-extended; bits above the size are
 * ignored on write. A guest's mistake must not throw: unclaimed bits read as ones or zeroes and swallow writes.
 */
public interface RegisterAccess {
    /** Reads {@code size} bytes at {@code offset} from the start of the range. */
    long read(long offset, int size);

    /** Writes the low {@code size} bytes of {@code value} at {@code offset} from the start of the range. */
    void write(long offset, int size, long value);
}
