package org.benchtop.pc.chardev;

import org.benchtop.spi.Option;

/** Options of {@code memory}. */
public record MemoryOptions(
        @Option(
                doc = "How much output is kept; the oldest is forgotten first.",
                value = "1MiB",
                unit = Option.Unit.BYTES,
                min = 1024,
                max = 1 << 30)
        long size) {}
