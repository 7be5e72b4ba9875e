package org.benchtop.engine.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.benchtop.engine.config.EntrySpec;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.PluginType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PluginRegistryTest {
    /** A plugin {@code acme} with a device type {@code acme-disk}; placeholders are filled by the tests. */
    static final String BODY = """
            public String name() { return "NAME"; }
            public SpiVersion spiVersion() { return new SpiVersion(Spi.MAJOR, Spi.MINOR); }
            public List<DeviceType<?>> deviceTypes() { return List.of(new Disk()); }
            public record Options(
                    @Option(doc = "drive to use", ref = Option.Ref.DRIVE) String drive,
                    @Option(doc = "depth", value = "4", min = 1, max = 16) int depth) {}
            static final class Disk implements DeviceType<Options> {
                public String name() { return "TYPE"; }
                public String summary() { return "A disk."; }
                public Class<Options> optionsType() { return Options.class; }
                public Device create(Options options, CreateContext context) { throw new UnsupportedOperationException(); }
            }
            """;

    @TempDir
    Path folder;

    private Path jar(String jarName, String name, String type) throws IOException {
        return JarBuilder.plugin(
                folder, jarName, "Acme", BODY.replace("NAME", name).replace("TYPE", type));
    }

    private static String error(ErrorKind kind, org.junit.jupiter.api.function.Executable action) {
        BenchtopException e = assertThrows(BenchtopException.class, action);
        assertEquals(kind, e.kind());
        return String.valueOf(e.getMessage());
    }

    private static PluginRegistry load(Path... jars) {
        return PluginRegistry.builtIn().with(List.of(jars));
    }

    @Test
    void typesOfAJarAreFound() throws IOException {
        Path jar = jar("acme.jar", "acme", "acme-disk");

        try (PluginRegistry registry = load(jar)) {
            TypeDescription description = registry.describe("acme-disk").getFirst();

            assertEquals("acme-disk", registry.device("acme-disk").name());
            assertEquals(jar.toString(), description.plugin().origin());
            assertEquals(
                    List.of("drive", "depth"),
                    description.options().stream().map(option -> option.name()).toList());
            assertEquals("1..16", description.options().get(1).type().range());
        }
    }

    @Test
    void sameJarIsLoadedOnce() throws IOException {
        Path jar = jar("acme.jar", "acme", "acme-disk");

        try (PluginRegistry first = load(jar);
                PluginRegistry second = first.with(List.of(folder.resolve("./acme.jar")))) {
            assertEquals(first.plugins(), second.plugins());
        }
    }

    @Test
    void twoJarsWithTheSameClassesAreApart() throws IOException {
        Path one = jar("one.jar", "one", "one-disk");
        Path two = jar("two.jar", "two", "two-disk");

        try (PluginRegistry registry = load(one, two)) {
            assertNotSame(
                    registry.device("one-disk").getClass(),
                    registry.device("two-disk").getClass());
        }
    }

    @Test
    void pluginSeesTheSpiAndNothingElseOfOurs() throws IOException {
        Path jar = JarBuilder.plugin(folder, "nosy.jar", "Nosy", """
                public String name() {
                    for (String name : List.of("org.benchtop.engine.plugin.PluginRegistry", "org.yaml.snakeyaml.Yaml",
                            "com.fasterxml.jackson.databind.ObjectMapper")) {
                        try {
                            Class.forName(name);
                            return "sees-" + name;
                        } catch (ClassNotFoundException e) {
                            continue;
                        }
                    }
                    try {
                        Class.forName("javax.tools.ToolProvider");
                        Class.forName("org.benchtop.spi.block.BlockBackend");
                    } catch (ClassNotFoundException e) {
                        return e.getMessage();
                    }
                    return "nosy";
                }
                public SpiVersion spiVersion() { return new SpiVersion(Spi.MAJOR, Spi.MINOR); }
                """);

        try (PluginRegistry registry = load(jar)) {
            assertEquals("nosy", registry.plugins().getLast().name());
        }
    }

    @Test
    void typeNameThatIsTakenIsRefused() throws IOException {
        Path one = jar("one.jar", "one", "acme-disk");
        Path two = jar("two.jar", "two", "acme-disk");

        assertEquals(
                "device type \"acme-disk\" is in both " + one + " and " + two,
                error(ErrorKind.PLUGIN, () -> load(one, two)));
    }

    @Test
    void pluginNameThatIsTakenIsRefused() throws IOException {
        Path one = jar("one.jar", "acme", "one-disk");
        Path two = jar("two.jar", "acme", "two-disk");

        assertEquals(
                "plugin \"acme\" is in both " + one + " and " + two, error(ErrorKind.PLUGIN, () -> load(one, two)));
    }

    @Test
    void otherSpiMajorIsRefusedNamingBoth() throws IOException {
        Path jar = JarBuilder.plugin(folder, "future.jar", "Future", """
                public String name() { return "future"; }
                public SpiVersion spiVersion() { return new SpiVersion(2, 7); }
                """);

        assertEquals(
                "plugin future (" + jar + ") was built for SPI 2.7, this Benchtop has SPI 1.0",
                error(ErrorKind.PLUGIN, () -> load(jar)));
    }

    @Test
    void pluginThatThrowsIsSkippedWithAWarning() throws IOException {
        Path bad = JarBuilder.plugin(folder, "bad.jar", "Bad", """
                public Bad() { throw new IllegalStateException("no licence"); }
                public String name() { return "bad"; }
                public SpiVersion spiVersion() { return new SpiVersion(Spi.MAJOR, Spi.MINOR); }
                """);
        Path good = jar("good.jar", "good", "good-disk");

        try (PluginRegistry registry = load(bad, good)) {
            assertEquals("good-disk", registry.device("good-disk").name());
            assertEquals(
                    "skipped plugin acme.Bad of " + bad + ": java.lang.IllegalStateException: no licence",
                    registry.warnings().getLast());
        }
    }

    @Test
    void serviceEntryWithoutItsClassIsSkippedWithAWarning() throws IOException {
        Path jar = JarBuilder.jar(folder, "odd.jar", "Odd", "acme.Missing", "package acme; public final class Odd {}");

        try (PluginRegistry registry = load(jar)) {
            assertEquals(
                    "skipped a plugin of " + jar
                            + ": java.util.ServiceConfigurationError: org.benchtop.spi.Plugin: Provider acme.Missing not found",
                    registry.warnings().getLast());
        }
    }

    @Test
    void unusableOptionsRecordIsRefused() throws IOException {
        Path jar = JarBuilder.plugin(
                folder,
                "odd.jar",
                "Odd",
                BODY.replace("NAME", "odd").replace("TYPE", "odd-disk").replace("int depth", "Thread depth"));

        assertEquals(
                "option depth of acme.Odd$Options has the unsupported type java.lang.Thread",
                error(ErrorKind.PLUGIN, () -> load(jar)));
    }

    @Test
    void whatIsNoPluginIsRefused() throws IOException {
        Path text = Files.writeString(folder.resolve("text.jar"), "hello");
        Path empty = folder.resolve("empty.jar");
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(empty))) {
            zip.putNextEntry(new ZipEntry("x"));
        }

        assertEquals(
                "plugin " + folder.resolve("none.jar") + ": no such file",
                error(ErrorKind.PLUGIN, () -> load(folder.resolve("none.jar"))));
        assertEquals("plugin " + folder + ": is a folder, expected a jar", error(ErrorKind.PLUGIN, () -> load(folder)));
        assertEquals(
                "plugin " + text + ": not a jar (zip END header not found)", error(ErrorKind.PLUGIN, () -> load(text)));
        assertEquals(
                "plugin " + empty + ": has no META-INF/services/org.benchtop.spi.Plugin",
                error(ErrorKind.PLUGIN, () -> load(empty)));
    }

    @Test
    void unknownTypeListsKnownAndNearest() throws IOException {
        Path jar = jar("acme.jar", "acme", "acme-disk");

        try (PluginRegistry registry = load(jar)) {
            String message = error(ErrorKind.CONFIG, () -> registry.device("acme-dsk"));
            assertTrue(
                    message.startsWith("unknown device type \"acme-dsk\" (did you mean \"acme-disk\"? known: "),
                    message);
            assertTrue(message.contains("acme-disk"), message);
            assertTrue(error(
                            ErrorKind.CONFIG,
                            () -> registry.drive(
                                    EntrySpec.of("acme-disk", Map.of()).at("drives.d")))
                    .startsWith(
                            "drives.d.type: unknown drive type \"acme-disk\" (there is a device type of that name; "));
            assertEquals(
                    "unknown type \"acme-dsk\" (did you mean \"acme-disk\"?)",
                    error(ErrorKind.CONFIG, () -> registry.describe("acme-dsk")));
        }
    }

    @Test
    void jarsOfAFolderAreSorted() throws IOException {
        Path b = jar("b.jar", "b", "b-disk");
        Path a = jar("a.jar", "a", "a-disk");
        Files.writeString(folder.resolve("readme.txt"), "");

        assertEquals(List.of(a, b), PluginRegistry.jarsIn(folder));
        assertEquals(List.of(), PluginRegistry.jarsIn(folder.resolve("nowhere")));
    }

    @Test
    void typeOfAJarIsAnOrdinaryType() throws IOException {
        try (PluginRegistry registry = load(jar("acme.jar", "acme", "acme-disk"))) {
            PluginType<?> type = registry.device(EntrySpec.of("acme-disk", Map.of()));

            assertEquals("A disk.", type.summary());
        }
    }
}
