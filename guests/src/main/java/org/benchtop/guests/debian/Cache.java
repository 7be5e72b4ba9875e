package org.benchtop.guests.debian;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.stream.Stream;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/** The cache folder: {@code $BENCHTOP_CACHE}, {@code $XDG_CACHE_HOME/benchtop} or {@code ~/.cache/benchtop}. */
final class Cache {
    private final Path folder;

    Cache(Path folder) {
        this.folder = folder;
    }

    /** Where this user's cache is. */
    static Cache ofUser() {
        String own = System.getenv("BENCHTOP_CACHE");
        if (own != null && !own.isEmpty()) {
            return new Cache(Path.of(own));
        }
        String xdg = System.getenv("XDG_CACHE_HOME");
        Path base = xdg != null && !xdg.isEmpty() ? Path.of(xdg) : Path.of(System.getProperty("user.home"), ".cache");
        return new Cache(base.resolve("benchtop"));
    }

    /** A file or folder in the cache; its parent is there. */
    Path path(String first, String... more) {
        Path path = folder.resolve(Path.of(first, more));
        Path parent = path.getParent();
        if (parent != null) {
            makeFolder(parent);
        }
        return path;
    }

    /** A new, empty folder beside the others, for work that is moved into place when it is done. */
    Path scratch() {
        try {
            makeFolder(folder);
            return Files.createTempDirectory(folder, "work");
        } catch (IOException e) {
            throw writing(folder, e);
        }
    }

    static void makeFolder(Path path) {
        try {
            Files.createDirectories(path);
        } catch (IOException e) {
            throw writing(path, e);
        }
    }

    /** Moves a finished file or folder into place; whoever comes second takes what is there. */
    static void publish(Path made, Path target) {
        try {
            Files.move(made, target, StandardCopyOption.ATOMIC_MOVE);
        } catch (AtomicMoveNotSupportedException e) {
            throw BenchtopException.of(ErrorKind.HOST, target + ": cannot be put in place in one step", e);
        } catch (IOException e) {
            if (Files.isDirectory(target)) {
                return;
            }
            throw writing(target, e);
        }
    }

    /** Writes a whole file or nothing. */
    static void write(Path target, Writer writer) {
        Path parent = target.toAbsolutePath().getParent();
        Path temporary = target.resolveSibling("." + target.getFileName() + "."
                + ProcessHandle.current().pid() + "-" + Thread.currentThread().threadId());
        try {
            if (parent != null) {
                Files.createDirectories(parent);
            }
            try (OutputStream out = Files.newOutputStream(temporary)) {
                writer.write(out);
            }
            Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw writing(target, e);
        } finally {
            try {
                Files.deleteIfExists(temporary);
            } catch (IOException e) {
                // The first error is the one to report.
                System.getLogger("org.benchtop.guests").log(System.Logger.Level.DEBUG, "cannot delete " + temporary, e);
            }
        }
    }

    /** Writes the content of a file. */
    @FunctionalInterface
    interface Writer {
        /** Writes all of it; the stream is closed by the caller. */
        void write(OutputStream out) throws IOException;
    }

    static void deleteTree(Path root) {
        try (Stream<Path> all = Files.walk(root)) {
            for (Path path : all.sorted(java.util.Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            System.getLogger("org.benchtop.guests").log(System.Logger.Level.DEBUG, "cannot delete " + root, e);
        }
    }

    /** An error of the host while writing, in one line. */
    static BenchtopException writing(Path path, IOException e) {
        String why = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
        if (e instanceof FileAlreadyExistsException) {
            why = "a file is in the way";
        } else if (e instanceof NoSuchFileException missing) {
            why = "there is no " + missing.getFile();
        } else if (why.startsWith(path + ": ")) {
            why = why.substring(path.toString().length() + 2);
        }
        return BenchtopException.of(ErrorKind.HOST, path + ": cannot be written: " + why, e);
    }

    static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    static String hash(String text) {
        return HexFormat.of().formatHex(sha256().digest(text.getBytes(StandardCharsets.UTF_8)));
    }

    static String hash(Path file) throws IOException {
        MessageDigest digest = sha256();
        try (InputStream in = new DigestInputStream(Files.newInputStream(file), digest)) {
            in.transferTo(OutputStream.nullOutputStream());
        }
        return HexFormat.of().formatHex(digest.digest());
    }
}
