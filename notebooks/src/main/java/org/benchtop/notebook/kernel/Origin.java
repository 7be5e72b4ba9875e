package org.benchtop.notebook.kernel;

/**
 * Where a snippet was written.
 *
 * @param source the cell or file
 * @param line the line, from 0, on which the snippet starts
 */
record Origin(Source source, int line) {}
