package org.benchtop.notebook.kernel;

/**
 * Where a snippet was typed.
 *
 * @param cell the number in {@code In [n]}
 * @param code the whole text of the cell
 * @param line the line, from 0, on which the snippet starts
 */
record Origin(int cell, String code, int line) {}
