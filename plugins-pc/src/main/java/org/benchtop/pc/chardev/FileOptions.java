package org.benchtop.pc.chardev;

import java.nio.file.Path;
import java.util.Optional;
import org.benchtop.spi.Option;

/** Options of {@code file}. */
public record FileOptions(
        @Option(doc = "Where guest output goes; created if missing.")
        Path path,

        @Option(doc = "Keeps what is in the file and writes behind it.", value = "off")
        boolean append,

        @Option(doc = "A file whose content is typed to the guest.")
        Optional<Path> input) {}
