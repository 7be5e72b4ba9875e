package org.benchtop.block.image;

import java.nio.file.Path;
import org.benchtop.spi.Option;
import org.benchtop.spi.host.HostFileOptions;

/** Options of {@code vhd}, {@code vhdx} and {@code vmdk}. */
public record ReadOnlyImageOptions(
        @Option(doc = "The image file.") Path file,

        @Option(doc = "How requests are executed on the host.", value = "auto")
        HostFileOptions.Aio aio,

        @Option(doc = "Refuses a file that somebody else has open for writing.", value = "on")
        boolean lock) {

    /** An image with all defaults. */
    public static ReadOnlyImageOptions of(Path file) {
        return new ReadOnlyImageOptions(file, HostFileOptions.Aio.AUTO, true);
    }
}
