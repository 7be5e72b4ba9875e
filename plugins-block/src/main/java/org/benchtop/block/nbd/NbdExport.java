package org.benchtop.block.nbd;

/**
 * What a server said about its export.
 *
 * @param sizeBytes its size
 * @param flags transmission flags
 * @param minBlockBytes smallest request, a power of two; 1 if the server did not say
 * @param maxBlockBytes longest read or write
 * @param structured whether replies may be structured
 */
record NbdExport(long sizeBytes, int flags, int minBlockBytes, long maxBlockBytes, boolean structured) {
    /** The longest payload that every server takes. */
    static final long DEFAULT_MAX_BLOCK_BYTES = 32 << 20;

    boolean has(int flag) {
        return (flags & flag) != 0;
    }
}
