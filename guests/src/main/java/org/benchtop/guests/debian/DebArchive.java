package org.benchtop.guests.debian;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.commons.compress.archivers.ar.ArArchiveEntry;
import org.apache.commons.compress.archivers.ar.ArArchiveInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/** Reads the files of a .deb: an ar archive whose member data.tar is compressed with xz, zstd or gzip (deb(5)). */
final class DebArchive {
    private DebArchive() {}

    /** Takes one member after the other. */
    @FunctionalInterface
    interface Visitor {
        /**
         * One member.
         *
         * @param path without a leading {@code ./} or slash, never empty, without {@code ..}
         * @param data its content, valid during the call
         */
        void visit(String path, TarArchiveEntry entry, InputStream data) throws IOException;
    }

    static void visit(Path deb, Visitor visitor) {
        try (ArArchiveInputStream ar =
                new ArArchiveInputStream(new BufferedInputStream(Files.newInputStream(deb), 1 << 16))) {
            for (ArArchiveEntry member = ar.getNextEntry(); member != null; member = ar.getNextEntry()) {
                if (member.getName().startsWith("data.tar")) {
                    visitData(ar, visitor);
                    return;
                }
            }
            throw new IOException("there is no data.tar inside");
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.IMAGE, deb + ": is no usable package: " + e.getMessage(), e);
        }
    }

    private static void visitData(InputStream data, Visitor visitor) throws IOException {
        TarArchiveInputStream tar = new TarArchiveInputStream(Decompression.of(data));
        for (TarArchiveEntry entry = tar.getNextEntry(); entry != null; entry = tar.getNextEntry()) {
            String path = clean(entry.getName());
            if (!path.isEmpty()) {
                visitor.visit(path, entry, tar);
            }
        }
    }

    private static String clean(String name) throws IOException {
        String path = name;
        while (path.startsWith("./") || path.startsWith("/")) {
            path = path.substring(path.indexOf('/') + 1);
        }
        while (path.endsWith("/")) {
            path = path.substring(0, path.length() - 1);
        }
        if (path.equals(".")) {
            return "";
        }
        if (("/" + path + "/").contains("/../")) {
            throw new IOException("member \"" + name + "\" leaves the package");
        }
        return path;
    }
}
