package org.benchtop.shell;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Collectors;

/**
 * Writes a jar that stands for many: its class path (JAR File Specification, "Class-Path attribute") names them by their
 * places, so that kernels and tools that take a single jar get all of Benchtop.
 */
public final class AllJar {
    private AllJar() {}

    /**
     * For the launcher.
     *
     * @param args the jar to write, then what is in it
     */
    public static void main(String[] args) throws IOException {
        write(
                Path.of(args[0]),
                Arrays.stream(args).skip(1).map(Path::of).toList().toArray(new Path[0]));
    }

    static void write(Path jar, Path... entries) throws IOException {
        Manifest manifest = new Manifest();
        Attributes attributes = manifest.getMainAttributes();
        attributes.put(Attributes.Name.MANIFEST_VERSION, "1.0");
        attributes.put(
                Attributes.Name.CLASS_PATH,
                Arrays.stream(entries)
                        .map(entry -> entry.toAbsolutePath().toUri().toString())
                        .collect(Collectors.joining(" ")));
        attributes.putValue("Enable-Native-Access", "ALL-UNNAMED");
        try (OutputStream out = Files.newOutputStream(jar)) {
            new JarOutputStream(out, manifest).close();
        }
    }
}
