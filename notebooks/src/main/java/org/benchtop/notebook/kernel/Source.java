package org.benchtop.notebook.kernel;

/**
 * A text with code: a cell, or a file that a cell loads.
 *
 * @param name what messages call it, such as {@code cell 3}
 * @param text all of it
 */
record Source(String name, String text) {}
