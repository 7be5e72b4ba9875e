package org.benchtop.pc.display;

import java.nio.file.Path;
import java.util.Optional;
import org.benchtop.spi.Option;

/** Options of {@code vga-text}. */
public record VgaTextOptions(
        @Option(
                doc =
                        "the VGA BIOS that firmware runs; Debian's vgabios-isavga.bin (package seabios) unless given; other"
                                + " boots need none")
        Optional<Path> romfile) {}
