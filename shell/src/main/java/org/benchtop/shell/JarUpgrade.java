package org.benchtop.shell;

import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassFileVersion;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeTransform;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Collections;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;

/**
 * Rewrites old classes of jars as current ones, with stack maps: an AOT cache cannot hold classes that need the old
 * verifier, and picocli, compiled for Java 5, is most of what a short command loads. Run by the launcher after a build.
 */
final class JarUpgrade {
    /** Java 7: the first version that is always verified by its stack maps. */
    private static final int FIRST_WITH_STACK_MAPS = 51;

    private static final int NEW_VERSION = ClassFile.JAVA_25_VERSION;

    private JarUpgrade() {}

    /** Rewrites each of the named jars in place, if it has old classes. */
    public static void main(String[] jars) throws IOException {
        for (String jar : jars) {
            upgrade(Path.of(jar));
        }
    }

    /** Rewrites a jar in place, if it has old classes. Returns how many. */
    static int upgrade(Path jar) throws IOException {
        Path upgraded = jar.resolveSibling(jar.getFileName() + ".new");
        int count = 0;
        try (JarFile in = new JarFile(jar.toFile());
                URLClassLoader classes =
                        new URLClassLoader(new java.net.URL[] {jar.toUri().toURL()}, null)) {
            List<JarEntry> entries = Collections.list(in.entries());
            if (entries.stream().noneMatch(entry -> isOld(in, entry))) {
                return 0;
            }
            ClassFile classFile = ClassFile.of(
                    ClassFile.StackMapsOption.STACK_MAPS_WHEN_REQUIRED,
                    ClassFile.ClassHierarchyResolverOption.of(ClassHierarchyResolver.ofResourceParsing(classes)
                            .orElse(ClassHierarchyResolver.defaultResolver())));
            try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(upgraded))) {
                for (JarEntry entry : entries) {
                    byte[] content = in.getInputStream(entry).readAllBytes();
                    if (isOld(entry, content)) {
                        content = upgrade(classFile, content);
                        count++;
                    }
                    out.putNextEntry(new JarEntry(entry.getName()));
                    out.write(content);
                    out.closeEntry();
                }
            }
        }
        Files.move(upgraded, jar, StandardCopyOption.REPLACE_EXISTING);
        return count;
    }

    private static boolean isOld(JarFile jar, JarEntry entry) {
        if (!entry.getName().endsWith(".class")) {
            return false;
        }
        try (var content = jar.getInputStream(entry)) {
            return isOld(entry, content.readNBytes(8));
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private static boolean isOld(JarEntry entry, byte[] content) {
        return entry.getName().endsWith(".class")
                && content.length >= 8
                && ((content[6] & 0xff) << 8 | content[7] & 0xff) < FIRST_WITH_STACK_MAPS;
    }

    private static byte[] upgrade(ClassFile classFile, byte[] content) {
        ClassModel model = classFile.parse(content);
        // Passing every instruction through a builder makes the library compute stack maps.
        CodeTransform rebuild = (builder, element) -> builder.with(element);
        ClassTransform version = (builder, element) -> {
            if (element instanceof ClassFileVersion) {
                builder.withVersion(NEW_VERSION, 0);
            } else {
                builder.with(element);
            }
        };
        return classFile.transformClass(
                model, ClassTransform.transformingMethodBodies(rebuild).andThen(version));
    }
}
