package org.benchtop.block;

import org.benchtop.spi.Option;

/** Options of {@code null}. */
public record NullOptions(
        @Option(doc = "The disk's size.", unit = Option.Unit.BYTES, value = "1GiB", min = 512, max = 1L << 60)
        long size,

        @Option(
                doc = "How long each request takes; 0 completes it at once.",
                unit = Option.Unit.NANOSECONDS,
                value = "0",
                min = 0,
                max = 60_000_000_000L)
        long latency,

        @Option(doc = "Fills the buffers of reads with zeroes; off leaves them as they are.", value = "on")
        boolean readZeroes,

        @Option(doc = "Refuses writes.", value = "off") boolean readOnly,

        @Option(doc = "Smallest request: 512 or 4096.", unit = Option.Unit.BYTES, value = "512")
        int logicalBlockSize) {

    public NullOptions {
        BlockSizes.checkBlockSize("logical-block-size", logicalBlockSize);
        BlockSizes.checkCapacity(size, logicalBlockSize);
    }

    /** A disk without latency. */
    public static NullOptions ofSize(long sizeBytes) {
        return new NullOptions(sizeBytes, 0, true, false, 512);
    }
}
