package org.benchtop.engine.boot;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.benchtop.engine.config.Units;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/** Reads image files whole. */
final class ImageFiles {
    /** Larger files are surely not what was meant, and would not fit into a Java array. */
    static final long MAX_BYTES = 1L << 30;

    private ImageFiles() {}

    static byte[] read(String what, Path file) {
        String name = what + " " + file;
        try {
            if (!Files.exists(file)) {
                throw new NoSuchFileException(file.toString());
            }
            if (!Files.isRegularFile(file)) {
                throw ImageErrors.error(name, "is not a regular file");
            }
            long sizeBytes = Files.size(file);
            if (sizeBytes == 0) {
                throw ImageErrors.error(name, "is empty");
            }
            if (sizeBytes > MAX_BYTES) {
                throw ImageErrors.error(
                        name,
                        Units.formatSize(sizeBytes) + " is too large (at most " + Units.formatSize(MAX_BYTES) + ")");
            }
            return Files.readAllBytes(file);
        } catch (NoSuchFileException e) {
            throw BenchtopException.of(ErrorKind.IMAGE, name + ": no such file", e);
        } catch (AccessDeniedException e) {
            throw BenchtopException.of(ErrorKind.IMAGE, name + ": permission denied", e);
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.IMAGE, name + ": cannot be read: " + e.getMessage(), e);
        }
    }
}
