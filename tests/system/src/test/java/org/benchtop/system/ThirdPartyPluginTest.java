package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example plugin, built from its sources into a jar and loaded with {@code --plugin}. */
class ThirdPartyPluginTest {
    private static final Path PROJECT = Cli.root().resolve("examples/third-party-plugin");

    @TempDir
    Path folder = Path.of("");

    private Path jar = Path.of("");

    @BeforeEach
    void buildJar() throws IOException {
        Path classes = Files.createDirectory(folder.resolve("classes"));
        List<String> args = new ArrayList<>(List.of(
                "-d", classes.toString(), "-parameters", "-proc:none", "-cp", System.getProperty("java.class.path")));
        try (Stream<Path> sources = Files.walk(PROJECT.resolve("src/main/java"))) {
            sources.filter(p -> p.toString().endsWith(".java")).forEach(p -> args.add(p.toString()));
        }
        int status = ToolProvider.getSystemJavaCompiler().run(null, null, null, args.toArray(String[]::new));
        assertEquals(0, status, "the example compiles");
        jar = folder.resolve("acme.jar");
        try (OutputStream file = Files.newOutputStream(jar);
                JarOutputStream out = new JarOutputStream(file)) {
            addAll(out, classes);
            addAll(out, PROJECT.resolve("src/main/resources"));
        }
    }

    private static void addAll(JarOutputStream out, Path root) throws IOException {
        List<Path> files;
        try (Stream<Path> walk = Files.walk(root)) {
            files = walk.filter(Files::isRegularFile).toList();
        }
        for (Path file : files) {
            out.putNextEntry(new JarEntry(root.relativize(file).toString()));
            Files.copy(file, out);
            out.closeEntry();
        }
    }

    @Test
    void pluginsListShowsWhereItsTypesComeFrom() {
        Cli.Result result = Cli.run(folder, "plugins", "list", "--plugin", jar.toString());

        assertEquals(0, result.exitCode(), result.err());
        assertTrue(result.out().contains("acme.jar"), result.out());
        assertTrue(result.out().contains("acme-counter"), result.out());
        assertTrue(result.out().contains("acme-latency"), result.out());
    }

    @Test
    void guestReadsAndWritesThroughItsFilter() throws IOException {
        Kvm.assume();
        Path yaml = folder.resolve("vm.yaml");
        Files.writeString(yaml, """
                name: filtered
                memory: 128MiB
                boot: { guest: diskcheck, cmdline: "seconds=0" }
                drives:
                  raw: { type: file, file: disk.img, size: 4MiB, create: true }
                  slow: { type: acme-latency, drive: raw, delay: 10us }
                chardevs: { tty0: { type: stdio } }
                devices:
                  - { type: isa-serial, chardev: tty0 }
                  - { type: acme-counter }
                  - { type: virtio-blk-pci, drive: slow }
                """);

        Cli.Result run = Cli.run(folder, "run", yaml.toString(), "--plugin", jar.toString());
        Cli.Result check = Cli.run(folder, "guest", "check-pattern", "disk.img");

        assertEquals(0, run.exitCode(), run.out() + run.err());
        assertEquals(0, check.exitCode(), check.err());
    }

    @Test
    void withoutTheJarItsTypeIsUnknownAndTheNearestIsNamed() throws IOException {
        Path yaml = folder.resolve("vm.yaml");
        Files.writeString(yaml, """
                name: m
                memory: 64MiB
                boot: none
                devices:
                  - { type: acme-counter }
                """);

        Cli.Result result = Cli.run(folder, "validate", yaml.toString());

        assertEquals(2, result.exitCode(), result.out());
        assertTrue((result.out() + result.err()).contains("acme-counter"), result.out() + result.err());
    }

    @Test
    void jarThatIsNotAPluginIsRefusedInOneLine() throws IOException {
        Path bad = folder.resolve("bad.jar");
        Files.writeString(bad, "not a jar");

        Cli.Result result = Cli.run(folder, "plugins", "list", "--plugin", bad.toString());

        assertEquals(2, result.exitCode(), result.out());
        assertEquals(1, result.err().strip().lines().count(), result.err());
        assertTrue(result.err().contains("bad.jar"), result.err());
    }
}
