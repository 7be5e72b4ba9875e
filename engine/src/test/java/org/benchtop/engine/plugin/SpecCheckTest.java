package org.benchtop.engine.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.benchtop.engine.config.MachineYaml;
import org.benchtop.engine.config.Problems;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SpecCheckTest {
    private static final String BODY =
            PluginRegistryTest.BODY.replace("NAME", "checked").replace("TYPE", "checked-disk") + """
            public List<BlockBackendType<?>> blockBackendTypes() { return List.of(new Filter(), new File()); }
            public List<MachineType> machineTypes() { return List.of(new Board()); }
            public record FilterOptions(@Option(doc = "what to filter", ref = Option.Ref.DRIVE) String drive) {}
            public record FileOptions(@Option(doc = "file") java.nio.file.Path file,
                    @Option(doc = "cache", value = "writeback") CacheMode cache,
                    @Option(doc = "size", value = "0", unit = Option.Unit.BYTES) long size) {}
            static final class Filter implements BlockBackendType<FilterOptions> {
                public String name() { return "checked-filter"; }
                public String summary() { return "A filter."; }
                public Class<FilterOptions> optionsType() { return FilterOptions.class; }
                public BlockBackend create(FilterOptions options, BlockContext context) { throw new UnsupportedOperationException(); }
            }
            static final class File implements BlockBackendType<FileOptions> {
                public String name() { return "checked-file"; }
                public String summary() { return "A file."; }
                public Class<FileOptions> optionsType() { return FileOptions.class; }
                public BlockBackend create(FileOptions options, BlockContext context) { throw new UnsupportedOperationException(); }
            }
            static final class Board implements MachineType {
                public String name() { return "checked-board"; }
                public String summary() { return "A board."; }
                public List<PlatformDevice> platformDevices(Request request) { return List.of(); }
                public long memoryHoleBase() { return 1L << 31; }
            }
            """;

    private PluginRegistry registry = PluginRegistry.builtIn();

    @BeforeAll
    void loadPlugin(@TempDir Path folder) throws IOException {
        registry = registry.with(List.of(JarBuilder.plugin(folder, "checked.jar", "Checked", BODY)));
    }

    @AfterAll
    void closePlugin() {
        registry.close();
    }

    private List<String> check(String yaml) {
        Problems problems = new Problems();
        MachineYaml.parse(
                        "{machine: checked-board, " + (yaml.startsWith("boot") ? "" : "boot: none, ") + yaml + "}",
                        "vm.yaml",
                        Path.of("/"),
                        "vm",
                        name -> Optional.empty())
                .spec(problems)
                .ifPresent(spec -> SpecCheck.check(spec, registry, problems));
        return problems.all().stream().map(Object::toString).toList();
    }

    @Test
    void soundMachineHasNoProblems() {
        assertEquals(
                List.of(),
                check("drives: {a: {type: checked-file, file: x}, b: {type: checked-filter, drive: a}},"
                        + " devices: [{type: checked-disk, drive: b}]"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "devices: [{type: checked-disk, drive: x}] | vm.yaml:1:76 devices[0].drive: no drive \"x\" (there are no drives)",
                "drives: {a: {type: checked-file, file: x, cach: none}} | vm.yaml:1:80 drives.a.cach: unknown option \"cach\" of checked-file (did you mean \"cache\"?)",
                "boot: {debain: {}} | vm.yaml:1:33 boot.debain.type: unknown boot source \"debain\" (there are none)",
                "boot: {guest: nobody} | vm.yaml:1:40 boot.guest: unknown guest program \"nobody\" (there are none)",
                "accel: {x: 1} | vm.yaml:1:45 accel: missing \"type\" of this accel",
                "accel: {type: auto, x: 1} | vm.yaml:1:45 accel: auto has no options (choose a CPU engine to give it some)",
                "drives: {a: {type: checked-file, file: x}}, devices: [{type: checked-disk, drive: a}, {type: checked-disk, drive: a}] | vm.yaml:1:152 devices[1].drive: the drive \"a\" is used by devices[0] already",
                "drives: {a: {type: checked-filter, drive: b}, b: {type: checked-filter, drive: a}} | vm.yaml:1:50 drives.a: drives form a ring: a -> b -> a",
                "drives: {a: {type: checked-filter, drive: a}} | vm.yaml:1:50 drives.a: drives form a ring: a -> a",
            })
    void mistakesAreFound(String yaml, String message) {
        assertEquals(List.of(message), check(yaml));
    }

    @Test
    void everyMistakeIsReported() {
        List<String> problems = check("drives: {a: {type: checked-fil, file: x}, b: {type: checked-file}},"
                + " devices: [{type: checked-disk, drive: c, depth: 17}, {type: nothing-of-that-name}]");

        List<String> paths = problems.stream()
                .map(line -> line.split(" ")[1].replace(":", ""))
                .toList();
        assertEquals(
                List.of("drives.a.type", "drives.b", "devices[0].drive", "devices[0].depth", "devices[1].type"), paths);
    }

    @Test
    void schemaDescribesEveryTypeAndOption() throws IOException {
        JsonNode schema = new ObjectMapper().readTree(MachineSchema.write(registry));

        List<String> keys = new ArrayList<>();
        schema.get("properties").fieldNames().forEachRemaining(keys::add);
        JsonNode drives = schema.at("/$defs/drive/oneOf");
        JsonNode file = null;
        for (JsonNode form : drives) {
            if (form.path("title").asText().equals("checked-file")) {
                file = form;
            }
        }
        assertEquals(
                "https://json-schema.org/draft/2020-12/schema",
                schema.get("$schema").asText());
        assertEquals(
                List.of(
                        "name",
                        "machine",
                        "cpus",
                        "iothreads",
                        "plugins",
                        "on-reboot",
                        "on-panic",
                        "accel",
                        "cpu",
                        "memory",
                        "boot",
                        "drives",
                        "chardevs",
                        "netdevs",
                        "display",
                        "devices"),
                keys);
        JsonNode found = java.util.Objects.requireNonNull(file);
        assertEquals("[\"type\",\"file\"]", found.get("required").toString());
        assertEquals("false", found.get("additionalProperties").toString());
        assertEquals("\"checked-file\"", found.at("/properties/type/const").toString());
        assertEquals(
                "{\"enum\":[\"writeback\",\"none\",\"writethrough\",\"directsync\",\"unsafe\"],"
                        + "\"description\":\"cache\",\"default\":\"writeback\"}",
                found.at("/properties/cache").toString());
        assertEquals("255", schema.at("/properties/cpus/anyOf/0/maximum").toString());
    }
}
