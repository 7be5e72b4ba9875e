package org.benchtop.spi.guest;

import java.nio.file.Path;
import java.util.Optional;

/**
 * What a machine starts with.
 *
 * @param kernel a kernel image as in {@code boot: {kernel: …}}
 * @param initrd its initial RAM disk
 * @param cmdline its command line
 */
public record BootFiles(Path kernel, Optional<Path> initrd, String cmdline) {}
