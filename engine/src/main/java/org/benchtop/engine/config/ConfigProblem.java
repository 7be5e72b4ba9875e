package org.benchtop.engine.config;

import java.util.Map;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/**
 * One mistake in a configuration.
 *
 * @param position where it was written
 * @param path which option, such as {@code devices[1].cache}; empty for the whole
 * @param message what is wrong and what is allowed
 */
public record ConfigProblem(SourcePosition position, String path, String message) {
    /** The problem as an exception, whose context holds {@code source}, {@code line}, {@code column} and {@code path}. */
    public BenchtopException exception() {
        return BenchtopException.of(
                ErrorKind.CONFIG,
                toString(),
                Map.of(
                        "source", position.source(),
                        "line", position.line(),
                        "column", position.column(),
                        "path", path),
                null);
    }

    /** {@code vm.yaml:12:5 devices[1].cach: unknown option …}. */
    @Override
    public String toString() {
        String where = position.toString();
        if (!path.isEmpty()) {
            where = where.isEmpty() ? path : where + " " + path;
        }
        return where.isEmpty() ? message : where + ": " + message;
    }
}
