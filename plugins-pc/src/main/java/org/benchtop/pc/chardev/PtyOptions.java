package org.benchtop.pc.chardev;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.benchtop.spi.Option;

/** Options of {@code pty}. */
public record PtyOptions(
        @Option(doc = "A symbolic link to make to the terminal's device, removed at the end.")
        Optional<Path> link,

        @Option(
                doc = "How long a reader that takes nothing stalls the guest before output is dropped; 0s for ever.",
                value = "2s")
        Duration patience) {

    public PtyOptions {
        if (patience.isNegative()) {
            throw new IllegalArgumentException("patience must not be negative");
        }
    }
}
