package org.benchtop.block;

import java.nio.file.Path;
import java.util.Optional;
import org.benchtop.spi.Option;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.host.HostFileOptions;

/** Options of {@code file}. */
public record FileOptions(
        @Option(doc = "The image file or block device.") Path file,

        @Option(
                doc = "The disk's size; a smaller file is grown sparsely, a larger one is refused unless shrink is on.",
                unit = Option.Unit.BYTES,
                min = 512)
        Optional<Long> size,

        @Option(doc = "Creates the file, sparse and of the given size, if it does not exist.", value = "off")
        boolean create,

        @Option(doc = "Allows a size below the file's, which cuts data off.", value = "off")
        boolean shrink,

        @Option(doc = "Refuses writes.", value = "off") boolean readOnly,

        @Option(doc = "Where a completed write is, and what a flush does, as in QEMU.", value = "writeback")
        CacheMode cache,

        @Option(doc = "How requests are executed on the host.", value = "auto")
        HostFileOptions.Aio aio,

        @Option(doc = "Threads for aio: threads.", value = "4", min = 1, max = 256)
        int threads,

        @Option(doc = "What a guest's discard does.", value = "unmap")
        DiscardMode discard,

        @Option(doc = "Refuses a file that another machine or program has locked.", value = "on")
        boolean lock,

        @Option(doc = "Smallest request: 512 or 4096.", unit = Option.Unit.BYTES, value = "512")
        int logicalBlockSize,

        @Option(
                doc = "Smallest request without read-modify-write; the host's unless given.",
                unit = Option.Unit.BYTES,
                min = 512,
                max = 1 << 20)
        Optional<Integer> physicalBlockSize) {

    /** What a discard does. */
    public enum DiscardMode {
        /** Nothing. */
        IGNORE,
        /** Gives the space back to the host. */
        UNMAP,
    }

    public FileOptions {
        BlockSizes.checkBlockSize("logical-block-size", logicalBlockSize);
        if (create && size.isEmpty()) {
            throw new IllegalArgumentException("create needs a size");
        }
        if (create && readOnly) {
            throw new IllegalArgumentException("create and read-only exclude each other");
        }
        size.ifPresent(bytes -> BlockSizes.checkCapacity(bytes, logicalBlockSize));
        physicalBlockSize.ifPresent(bytes -> {
            if (Integer.bitCount(bytes) != 1 || bytes < logicalBlockSize) {
                throw new IllegalArgumentException(
                        "physical-block-size must be a power of two and at least the logical block size "
                                + logicalBlockSize + ", not " + bytes);
            }
        });
    }

    /** A writable file with all defaults. */
    public static FileOptions of(Path file) {
        return new FileOptions(
                file,
                Optional.empty(),
                false,
                false,
                false,
                CacheMode.WRITEBACK,
                HostFileOptions.Aio.AUTO,
                4,
                DiscardMode.UNMAP,
                true,
                512,
                Optional.empty());
    }
}
