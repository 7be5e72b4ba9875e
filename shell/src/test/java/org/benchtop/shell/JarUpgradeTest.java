package org.benchtop.shell;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.InputStream;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

class JarUpgradeTest {
    @TempDir
    Path folder;

    private Path picocli() throws IOException, URISyntaxException {
        Path original = Path.of(CommandLine.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
        return Files.copy(original, folder.resolve("picocli.jar"));
    }

    @Test
    void upgradedClassesVerify() throws Exception {
        Path jar = picocli();

        int upgraded = JarUpgrade.upgrade(jar);

        assertEquals(0, JarUpgrade.upgrade(jar), "nothing is old any more");
        try (URLClassLoader classes = new URLClassLoader(new URL[] {jar.toUri().toURL()}, null);
                JarFile file = new JarFile(jar.toFile())) {
            int verified = 0;
            List<String> names = file.stream()
                    .map(JarEntry::getName)
                    .filter(name -> name.startsWith("picocli/") && name.endsWith(".class"))
                    .toList();
            for (String name : names) {
                Class.forName(name.replace('/', '.').substring(0, name.length() - 6), true, classes);
                verified++;
            }
            assertEquals(upgraded, verified);
        }
    }

    @Test
    void otherEntriesStayAsTheyWere() throws Exception {
        Path jar = picocli();
        byte[] before = manifest(jar);

        JarUpgrade.upgrade(jar);

        assertArrayEquals(before, manifest(jar));
    }

    private static byte[] manifest(Path jar) throws IOException {
        try (JarFile file = new JarFile(jar.toFile());
                InputStream content = file.getInputStream(file.getEntry("META-INF/MANIFEST.MF"))) {
            return content.readAllBytes();
        }
    }
}
