package org.benchtop.engine.config;

import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.benchtop.spi.Option;

/**
 * What option values are checked against.
 *
 * @param baseDir the folder that relative paths start from
 * @param knownNames for each kind of reference, the names that exist; a kind that is missing is not checked
 */
public record BindContext(Path baseDir, Map<Option.Ref, Set<String>> knownNames) {
    /** Relative paths start from a folder and references are not checked. */
    public static BindContext unchecked(Path baseDir) {
        return new BindContext(baseDir, Map.of());
    }
}
