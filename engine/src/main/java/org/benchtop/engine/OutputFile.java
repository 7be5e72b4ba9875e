package org.benchtop.engine;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/** Writes a result so that under its name there is either what was there before or the complete new file. */
public final class OutputFile {
    private OutputFile() {}

    /**
     * Writes a file by way of a neighbour of its name, which is gone afterwards in any case. A terminal, pipe or other
     * special file is written directly; behind a symbolic link its target is written.
     *
     * @return the file
     * @throws BenchtopException of kind HOST naming the file and the reason
     */
    public static Path write(Path file, byte[] content) {
        try {
            if (Files.exists(file) && !Files.isRegularFile(file)) {
                return Files.write(file, content);
            }
            Path target = Files.exists(file) ? file.toRealPath() : file;
            Path part = part(target);
            try {
                Files.write(part, content);
                Files.move(part, target, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
            } finally {
                Files.deleteIfExists(part);
            }
            return file;
        } catch (IOException e) {
            throw failure(file, e);
        }
    }

    /**
     * Finds out early, before work that would be lost, that a file can be written; leaves nothing behind.
     *
     * @throws BenchtopException of kind HOST naming the file and the reason
     */
    public static void check(Path file) {
        try {
            if (Files.isDirectory(file)) {
                throw new FileSystemException(file.toString(), null, "is a directory");
            }
            if (!Files.exists(file) || Files.isRegularFile(file)) {
                Path part = part(Files.exists(file) ? file.toRealPath() : file);
                Files.write(part, new byte[0]);
                Files.delete(part);
            }
        } catch (IOException e) {
            throw failure(file, e);
        }
    }

    private static Path part(Path file) {
        return file.resolveSibling(
                file.getFileName() + "." + ProcessHandle.current().pid() + ".part");
    }

    private static BenchtopException failure(Path file, IOException e) {
        return BenchtopException.of(ErrorKind.HOST, file + ": cannot be written: " + reason(e), e);
    }

    private static String reason(IOException e) {
        if (e instanceof NoSuchFileException) {
            return "no such folder";
        }
        if (e instanceof AccessDeniedException) {
            return "no permission";
        }
        String reason = e instanceof FileSystemException named ? named.getReason() : e.getMessage();
        return reason == null ? e.getClass().getSimpleName() : reason;
    }
}
