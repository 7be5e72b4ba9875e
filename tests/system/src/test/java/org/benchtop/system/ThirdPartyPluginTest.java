package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.io.StringWriter;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineExit;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.MachineYaml;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.engine.plugin.TypeKind;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.Plugin;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code examples/third-party-plugin}, compiled against the SPI alone, loaded from its jar, in a running machine. */
final class ThirdPartyPluginTest {
    @TempDir
    private static Path folder = Path.of("");

    private static Path jar = Path.of("");

    @BeforeAll
    static void buildJar() throws IOException, URISyntaxException {
        Path sources = projectRoot().resolve("examples/third-party-plugin/src/main");
        Path classes = Files.createDirectories(folder.resolve("classes"));
        Path spi = Path.of(
                Plugin.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        JavaCompiler compiler = Objects.requireNonNull(ToolProvider.getSystemJavaCompiler(), "a JDK");
        StringWriter messages = new StringWriter();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null);
                Stream<Path> java = Files.walk(sources.resolve("java"))) {
            List<Path> units =
                    java.filter(path -> path.toString().endsWith(".java")).toList();
            boolean compiled = compiler.getTask(
                            messages,
                            files,
                            null,
                            List.of("-parameters", "-proc:none", "-cp", spi.toString(), "-d", classes.toString()),
                            null,
                            files.getJavaFileObjectsFromPaths(units))
                    .call();
            assertTrue(compiled, messages.toString());
        }
        jar = folder.resolve("acme.jar");
        try (OutputStream out = Files.newOutputStream(jar);
                JarOutputStream archive = new JarOutputStream(out)) {
            addAll(archive, classes);
            addAll(archive, sources.resolve("resources"));
        }
    }

    private static Path projectRoot() {
        Path at = Path.of("").toAbsolutePath();
        while (!Files.isDirectory(at.resolve("examples/third-party-plugin"))) {
            at = Objects.requireNonNull(at.getParent(), "not inside the project");
        }
        return at;
    }

    private static void addAll(JarOutputStream archive, Path root) throws IOException {
        List<Path> files = new ArrayList<>();
        try (Stream<Path> all = Files.walk(root)) {
            all.filter(Files::isRegularFile).forEach(files::add);
        }
        for (Path file : files) {
            archive.putNextEntry(new ZipEntry(root.relativize(file).toString()));
            archive.write(Files.readAllBytes(file));
            archive.closeEntry();
        }
    }

    private static MachineSpec spec(String drives) {
        return MachineYaml.parse("""
                        name: third
                        memory: 128MiB
                        boot: { guest: diskcheck }
                        drives:
                          disk0: { type: memory, size: 1MiB }
                        %s
                        chardevs:
                          tty0: { type: memory }
                        devices:
                          - { type: isa-serial, chardev: tty0 }
                          - { type: virtio-blk-pci, drive: slow0 }
                          - { type: acme-counter, period: 100us }
                        """.formatted(drives.indent(2)), "third.yaml", folder)
                .spec();
    }

    @Test
    void jarAddsItsTypes() {
        try (PluginRegistry registry = PluginRegistry.builtIn().with(List.of(jar))) {
            assertTrue(registry.names(TypeKind.DEVICE).contains("acme-counter"));
            assertTrue(registry.names(TypeKind.DRIVE).contains("acme-latency"));
            assertFalse(PluginRegistry.builtIn().names(TypeKind.DRIVE).contains("acme-latency"));
        }
    }

    @Test
    void machineWithoutTheJarNamesTheUnknownType() {
        MachineSpec spec = spec("slow0: { type: acme-latency, drive: disk0 }");

        BenchtopException error = assertThrows(
                BenchtopException.class,
                () -> Machine.create(spec, PluginRegistry.builtIn()).close());

        assertTrue(error.toString().contains("acme-latency"), error.toString());
    }

    @Test
    void guestChecksADiskThroughTheFilter() throws InterruptedException {
        Assumptions.assumeTrue(Files.isWritable(Path.of("/dev/kvm")), "/dev/kvm is not usable here");
        MachineSpec spec = spec("slow0: { type: acme-latency, drive: disk0, read: 100us, write: 100us, flush: 100us }");
        try (PluginRegistry registry = PluginRegistry.builtIn().with(List.of(jar));
                Machine machine = Machine.create(spec, registry)) {
            machine.start();

            MachineExit exit = machine.awaitExit(Duration.ofMinutes(5)).orElseThrow();

            assertEquals(0, exit.exitCode(), exit.describe());
            assertTrue(machine.devices().keySet().stream().anyMatch(id -> id.startsWith("acme-counter")));
            assertTrue(machine.stats().value("slow0", "delayed") > 0, "requests through the filter");
        }
    }
}
