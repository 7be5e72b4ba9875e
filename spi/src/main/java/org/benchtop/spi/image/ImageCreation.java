package org.benchtop.spi.image;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * A wish for a new image.
 *
 * @param file the file to make; an existing one is replaced
 * @param sizeBytes the disk's size
 * @param backing the image below, as it shall be written into the header
 * @param options by name, see {@link ImageFormat#createOptions}
 */
public record ImageCreation(Path file, long sizeBytes, Optional<ImageBacking> backing, Map<String, String> options) {
    public ImageCreation {
        options = Map.copyOf(options);
    }
}
