package org.benchtop.shell;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import jdk.jshell.JShell;
import jdk.jshell.SnippetEvent;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class AllJarTest {
    @TempDir
    Path folder = Path.of("");

    /** As kernels of others do it: compiler and cells in JVMs that know nothing of Benchtop but this jar. */
    @Test
    @Timeout(300)
    void oneJarGivesAPlainJShellTheLab() throws Exception {
        Path jar = folder.resolve("benchtop-all.jar");
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path", ""));
        AllJar.write(
                jar,
                Stream.of(classPath.split(File.pathSeparator))
                        .filter(entry -> !entry.isEmpty() && Files.exists(Path.of(entry)))
                        .map(Path::of)
                        .toArray(Path[]::new));

        try (JShell shell = JShell.builder()
                .remoteVMOptions("-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED")
                .build()) {
            shell.addToClasspath(jar.toString());
            shell.eval("import static org.benchtop.shell.lab.Lab.*;");
            List<SnippetEvent> events =
                    shell.eval("String name = machine(\"{name: stock, memory: 64MiB, boot: {guest: hello}}\").name();");

            assertEquals("\"stock\"", events.getLast().value(), events.toString());
        }
    }
}
