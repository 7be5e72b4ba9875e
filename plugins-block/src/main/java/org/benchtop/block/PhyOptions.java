package org.benchtop.block;

import java.nio.file.Path;
import java.util.Optional;
import org.benchtop.spi.Option;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.host.HostFileOptions;

/** Options of {@code phy}. */
public record PhyOptions(
        @Option(doc = "The host's block device, such as /dev/vdb or /dev/vg0/disk.")
        Optional<Path> device,

        @Option(doc = "A file that is shown as a loop device; instead of device. Needs root.")
        Optional<Path> loop,

        @Option(doc = "Refuses writes.", value = "off") boolean readOnly,

        @Option(doc = "Where a completed write is, and what a flush does, as in QEMU.", value = "none")
        CacheMode cache,

        @Option(doc = "How requests are executed on the host.", value = "auto")
        HostFileOptions.Aio aio,

        @Option(doc = "Threads for aio: threads.", value = "4", min = 1, max = 256)
        int threads,

        @Option(doc = "What a guest's discard does.", value = "unmap")
        FileOptions.DiscardMode discard,

        @Option(doc = "Smallest request: 512 or 4096.", unit = Option.Unit.BYTES, value = "512")
        int logicalBlockSize) {

    public PhyOptions {
        if (device.isPresent() == loop.isPresent()) {
            throw new IllegalArgumentException("phy needs either device or loop");
        }
        BlockSizes.checkBlockSize("logical-block-size", logicalBlockSize);
    }

    FileOptions onDevice(Path path) {
        return new FileOptions(
                path,
                Optional.empty(),
                false,
                false,
                readOnly,
                cache,
                aio,
                threads,
                discard,
                true,
                logicalBlockSize,
                Optional.empty());
    }
}
