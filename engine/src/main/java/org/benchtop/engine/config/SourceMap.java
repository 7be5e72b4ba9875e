package org.benchtop.engine.config;

import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Where the plain values of a machine were written, for messages. Two of them are always equal, so that machines
 * compare by content.
 *
 * @param positions by path, such as {@code boot.guest}
 */
public record SourceMap(Map<String, SourcePosition> positions) {
    /** Nothing is known. */
    public static final SourceMap EMPTY = new SourceMap(Map.of());

    public SourceMap {
        positions = Map.copyOf(positions);
    }

    /** Where the value of a path was written. */
    public SourcePosition position(String path) {
        return Optional.ofNullable(positions.get(path)).orElse(SourcePosition.NONE);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof SourceMap;
    }

    @Override
    public int hashCode() {
        return 0;
    }
}
