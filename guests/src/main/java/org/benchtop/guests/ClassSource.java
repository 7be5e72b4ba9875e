package org.benchtop.guests;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Optional;

/** Where the guest compiler finds class files; for example the class path, or classes just compiled in a notebook. */
@FunctionalInterface
public interface ClassSource {
    /** The class file of {@code internalName} ({@code "org/example/Foo"}), or empty if this source has no such class. */
    Optional<byte[]> classFile(String internalName);

    /** Classes as resources of a class loader, including those of the Java library. */
    static ClassSource of(ClassLoader loader) {
        return internalName -> {
            try (InputStream stream = loader.getResourceAsStream(internalName + ".class")) {
                return stream == null ? Optional.empty() : Optional.of(stream.readAllBytes());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        };
    }

    /** The given class files, by internal name. */
    static ClassSource of(Map<String, byte[]> classFiles) {
        return internalName -> Optional.ofNullable(classFiles.get(internalName));
    }

    /** This source, and {@code next} for what it does not have. */
    default ClassSource orElse(ClassSource next) {
        return internalName -> classFile(internalName).or(() -> next.classFile(internalName));
    }
}
