package org.benchtop.block.filter;

import java.nio.file.Path;
import org.benchtop.spi.Option;

/** Options of {@code trace}. */
public record TraceOptions(
        @Option(doc = "The drive whose requests are recorded.", ref = Option.Ref.DRIVE)
        String drive,

        @Option(doc = "The file that is written; an older one is replaced.")
        Path file) {}
