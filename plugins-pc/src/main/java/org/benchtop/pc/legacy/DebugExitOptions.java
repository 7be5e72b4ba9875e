package org.benchtop.pc.legacy;

import org.benchtop.spi.Option;

/** Options of {@code debug-exit}. */
public record DebugExitOptions(
        @Option(doc = "First of four I/O ports.", value = "0x501", min = 0, max = 0xfffc)
        int iobase) {}
