package org.benchtop.guests;

/**
 * What {@code diskcheck} writes: a pure function of seed and position, so guest and host compute the same data.
 *
 * <p>This class runs in the guest and on the JVM.
 */
public final class DiskPattern {
    private DiskPattern() {}

    /** The 8-byte little-endian word number {@code index} of the tested range. */
    public static long word(long seed, long index) {
        long mixed = (seed + index) * 0x9e37_79b9_7f4a_7c15L + seed;
        mixed = (mixed ^ mixed >>> 30) * 0xbf58_476d_1ce4_e5b9L;
        return mixed ^ mixed >>> 31;
    }

    /** The seed of pass {@code pass} of {@code passes}; the last pass uses {@code seed} itself. */
    public static long seedOfPass(long seed, int pass, int passes) {
        return seed + 0x1_0000_0000L * (passes - 1 - pass);
    }
}
