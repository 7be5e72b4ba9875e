package org.benchtop.guests.compile;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import javax.tools.DiagnosticCollector;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.benchtop.guests.ClassSource;

/** Compiles Java texts in memory, for the JVM and for the guest. */
final class JavaSources {
    private JavaSources() {}

    /** Class files by internal name. */
    static Map<String, byte[]> compile(Map<String, String> sources) {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> problems = new DiagnosticCollector<>();
        Map<String, ByteArrayOutputStream> files = new HashMap<>();
        StandardJavaFileManager standard = compiler.getStandardFileManager(problems, null, null);
        JavaFileManager manager = new ForwardingJavaFileManager<>(standard) {
            @Override
            public JavaFileObject getJavaFileForOutput(
                    Location location, String className, JavaFileObject.Kind kind, FileObject sibling) {
                return new SimpleJavaFileObject(URI.create("mem:///" + className + ".class"), kind) {
                    @Override
                    public OutputStream openOutputStream() {
                        return files.computeIfAbsent(className.replace('.', '/'), name -> new ByteArrayOutputStream());
                    }
                };
            }
        };
        List<JavaFileObject> units = sources.entrySet().stream()
                .<JavaFileObject>map(source ->
                        new SimpleJavaFileObject(
                                URI.create("mem:///" + source.getKey() + ".java"), JavaFileObject.Kind.SOURCE) {
                            @Override
                            public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                                return source.getValue();
                            }
                        })
                .toList();
        boolean good = compiler.getTask(null, manager, problems, List.of("-g", "-proc:none", "-nowarn"), null, units)
                .call();
        if (!good) {
            throw new AssertionError(problems.getDiagnostics().toString());
        }
        return files.entrySet().stream()
                .collect(Collectors.toMap(
                        Map.Entry::getKey, file -> file.getValue().toByteArray()));
    }

    /** The class files with the test's own class path behind them. */
    static ClassSource source(Map<String, byte[]> classFiles) {
        return ClassSource.of(classFiles).orElse(ClassSource.of(JavaSources.class.getClassLoader()));
    }

    /** Loads the class files into the JVM. */
    static ClassLoader loader(Map<String, byte[]> classFiles) {
        return new ClassLoader(JavaSources.class.getClassLoader()) {
            @Override
            protected Class<?> findClass(String name) throws ClassNotFoundException {
                byte[] file = classFiles.get(name.replace('.', '/'));
                if (file == null) {
                    throw new ClassNotFoundException(name);
                }
                return defineClass(name, file, 0, file.length);
            }
        };
    }
}
