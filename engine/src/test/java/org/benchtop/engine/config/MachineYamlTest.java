package org.benchtop.engine.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.cpu.CpuModel;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MachineYamlTest {
    private static final Path BASE = Path.of("/base");

    private static final String QUICKSTART = """
            name: quickstart
            machine: pc
            accel: auto
            cpus: 2
            memory: 512M
            boot: { guest: diskcheck }
            iothreads: [io0]
            drives:
              disk0: { type: file, file: disk.img, size: 64MiB, create: true, cache: writeback }
            chardevs:
              tty0: { type: stdio }
            devices:
              - { type: isa-serial, chardev: tty0 }
              - { type: virtio-blk-pci, id: blk0, drive: disk0, iothread: io0, queues: 1, ioeventfd: on }
              - isa-debug-exit
            """;

    private static MachineYaml yaml(String text) {
        return MachineYaml.parse(text, "vm.yaml", BASE, "vm", name -> Optional.empty());
    }

    private static MachineSpec spec(String text) {
        return yaml(text).spec();
    }

    private static String error(String text) {
        return String.valueOf(
                assertThrows(BenchtopException.class, () -> spec(text)).getMessage());
    }

    @Test
    void typeCalledNullNeedsNoQuotes() {
        String yaml = "boot: none\ndrives:\n  d: { type: null, size: 1GiB }\n";

        MachineSpec spec = spec(yaml);

        assertEquals("null", Objects.requireNonNull(spec.drives().get("d")).type());
        assertEquals(spec.drives(), spec(yaml.replace("null", "\"null\"")).drives());
    }

    @Test
    void typeWithoutAValueIsMissing() {
        assertEquals(
                "vm.yaml:3:13 drives.d.type: expected a name, got nothing",
                error("boot: none\ndrives:\n  d: { type: , size: 1GiB }\n"));
    }

    @Test
    void bootSourceOfAPluginIsReadAndWritten() {
        MachineSpec spec = spec("boot: {debian: {kernel: full, modules: [virtio_blk]}}");

        BootSpec.Source source = (BootSpec.Source) spec.boot();
        assertEquals("debian", source.source().type());
        assertEquals("boot.debian", source.source().path());
        assertEquals(spec.boot(), spec(spec.toYaml()).boot());
    }

    @Test
    void quickstartIsReadInFull() {
        MachineSpec expected = MachineSpec.named("quickstart")
                .cpus(2)
                .memory("512M")
                .guest("diskcheck", "")
                .iothread("io0")
                .drive(
                        "disk0",
                        "file",
                        Map.of("file", "disk.img", "size", "64MiB", "create", "true", "cache", "writeback"))
                .chardev("tty0", "stdio", Map.of())
                .device("isa-serial", Map.of("chardev", "tty0"))
                .device(
                        "virtio-blk-pci",
                        Map.of("id", "blk0", "drive", "disk0", "iothread", "io0", "queues", 1, "ioeventfd", true))
                .device("isa-debug-exit", Map.of())
                .baseDir(BASE)
                .build();

        MachineSpec spec = spec(QUICKSTART);

        assertEquals(expected, spec);
        assertEquals(List.of("isa-serial.0", "blk0", "isa-debug-exit.0"), spec.deviceIds());
        assertEquals("devices[1]", spec.devices().get(1).path());
        assertEquals(
                "drives.disk0",
                Objects.requireNonNull(spec.drives().get("disk0")).path());
    }

    @Test
    void writtenYamlReadsBackTheSame() {
        MachineSpec spec = MachineSpec.named("round.trip-1")
                .accel("soft", Map.of("icount", true))
                .cpus(4)
                .cpu(new CpuModel("max", Map.of("avx2", false, "popcnt", true)))
                .memory(new MemorySpec(3L << 30, true, true))
                .kernel(
                        BASE.resolve("boot/vmlinuz"),
                        Optional.of(Path.of("/else/initrd")),
                        "console=ttyS0 a=\"b: $c\" # d")
                .iothread("io0")
                .iothread("io1")
                .drive(
                        "d0",
                        "memory",
                        Map.of("size", "64MiB", "text", "on", "odd", " x'\"\\\n\t\u0001é🙂", "empty", ""))
                .netdev("n0", "tap", Map.of("list", List.of(1, "two", List.of(), Map.of("k", Map.of()))))
                .device(
                        "virtio-blk-pci",
                        Map.of("drive", "d0", "serial", "0123", "a-rather-long-option", "x".repeat(200)))
                .plugin(BASE.resolve("acme.jar"))
                .onReboot(MachineSpec.OnReboot.STOP)
                .onPanic(MachineSpec.OnPanic.PAUSE)
                .baseDir(BASE)
                .build();

        String yaml = spec.toYaml();

        assertEquals(spec, spec(yaml), yaml);
        assertEquals(yaml, spec(yaml).toYaml());
    }

    @Test
    void writtenYamlLooksLikeWhatPeopleWrite() {
        String yaml = spec(QUICKSTART).toYaml();

        assertEquals("""
                name: quickstart
                machine: pc
                accel: auto
                cpus: 2
                memory: 512MiB
                boot: { guest: diskcheck }
                iothreads: [io0]
                drives:
                  disk0: { type: file, file: disk.img, size: 64MiB, create: true, cache: writeback }
                chardevs:
                  tty0: { type: stdio }
                devices:
                  - { type: isa-serial, chardev: tty0 }
                  - { type: virtio-blk-pci, id: blk0, drive: disk0, iothread: io0, queues: 1, ioeventfd: on }
                  - { type: isa-debug-exit }
                """, yaml);
    }

    @Test
    void shortAndLongFormsMeanTheSame() {
        MachineSpec shorter = spec("{boot: none, accel: kvm, memory: 1G, cpu: max}");
        MachineSpec longer = spec("{boot: none, accel: {type: kvm}, memory: {size: 1G}, cpu: {model: max}}");

        assertEquals(shorter, longer);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {"[+avx2, -rdrand]", "{avx2: on, rdrand: off}", "+avx2 -rdrand", "\"+avx2,-rdrand\""})
    void cpuFeaturesHaveThreeForms(String features) {
        assertEquals(
                new CpuModel("host", Map.of("avx2", true, "rdrand", false)),
                spec("{boot: none, cpu: {features: " + features + "}}").cpu());
    }

    @Test
    void bootFormsAreTold() {
        assertEquals(
                new BootSpec.Kernel(
                        Path.of("/base/k"), Optional.of(Path.of("/base/i")), "a b", BootSpec.Protocol.LINUX64),
                spec("boot: {kernel: k, initrd: i, cmdline: a b, protocol: linux64}")
                        .boot());
        assertEquals(
                new BootSpec.Firmware(Path.of("/rom.bin")),
                spec("boot: {firmware: /rom.bin}").boot());
        assertEquals(
                new BootSpec.Flat(Path.of("/base/f"), 0x7c00, Optional.of(0x7c10L), BootSpec.Mode.REAL),
                spec("boot: {flat: f, load: 0x7c00, entry: 0x7c10, mode: real}").boot());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{boot: none, cpu: {modell: x}} | vm.yaml:1:20 cpu.modell: unknown option \"modell\" of cpu (did you mean \"model\"?)",
                "{boot: none, drive: {}} | vm.yaml:1:14 drive: unknown key \"drive\" (did you mean \"drives\"?)",
                "{boot: none, xyzzy: {}} | vm.yaml:1:14 xyzzy: unknown key \"xyzzy\" (known: name, machine, accel, cpus, cpu, memory, boot, iothreads, drives, chardevs, netdevs, display, devices, xen, plugins, on-reboot, on-panic)",
                "{cpus: 1} | vm.yaml:1:1: missing key \"boot\" ({guest, cmdline}, {kernel, initrd, cmdline}, {firmware}, {flat, load, entry}, {debian: {…}} or none)",
                "{boot: hello} | vm.yaml:1:8 boot: expected {guest, cmdline}, {kernel, initrd, cmdline}, {firmware}, {flat, load, entry}, {debian: {…}} or none, got \"hello\"",
                "{boot: {kernle: x}} | vm.yaml:1:8 boot: expected one of guest, kernel, firmware, flat (did you mean \"kernel\"?)",
                "{boot: {kernel: x, flat: y}} | vm.yaml:1:8 boot: only one of kernel, flat is possible",
                "{boot: {kernel: x, initrdd: y}} | vm.yaml:1:20 boot.initrdd: unknown option \"initrdd\" of boot (did you mean \"initrd\"?)",
                "{boot: none, cpus: 0} | vm.yaml:1:20 cpus: 0 is outside 1..255",
                "{boot: none, cpus: 256} | vm.yaml:1:20 cpus: 256 is outside 1..255",
                "{boot: none, memory: lots} | vm.yaml:1:22 memory: expected a size such as 512M, 4GiB or 10GB, got \"lots\"",
                "{boot: none, memory: 1000000} | vm.yaml:1:22 memory: 1000000 is outside 1MiB..",
                "{boot: none, memory: 10000001} | vm.yaml:1:22 memory: size 10000001 is not a multiple of 4KiB",
                "{boot: none, memory: {size: 3M, huge-pages: on}} | vm.yaml:1:22 memory: size 3145728 is not a multiple of 2MiB (huge-pages is on)",
                "{boot: none, memory: [1]} | vm.yaml:1:22 memory: expected a size such as 512M, 4GiB or 10GB, got a list",
                "{boot: none, name: a b} | vm.yaml:1:20 name: \"a b\" is not a name (letters, digits, \"_\", \"-\" and \".\", at most 64)",
                "{boot: none, drives: [a]} | vm.yaml:1:22 drives: expected a map from names to entries, such as {disk0: {type: …}}, got a list",
                "{boot: none, drives: {a: {file: b}}} | vm.yaml:1:26 drives.a: missing \"type\" of this drive",
                "{boot: none, drives: {\"a b\": {type: b}}} | vm.yaml:1:23 drives: \"a b\" is not a name (letters, digits, \"_\", \"-\" and \".\", at most 64)",
                "{boot: none, drives: {a: {type: b, id: c}}} | vm.yaml:1:26 drives.a: \"id\" is not allowed here: the entry is called \"a\"",
                "{boot: none, devices: {a: b}} | vm.yaml:1:23 devices: expected a list of devices, such as [{type: virtio-blk-pci, drive: disk0}], got a map",
                "{boot: none, devices: [[a]]} | vm.yaml:1:24 devices[0]: expected a device, such as {type: …}, got a list",
                "{boot: none, devices: [{type: a, id: x}, {type: b, id: x}]} | vm.yaml:1:42 devices[1].id: another device has the id \"x\"",
                "{boot: none, iothreads: [a, a]} | vm.yaml:1:25 iothreads: \"a\" is there twice",
                "{boot: none, on-reboot: explode} | vm.yaml:1:25 on-reboot: unknown value \"explode\" (allowed: restart, stop)",
                "{boot: none, cpu: {features: [avx2]}} | vm.yaml:1:31 cpu.features[0]: expected a feature with its sign, such as +avx2 or -rdrand, got \"avx2\"",
                "- a | vm.yaml:1:1: expected a map with name, machine, accel, cpus, cpu, memory, boot, iothreads, drives, chardevs, netdevs, display, devices, xen, plugins, on-reboot, on-panic, got a list",
            })
    void mistakesNamePlaceReasonAndWhatIsAllowed(String text, String message) {
        assertEquals(message, error(text));
    }

    @Test
    void allMistakesAreCollected() {
        Problems problems = new Problems();

        Optional<MachineSpec> spec =
                yaml("{boot: x, cpus: 0, drives: {a: {}}, devices: 1}").spec(problems);

        assertEquals(Optional.empty(), spec);
        assertEquals(
                List.of("cpus", "boot", "drives.a", "devices"),
                problems.all().stream().map(ConfigProblem::path).toList());
    }

    @Test
    void xenIsShortForAPlatformBeforeAllDevices() {
        MachineSpec spec = yaml("{boot: none, devices: [{type: xen-console}], xen: {version: 4.17}}")
                .spec();

        assertEquals(List.of("xen", "xen-console.0"), spec.deviceIds());
        assertEquals("xen-platform", spec.devices().getFirst().type());
        assertEquals("4.17", option(spec.devices().getFirst(), "version"));
    }

    @Test
    void plainPathsAreSet() {
        MachineSpec spec =
                yaml(QUICKSTART).set("cpus=3").set("drives.disk0.cache=none").spec();

        assertEquals(3, spec.cpus());
        assertEquals("none", option(spec.drives().get("disk0"), "cache"));
    }

    private static String option(@Nullable EntrySpec entry, String name) {
        return ((ConfigValue.Scalar)
                        Objects.requireNonNull(entry).options().find(name).orElseThrow())
                .text();
    }

    @ParameterizedTest
    @CsvSource({"devices[1]", "devices[blk0]", "devices[virtio-blk-pci]", "devices.blk0", "devices.1"})
    void devicesAreFoundByIndexIdAndType(String path) {
        MachineSpec spec = yaml(QUICKSTART).set(path + ".queues=4").spec();

        assertEquals("4", option(spec.devices().get(1), "queues"));
    }

    @Test
    void missingPlacesAreMade() {
        MachineSpec spec = yaml("{boot: none, memory: 1G, accel: kvm}")
                .set("memory.shared=on")
                .set("accel.fast=yes")
                .set("boot={guest: hello}")
                .set("boot.cmdline=a=b c")
                .set("drives.new.type=null")
                .set("drives.new.type=\"null\"")
                .set("devices[0]={type: isa-serial, chardev: c}")
                .set("devices[+].type=pci-thing")
                .spec();

        assertEquals(new MemorySpec(1 << 30, false, true), spec.memory());
        assertEquals(EntrySpec.of("kvm", Map.of("fast", "yes")), spec.accel());
        assertEquals(new BootSpec.Guest("hello", "a=b c"), spec.boot());
        assertEquals("null", Objects.requireNonNull(spec.drives().get("new")).type());
        assertEquals(List.of("isa-serial.0", "pci-thing.0"), spec.deviceIds());
    }

    @Test
    void shortFormKeepsOtherOptions() {
        MachineSpec spec = yaml("{boot: none, memory: {size: 1G, shared: on}}")
                .set("memory=2G")
                .spec();

        assertEquals(new MemorySpec(2L << 30, false, true), spec.memory());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "cpus | --set cpus: expected PATH=VALUE, such as devices[0].cache=none",
                "=3 | --set =3: expected PATH=VALUE, such as devices[0].cache=none",
                "cpus..x=3 | --set cpus..x: not a path at character 6 (like cpus, drives.disk0.cache or devices[0].queues)",
                "[0]=3 | --set [0]: not a path at character 1 (like cpus, drives.disk0.cache or devices[0].queues)",
                "cpus.x=3 | --set cpus.x: \"cpus\" is \"2\" and has no options",
                "devices[7].queues=3 | --set devices[7]: devices has 3 entries (the next one would be [3])",
                "devices[blk1].queues=3 | --set devices[blk1]: no entry \"blk1\" in devices (did you mean \"blk0\"?)",
                "devices[isa].x=3 | --set devices[isa]: no entry \"isa\" in devices (known: isa-serial.0, blk0, isa-debug-exit.0)",
                "cpus={ | --set cpus: not valid YAML while parsing a flow node: expected the node content, but found '<stream end>'",
                "cpus=0 | --set cpus: 0 is outside 1..255",
                "cpu=[1] | --set cpu: expected a model or a map with model, features, got a list",
                "nonsense=1 | --set nonsense: unknown key \"nonsense\" (known: name, machine, accel, cpus, cpu, memory, boot, iothreads, drives, chardevs, netdevs, display, devices, xen, plugins, on-reboot, on-panic)",
            })
    void wrongSettingsAreExplained(String assignment, String message) {
        BenchtopException e = assertThrows(
                BenchtopException.class, () -> yaml(QUICKSTART).set(assignment).spec());

        assertEquals(message, e.getMessage());
    }

    @Test
    void typeThatOccursTwiceIsAmbiguous() {
        BenchtopException e = assertThrows(
                BenchtopException.class,
                () -> yaml("{boot: none, devices: [a, a]}").set("devices[a].x=1"));

        assertEquals("--set devices[a]: devices has 2 entries of type a (known: a.0, a.1)", e.getMessage());
    }

    @Test
    void valuesOfProgramsAreSet() {
        MachineSpec spec = yaml(QUICKSTART)
                .set("devices[blk0].ioeventfd", false)
                .set("cpus", 4)
                .spec();

        assertEquals(4, spec.cpus());
        assertEquals("off", option(spec.devices().get(1), "ioeventfd"));
    }

    @Test
    void nameComesFromTheFile(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("my vm.yaml"), "{boot: {firmware: rom.bin}}");

        MachineSpec spec = MachineSpec.load(file);

        assertEquals("my-vm", spec.name());
        assertEquals(new BootSpec.Firmware(folder.resolve("rom.bin")), spec.boot());
    }

    @Test
    void unreadableFilesAreExplained(@TempDir Path folder) throws IOException {
        Path binary = Files.write(folder.resolve("binary.yaml"), new byte[] {(byte) 0xff, (byte) 0xfe, 0});

        assertEquals(
                folder.resolve("none.yaml") + ": no such file",
                assertThrows(BenchtopException.class, () -> MachineSpec.load(folder.resolve("none.yaml")))
                        .getMessage());
        assertEquals(
                folder + ": is a folder, expected a YAML file",
                assertThrows(BenchtopException.class, () -> MachineSpec.load(folder))
                        .getMessage());
        assertEquals(
                binary + ": not UTF-8 text",
                assertThrows(BenchtopException.class, () -> MachineSpec.load(binary))
                        .getMessage());
    }

    @Test
    void builderRefusesWhatYamlRefuses() {
        assertEquals(
                "cpus: 0 is outside 1..255",
                assertThrows(
                                BenchtopException.class,
                                () -> MachineSpec.named("x").cpus(0).build())
                        .getMessage());
        assertEquals(
                "memory: expected a size such as 512M, 4GiB or 10GB, got \"x\"",
                assertThrows(
                                BenchtopException.class,
                                () -> MachineSpec.named("x").memory("x"))
                        .getMessage());
        assertEquals(
                "devices[1].id: another device has the id \"a\"",
                assertThrows(
                                BenchtopException.class,
                                () -> MachineSpec.named("x")
                                        .device("t", Map.of("id", "a"))
                                        .device("u", Map.of("id", "a"))
                                        .build())
                        .getMessage());
    }
}
