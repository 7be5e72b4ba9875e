package org.benchtop.engine.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.Option;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class OptionBinderTest {
    private static final BindContext CONTEXT = new BindContext(
            Path.of("/base"),
            Map.of(Option.Ref.DRIVE, new TreeSet<>(Set.of("disk0", "disk1")), Option.Ref.IOTHREAD, Set.of()));

    private static Samples.Everything bind(String yaml) {
        ConfigValue value = YamlReader.read(yaml, "vm.yaml", "devices[1]");
        return OptionBinder.bind(Samples.Everything.class, "virtio-blk-pci", (ConfigValue.Mapping) value, CONTEXT);
    }

    private static String error(String yaml) {
        BenchtopException e = assertThrows(BenchtopException.class, () -> bind(yaml));
        assertEquals(ErrorKind.CONFIG, e.kind());
        return String.valueOf(e.getMessage());
    }

    @Test
    void whatIsNotWrittenHasItsDefault() {
        Samples.Everything options = bind("{drive: disk0}");

        assertEquals(
                new Samples.Everything(
                        "disk0",
                        true,
                        1,
                        64 << 20,
                        0,
                        0.5,
                        Path.of("/base/disk.img"),
                        Duration.ofMillis(2),
                        Samples.Cache.WRITEBACK,
                        new Samples.Inner(1, Optional.empty()),
                        List.of(),
                        Map.of(),
                        Optional.empty(),
                        Optional.empty()),
                options);
    }

    @Test
    void everyTypeOfOptionIsBound() {
        Samples.Everything options = bind("""
                drive: disk1
                ioeventfd: off
                queues: 0x10
                size-bytes: 10GB
                latency-nanos: 100us
                ratio: 0.25
                file: ../x/y.img
                timeout: 15s
                cache: io_uring
                inner: {a: 7, b: "on"}
                numbers: [1, 2, 3]
                names: {x: yes, y: no}
                serial: 007
                iothread:
                """);

        assertEquals(
                new Samples.Everything(
                        "disk1",
                        false,
                        16,
                        10_000_000_000L,
                        100_000,
                        0.25,
                        Path.of("/x/y.img"),
                        Duration.ofSeconds(15),
                        Samples.Cache.URING,
                        new Samples.Inner(7, Optional.of("on")),
                        List.of(1, 2, 3),
                        Map.of("x", true, "y", false),
                        Optional.of("007"),
                        Optional.empty()),
                options);
    }

    @ParameterizedTest
    @ValueSource(strings = {"on", "true", "yes"})
    void flagsHaveThreeSpellings(String word) {
        assertTrue(bind("{drive: disk0, ioeventfd: " + word + "}").ioeventfd());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{drive: disk0, cach: none} | vm.yaml:1:16 devices[1].cach: unknown option \"cach\" of virtio-blk-pci (did you mean \"cache\"?)",
                "{drive: disk0, inner: {c: 1}} | vm.yaml:1:24 devices[1].inner.c: unknown option \"c\" of virtio-blk-pci (did you mean \"a\"?)",
                "{queues: 2} | vm.yaml:1:1 devices[1]: missing option \"drive\" of virtio-blk-pci (drive to use)",
                "{drive: } | vm.yaml:1:1 devices[1]: the option \"drive\" of virtio-blk-pci has no value (drive to use)",
                "{drive: disk9} | vm.yaml:1:9 devices[1].drive: no drive \"disk9\" (did you mean \"disk0\"?)",
                "{drive: x} | vm.yaml:1:9 devices[1].drive: no drive \"x\" (known: disk0, disk1)",
                "{drive: disk0, iothread: io0} | vm.yaml:1:26 devices[1].iothread: no iothread \"io0\" (there are no iothreads)",
                "{drive: disk0, ioeventfd: maybe} | vm.yaml:1:27 devices[1].ioeventfd: expected on or off, got \"maybe\"",
                "{drive: disk0, ioeventfd: [on]} | vm.yaml:1:27 devices[1].ioeventfd: expected on or off, got a list",
                "{drive: disk0, queues: 0} | vm.yaml:1:24 devices[1].queues: 0 is outside 1..256",
                "{drive: disk0, queues: 99999999999} | vm.yaml:1:24 devices[1].queues: 99999999999 is outside 1..256",
                "{drive: disk0, queues: many} | vm.yaml:1:24 devices[1].queues: expected a whole number, got \"many\"",
                "{drive: disk0, size-bytes: 1M2} | vm.yaml:1:28 devices[1].size-bytes: expected a size such as 512M, 4GiB or 10GB, got \"1M2\"",
                "{drive: disk0, size-bytes: 2PiB} | vm.yaml:1:28 devices[1].size-bytes: 2PiB is outside 512..1TiB",
                "{drive: disk0, latency-nanos: 5} | vm.yaml:1:31 devices[1].latency-nanos: expected a duration such as 100us, 2ms or 15s, got \"5\"",
                "{drive: disk0, ratio: 1.5} | vm.yaml:1:23 devices[1].ratio: 1.5 is outside 0.0..1.0",
                "{drive: disk0, ratio: NaN} | vm.yaml:1:23 devices[1].ratio: expected a number, got \"NaN\"",
                "{drive: disk0, cache: nonee} | vm.yaml:1:23 devices[1].cache: unknown value \"nonee\" (did you mean \"none\"? allowed: writeback, none, write-through, io_uring)",
                "{drive: disk0, cache: x} | vm.yaml:1:23 devices[1].cache: unknown value \"x\" (allowed: writeback, none, write-through, io_uring)",
                "{drive: disk0, file: \"\"} | vm.yaml:1:22 devices[1].file: expected a path, got \"\"",
                "{drive: disk0, inner: 3} | vm.yaml:1:23 devices[1].inner: expected a map with a, b, got \"3\"",
                "{drive: disk0, numbers: 3} | vm.yaml:1:25 devices[1].numbers: expected a list, got \"3\"",
                "{drive: disk0, numbers: [1, x]} | vm.yaml:1:29 devices[1].numbers[1]: expected a whole number, got \"x\"",
                "{drive: disk0, names: {a: 3}} | vm.yaml:1:27 devices[1].names.a: expected on or off, got \"3\"",
                "{drive: disk0, queues: 13} | vm.yaml:1:1 devices[1]: virtio-blk-pci: queues: 13 is unlucky",
                "{drive: {a: b}} | vm.yaml:1:9 devices[1].drive: expected name of a drive, got a map",
            })
    void mistakesNamePlaceReasonAndWhatIsAllowed(String yaml, String message) {
        assertEquals(message, error(yaml));
    }

    @Test
    void allMistakesOfAnEntryAreCollected() {
        Problems problems = new Problems();
        ConfigValue value = YamlReader.read("{queues: 0, cach: none, ratio: x}", "vm.yaml", "devices[0]");

        Optional<Samples.Everything> bound = OptionBinder.bind(
                Samples.Everything.class, "virtio-blk-pci", (ConfigValue.Mapping) value, CONTEXT, problems);

        assertTrue(bound.isEmpty());
        assertEquals(
                List.of("devices[0].cach", "devices[0]", "devices[0].queues", "devices[0].ratio"),
                problems.all().stream().map(ConfigProblem::path).toList());
    }

    @Test
    void errorsCarryTheirPlaceForPrograms() {
        BenchtopException e = assertThrows(BenchtopException.class, () -> bind("drive: disk0\nqueues: 0"));

        assertEquals(Map.of("source", "vm.yaml", "line", 2, "column", 9, "path", "devices[1].queues"), e.context());
    }

    @Test
    void recordsBecomeWhatBindsBackToThem() {
        Samples.Everything options =
                bind("{drive: disk0, latency-nanos: 3ms, inner: {a: 2}, names: {n: on}, timeout: 1s}");

        ConfigValue written = ConfigValue.of(options, "devices[0]");

        assertEquals(
                options,
                OptionBinder.bind(Samples.Everything.class, "virtio-blk-pci", (ConfigValue.Mapping) written, CONTEXT));
    }

    record BadDefault(@Option(value = "many") int count) {}

    @Test
    void wrongDefaultIsThePluginsMistake() {
        BenchtopException e = assertThrows(
                BenchtopException.class,
                () -> OptionBinder.bind(BadDefault.class, "acme", ConfigValue.Mapping.EMPTY, CONTEXT));

        assertEquals(ErrorKind.PLUGIN, e.kind());
        assertEquals(
                "the default of option \"count\" of acme is wrong: count: expected a whole number, got \"many\"",
                e.getMessage());
    }

    record BadType(@Option Thread thread) {}

    @Test
    void unsupportedComponentTypeIsThePluginsMistake() {
        BenchtopException e = assertThrows(BenchtopException.class, () -> OptionsShape.of(BadType.class));

        assertEquals(ErrorKind.PLUGIN, e.kind());
        assertEquals(
                "option thread of " + BadType.class.getName() + " has the unsupported type java.lang.Thread",
                e.getMessage());
    }

    record Thrower(@Option(value = "1") int a) {
        Thrower {
            throw new IllegalStateException("boom");
        }
    }

    @Test
    void throwingConstructorIsThePluginsMistake() {
        BenchtopException e = assertThrows(
                BenchtopException.class,
                () -> OptionBinder.bind(Thrower.class, "acme", ConfigValue.Mapping.EMPTY, CONTEXT));

        assertEquals(ErrorKind.PLUGIN, e.kind());
    }
}
