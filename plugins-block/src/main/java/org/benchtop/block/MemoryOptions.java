package org.benchtop.block;

import java.nio.file.Path;
import java.util.Optional;
import org.benchtop.spi.Option;

/** Options of {@code memory}. */
public record MemoryOptions(
        @Option(
                doc = "The disk's size; the size of the initial content unless given.",
                unit = Option.Unit.BYTES,
                min = 512,
                max = 1L << 44)
        Optional<Long> size,

        @Option(doc = "A file that the disk's content is copied from.")
        Optional<Path> file,

        @Option(doc = "Refuses writes.", value = "off") boolean readOnly,

        @Option(doc = "Smallest request: 512 or 4096.", unit = Option.Unit.BYTES, value = "512")
        int logicalBlockSize) {

    public MemoryOptions {
        BlockSizes.checkBlockSize("logical-block-size", logicalBlockSize);
        if (size.isEmpty() && file.isEmpty()) {
            throw new IllegalArgumentException("memory needs a size or a file");
        }
        size.ifPresent(bytes -> BlockSizes.checkCapacity(bytes, logicalBlockSize));
    }

    /** An empty writable disk. */
    public static MemoryOptions ofSize(long sizeBytes) {
        return new MemoryOptions(Optional.of(sizeBytes), Optional.empty(), false, 512);
    }
}
