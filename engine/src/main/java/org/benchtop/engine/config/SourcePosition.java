package org.benchtop.engine.config;

/**
 * Where something was written.
 *
 * @param source a file name, {@code --set} or {@code java}; empty if unknown
 * @param line from 1; 0 where there are no lines
 * @param column from 1; 0 where there are no lines
 */
public record SourcePosition(String source, int line, int column) {
    /** Nowhere in particular. */
    public static final SourcePosition NONE = new SourcePosition("", 0, 0);

    /** A source without lines. */
    public static SourcePosition of(String source) {
        return new SourcePosition(source, 0, 0);
    }

    /** {@code vm.yaml:12:5}, or only the source where there are no lines. */
    @Override
    public String toString() {
        return line == 0 ? source : source + ":" + line + ":" + column;
    }
}
