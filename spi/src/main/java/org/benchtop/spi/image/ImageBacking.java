package org.benchtop.spi.image;

import java.util.Optional;

/**
 * The image that an image is based on.
 *
 * @param file its name as the header has it: absolute, or relative to the folder of the image above
 * @param format its format's name; empty in old images
 */
public record ImageBacking(String file, Optional<String> format) {}
