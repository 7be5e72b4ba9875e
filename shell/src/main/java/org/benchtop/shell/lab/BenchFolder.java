package org.benchtop.shell.lab;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/** Where measurements of one process keep disk images and journals; goes away with the process. */
record BenchFolder(Path path) {
    static BenchFolder create() {
        try {
            BenchFolder folder = new BenchFolder(Files.createTempDirectory("benchtop-bench"));
            Runtime.getRuntime().addShutdownHook(new Thread(folder::delete, "benchtop-bench-folder"));
            return folder;
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, "no folder for measurements can be made: " + e.getMessage(), e);
        }
    }

    private void delete() {
        try {
            Files.walkFileTree(path, new SimpleFileVisitor<>() {
                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                    Files.delete(file);
                    return FileVisitResult.CONTINUE;
                }

                @Override
                public FileVisitResult postVisitDirectory(Path folder, java.io.IOException error) throws IOException {
                    Files.delete(folder);
                    return FileVisitResult.CONTINUE;
                }
            });
        } catch (IOException e) {
            System.getLogger("org.benchtop.shell").log(System.Logger.Level.DEBUG, path + " could not be removed", e);
        }
    }
}
