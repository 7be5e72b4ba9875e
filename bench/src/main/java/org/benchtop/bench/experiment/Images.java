package org.benchtop.bench.experiment;

/**
 * How disk image files are prepared.
 *
 * @param fill whether files that the machine would create are written full of random data first, so that reads reach
 *     the disk instead of a hole
 * @param dropPageCache whether the host forgets its cached copy of the image files before every run
 */
public record Images(boolean fill, boolean dropPageCache) {}
