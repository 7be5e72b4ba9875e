package org.benchtop.block.qcow2;

import java.nio.file.Path;
import java.util.Optional;
import org.benchtop.spi.Option;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.host.HostFileOptions;

/** Options of {@code qcow2}. */
public record Qcow2Options(
        @Option(doc = "The image file.") Optional<Path> file,

        @Option(doc = "A drive that holds the image, instead of a file.")
        Optional<String> backend,

        @Option(
                doc = "The disk's size; a smaller disk is grown, a larger one is refused.",
                unit = Option.Unit.BYTES,
                min = 512)
        Optional<Long> size,

        @Option(
                doc = "Creates the file, with the given size and default settings, if it does not exist.",
                value = "off")
        boolean create,

        @Option(doc = "Refuses writes.", value = "off") boolean readOnly,

        @Option(doc = "Where a completed write is, and what a flush does, as in QEMU.", value = "writeback")
        CacheMode cache,

        @Option(doc = "How requests are executed on the host.", value = "auto")
        HostFileOptions.Aio aio,

        @Option(doc = "Threads for aio: threads.", value = "4", min = 1, max = 256)
        int threads,

        @Option(doc = "Gives space back that the guest has discarded.", value = "unmap")
        Discard discard,

        @Option(doc = "Refuses a file that another machine or program has locked.", value = "on")
        boolean lock,

        @Option(doc = "The format of the backing file where the image does not say it: raw or qcow2.")
        Optional<String> backingFormat,

        @Option(
                doc = "Most memory for L2 tables; less is used when that covers the disk.",
                unit = Option.Unit.BYTES,
                value = "32MiB",
                min = 65536,
                max = 1L << 30)
        long l2CacheSize,

        @Option(
                doc = "Most memory for refcounts.",
                unit = Option.Unit.BYTES,
                value = "4MiB",
                min = 65536,
                max = 1L << 30)
        long refcountCacheSize) {

    /** What a discard does. */
    public enum Discard {
        /** The clusters become free; the file keeps their space. */
        IGNORE,
        /** The clusters become free, and the host gets their space back. */
        UNMAP,
    }

    public Qcow2Options {
        if (file.isPresent() == backend.isPresent()) {
            throw new IllegalArgumentException("give either file or backend");
        }
        if (create && (file.isEmpty() || size.isEmpty() || readOnly)) {
            throw new IllegalArgumentException("create needs a file and a size, and no read-only");
        }
    }
}
