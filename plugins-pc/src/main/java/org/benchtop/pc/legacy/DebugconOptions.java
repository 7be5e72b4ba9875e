package org.benchtop.pc.legacy;

import java.util.Optional;
import org.benchtop.spi.Option;

/** Options of {@code debugcon}. */
public record DebugconOptions(
        @Option(
                doc = "Where the bytes go; without it, lines go to the log and the last ones can be inspected.",
                ref = Option.Ref.CHARDEV)
        Optional<String> chardev,

        @Option(doc = "I/O port.", value = "0x402", min = 0, max = 0xffff)
        int iobase) {}
