package org.benchtop.spi.image;

/**
 * An option for creating an image.
 *
 * @param name the name, in the spelling of {@code qemu-img -o}
 * @param doc one sentence
 * @param defaultText the value when it is not given; empty if there is none
 */
public record ImageOption(String name, String doc, String defaultText) {}
