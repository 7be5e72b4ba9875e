package org.benchtop.block;

/** Checks of sizes that several backends share. */
public final class BlockSizes {
    private BlockSizes() {}

    /** Refuses what no front end can show to a guest. */
    public static void checkBlockSize(String option, int sizeBytes) {
        if (sizeBytes != 512 && sizeBytes != 4096) {
            throw new IllegalArgumentException(option + " must be 512 or 4096, not " + sizeBytes);
        }
    }

    /** Refuses a capacity that is not a whole number of blocks. */
    public static void checkCapacity(long sizeBytes, int blockSizeBytes) {
        if (sizeBytes <= 0 || sizeBytes % blockSizeBytes != 0) {
            throw new IllegalArgumentException(
                    "size must be a positive multiple of " + blockSizeBytes + " bytes, not " + sizeBytes);
        }
    }

    public static long roundUp(long value, long multiple) {
        return (value + multiple - 1) / multiple * multiple;
    }
}
