package org.benchtop.engine.plugin;

import java.io.IOException;
import java.io.OutputStream;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** Compiles plugins from source into jars, as a plugin author would. */
final class JarBuilder {
    private static final String SERVICE = "META-INF/services/org.benchtop.spi.Plugin";

    private JarBuilder() {}

    /** A class {@code acme.<className>} in a jar with a service entry for it. */
    static Path plugin(Path folder, String jarName, String className, String body) throws IOException {
        return jar(folder, jarName, className, "acme." + className, source(className, body));
    }

    /** The usual frame of a plugin: body goes into the class. */
    private static String source(String className, String body) {
        return """
                package acme;
                import java.util.List;
                import org.benchtop.spi.*;
                import org.benchtop.spi.block.*;
                import org.benchtop.spi.device.*;
                public final class %s implements Plugin {
                    %s
                }
                """.formatted(className, body);
    }

    /** A jar with one compiled class and a service entry of any text. */
    static Path jar(Path folder, String jarName, String className, String serviceEntry, String source)
            throws IOException {
        Path classes = Files.createTempDirectory(folder, "classes");
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        JavaFileObject file =
                new SimpleJavaFileObject(
                        URI.create("string:///acme/" + className + ".java"), JavaFileObject.Kind.SOURCE) {
                    @Override
                    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                        return source;
                    }
                };
        StringWriter messages = new StringWriter();
        boolean compiled = compiler.getTask(
                        messages,
                        null,
                        null,
                        List.of("-d", classes.toString(), "-cp", System.getProperty("java.class.path"), "-proc:none"),
                        null,
                        List.of(file))
                .call();
        if (!compiled) {
            throw new IllegalStateException(messages.toString());
        }
        Path jar = folder.resolve(jarName);
        try (OutputStream out = Files.newOutputStream(jar);
                JarOutputStream zip = new JarOutputStream(out);
                Stream<Path> files = Files.walk(classes)) {
            for (Path path : files.filter(Files::isRegularFile).toList()) {
                zip.putNextEntry(new JarEntry(classes.relativize(path).toString()));
                zip.write(Files.readAllBytes(path));
                zip.closeEntry();
            }
            zip.putNextEntry(new JarEntry(SERVICE));
            zip.write(serviceEntry.getBytes(java.nio.charset.StandardCharsets.UTF_8));
            zip.closeEntry();
        }
        return jar;
    }
}
