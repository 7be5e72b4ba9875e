package org.benchtop.spi.block;

/**
 * What a backend is and can do.
 *
 * @param sizeBytes capacity, a multiple of the logical block size
 * @param logicalBlockSizeBytes smallest request, 512 or 4096
 * @param physicalBlockSizeBytes smallest request without read-modify-write below
 * @param readOnly whether writes complete with {@link BlockStatus#READ_ONLY}
 * @param discard whether {@link BlockRequest.Discard} does something
 * @param writeZeroes whether {@link BlockRequest.WriteZeroes} is faster than writing zeroes; it is always supported
 * @param cacheMode what is promised about durability
 * @param maxSegments most elements in one buffer
 * @param maxTransferBytes longest read or write
 */
public record BlockCapabilities(
        long sizeBytes,
        int logicalBlockSizeBytes,
        int physicalBlockSizeBytes,
        boolean readOnly,
        boolean discard,
        boolean writeZeroes,
        CacheMode cacheMode,
        int maxSegments,
        long maxTransferBytes) {

    /** Whether a range lies inside the backend and on block boundaries. */
    public boolean contains(long offsetBytes, long lengthBytes) {
        return offsetBytes >= 0
                && lengthBytes >= 0
                && offsetBytes <= sizeBytes - lengthBytes
                && (offsetBytes | lengthBytes) % logicalBlockSizeBytes == 0;
    }
}
