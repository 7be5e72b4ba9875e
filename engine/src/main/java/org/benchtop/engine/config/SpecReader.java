package org.benchtop.engine.config;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.benchtop.spi.Option;
import org.benchtop.spi.cpu.CpuModel;

/** Turns a document into a {@link MachineSpec}. */
final class SpecReader {
    /** All keys of a machine, in the order in which they are documented. */
    static final List<String> KEYS = List.of(
            "name",
            "machine",
            "accel",
            "cpus",
            "cpu",
            "memory",
            "boot",
            "iothreads",
            "drives",
            "chardevs",
            "netdevs",
            "display",
            "devices",
            "xen",
            "plugins",
            "on-reboot",
            "on-panic");

    private static final List<String> ENTRY_KEYS =
            List.of("accel", "cpu", "memory", "boot", "drives", "chardevs", "netdevs", "display", "devices", "xen");
    private static final String XEN = "xen";
    /** The device type behind {@link #XEN}. */
    private static final String XEN_PLATFORM = "xen-platform";

    private static final List<String> BOOT_KINDS = List.of("guest", "kernel", "firmware", "flat");

    /** The keys with a plain value. */
    record Scalars(
            @Option(doc = "name of the machine (default: the file's name)")
            Optional<String> name,

            @Option(doc = "board", value = "pc") String machine,

            @Option(doc = "number of vCPUs", value = "1", min = 1, max = MachineSpec.MAX_CPUS)
            int cpus,

            @Option(doc = "names of event loops that devices can run on", value = "[]")
            List<String> iothreads,

            @Option(doc = "jars with plugins", value = "[]") List<Path> plugins,

            @Option(name = "on-reboot", doc = "what a guest's reset does", value = "restart")
            MachineSpec.OnReboot onReboot,

            @Option(name = "on-panic", doc = "what a guest's crash report does", value = "stop")
            MachineSpec.OnPanic onPanic) {}

    private final Path baseDir;
    private final String defaultName;
    private final Problems problems;

    SpecReader(Path baseDir, String defaultName, Problems problems) {
        this.baseDir = baseDir;
        this.defaultName = defaultName;
        this.problems = problems;
    }

    Optional<MachineSpec> read(ConfigValue.Mapping root) {
        int before = problems.count();
        root.members().forEach((key, member) -> {
            if (!KEYS.contains(key)) {
                problems.add(member.keyPosition(), key, "unknown key \"" + key + "\"" + Suggestions.hint(key, KEYS));
            }
        });
        ConfigValue.Mapping plain = root.without(root.members().keySet().stream()
                .filter(key -> ENTRY_KEYS.contains(key) || !KEYS.contains(key))
                .toArray(String[]::new));
        BindContext context = BindContext.unchecked(baseDir);
        Optional<Scalars> scalars = OptionBinder.bind(Scalars.class, "a machine", plain, context, problems);
        EntrySpec accel = accel(root);
        CpuModel cpu = cpu(root);
        Optional<MemorySpec> memory = memory(root);
        Optional<BootSpec> boot = boot(root);
        Map<String, EntrySpec> drives = entries(root, "drives");
        Map<String, EntrySpec> chardevs = entries(root, "chardevs");
        Map<String, EntrySpec> netdevs = entries(root, "netdevs");
        List<EntrySpec> devices = devices(root);
        if (problems.count() > before) {
            return Optional.empty();
        }
        Scalars bound = scalars.orElseThrow();
        String name = bound.name().orElse(defaultName);
        if (!MachineSpec.isName(name)) {
            SourcePosition position =
                    root.find("name").map(ConfigValue::position).orElse(root.position());
            problems.add(position, "name", MachineSpec.badName(name));
            return Optional.empty();
        }
        MachineSpec spec = new MachineSpec(
                name,
                bound.machine(),
                accel,
                bound.cpus(),
                cpu,
                memory.orElseThrow(),
                boot.orElseThrow(),
                bound.iothreads(),
                drives,
                chardevs,
                netdevs,
                display(root),
                devices,
                bound.plugins(),
                bound.onReboot(),
                bound.onPanic(),
                baseDir,
                sources(root));
        checkNames(spec, problems);
        return problems.count() > before ? Optional.empty() : Optional.of(spec);
    }

    private static SourceMap sources(ConfigValue.Mapping root) {
        Map<String, SourcePosition> positions = new LinkedHashMap<>();
        root.members().values().forEach(member -> addSource(member.value(), positions));
        root.find("boot").ifPresent(boot -> {
            if (boot instanceof ConfigValue.Mapping mapping) {
                mapping.members().values().forEach(member -> addSource(member.value(), positions));
            }
        });
        return new SourceMap(positions);
    }

    private static void addSource(ConfigValue value, Map<String, SourcePosition> positions) {
        positions.put(value.path(), value.position());
    }

    /** Finds names that are malformed or used twice. */
    static void checkNames(MachineSpec spec, Problems problems) {
        Set<String> loops = new LinkedHashSet<>();
        for (String iothread : spec.iothreads()) {
            if (!MachineSpec.isName(iothread)) {
                problems.add(spec.sources().position("iothreads"), "iothreads", MachineSpec.badName(iothread));
            } else if (!loops.add(iothread)) {
                problems.add(spec.sources().position("iothreads"), "iothreads", "\"" + iothread + "\" is there twice");
            }
        }
        for (Map<String, EntrySpec> section : List.of(spec.drives(), spec.chardevs(), spec.netdevs())) {
            section.forEach((name, entry) -> {
                if (!MachineSpec.isName(name)) {
                    problems.add(entry.options(), MachineSpec.badName(name));
                }
            });
        }
        Set<String> ids = new LinkedHashSet<>();
        for (EntrySpec device : spec.devices()) {
            device.id().ifPresent(id -> {
                if (!MachineSpec.isName(id)) {
                    problems.add(device.options().position(), device.path() + ".id", MachineSpec.badName(id));
                } else if (!ids.add(id)) {
                    problems.add(
                            device.options().position(),
                            device.path() + ".id",
                            "another device has the id \"" + id + "\"");
                }
            });
        }
    }

    private Optional<ConfigValue> find(ConfigValue.Mapping root, String key) {
        return root.find(key).filter(value -> !(value instanceof ConfigValue.Scalar scalar && scalar.isNull()));
    }

    private EntrySpec accel(ConfigValue.Mapping root) {
        return find(root, "accel")
                .flatMap(value -> entry(value, "accel"))
                .orElseGet(() -> EntrySpec.of("auto", Map.of()).at("accel"));
    }

    private EntrySpec display(ConfigValue.Mapping root) {
        return find(root, "display")
                .flatMap(value -> entry(value, "display"))
                .orElseGet(() -> EntrySpec.of(MachineSpec.NO_DISPLAY, Map.of()).at("display"));
    }

    private CpuModel cpu(ConfigValue.Mapping root) {
        ConfigValue value = find(root, "cpu").orElse(ConfigValue.Mapping.EMPTY);
        if (value instanceof ConfigValue.Scalar scalar) {
            return new CpuModel(scalar.text(), Map.of());
        }
        if (!(value instanceof ConfigValue.Mapping mapping)) {
            problems.add(value, "expected a model or a map with model, features, got " + value.shape());
            return CpuModel.HOST;
        }
        List<String> known = List.of("model", "features");
        mapping.members().forEach((key, member) -> {
            if (!known.contains(key)) {
                problems.add(
                        member.keyPosition(),
                        member.value().path(),
                        "unknown option \"" + key + "\" of cpu" + Suggestions.hint(key, known));
            }
        });
        String model = "host";
        if (mapping.find("model").isPresent()) {
            if (mapping.find("model").get() instanceof ConfigValue.Scalar scalar && !scalar.isNull()) {
                model = scalar.text();
            } else {
                problems.add(mapping.find("model").get(), "expected the name of a CPU model");
            }
        }
        return new CpuModel(model, mapping.find("features").map(this::features).orElse(Map.of()));
    }

    private Map<String, Boolean> features(ConfigValue value) {
        String expected = "expected a list such as [+avx2, -rdrand] or a map such as {avx2: on}, got ";
        Map<String, Boolean> features = new LinkedHashMap<>();
        switch (value) {
            case ConfigValue.Scalar scalar -> {
                for (String word : scalar.text().split("[, ]+", -1)) {
                    feature(word, scalar, features);
                }
            }
            case ConfigValue.Sequence sequence -> {
                for (ConfigValue item : sequence.items()) {
                    if (item instanceof ConfigValue.Scalar scalar) {
                        feature(scalar.text(), item, features);
                    } else {
                        problems.add(item, expected + item.shape());
                    }
                }
            }
            case ConfigValue.Mapping mapping ->
                mapping.members().forEach((name, member) -> {
                    String text = member.value() instanceof ConfigValue.Scalar scalar ? scalar.text() : "";
                    switch (text) {
                        case "on", "true", "yes" -> features.put(name, true);
                        case "off", "false", "no" -> features.put(name, false);
                        default ->
                            problems.add(
                                    member.value(),
                                    "expected on or off, got " + member.value().shape());
                    }
                });
        }
        return features;
    }

    private void feature(String word, ConfigValue at, Map<String, Boolean> features) {
        if (word.length() < 2 || word.charAt(0) != '+' && word.charAt(0) != '-') {
            problems.add(at, "expected a feature with its sign, such as +avx2 or -rdrand, got \"" + word + "\"");
            return;
        }
        if (features.put(word.substring(1), word.charAt(0) == '+') != null) {
            problems.add(at, "the feature \"" + word.substring(1) + "\" is there twice");
        }
    }

    private Optional<MemorySpec> memory(ConfigValue.Mapping root) {
        Optional<ConfigValue> value = find(root, "memory");
        if (value.isEmpty()) {
            return Optional.of(MemorySpec.of(MachineSpec.DEFAULT_MEMORY_BYTES));
        }
        ConfigValue.Mapping options = switch (value.get()) {
            case ConfigValue.Mapping mapping -> mapping;
            case ConfigValue.Scalar scalar ->
                new ConfigValue.Mapping(Map.of(), scalar.position(), "memory").with("size", scalar.position(), scalar);
            case ConfigValue.Sequence sequence -> {
                problems.add(sequence, "expected a size such as 512M, 4GiB or 10GB, got a list");
                yield ConfigValue.Mapping.EMPTY;
            }
        };
        return value.get() instanceof ConfigValue.Sequence
                ? Optional.empty()
                : OptionBinder.bind(MemorySpec.class, "memory", options, BindContext.unchecked(baseDir), problems);
    }

    private Optional<BootSpec> boot(ConfigValue.Mapping root) {
        Optional<ConfigValue> value = find(root, "boot");
        if (value.isEmpty()) {
            problems.add(root, "missing key \"boot\" (" + bootForms() + ")");
            return Optional.empty();
        }
        if (value.get() instanceof ConfigValue.Scalar scalar && scalar.text().equals("none")) {
            return Optional.of(new BootSpec.None());
        }
        if (!(value.get() instanceof ConfigValue.Mapping mapping)) {
            problems.add(
                    value.get(),
                    "expected " + bootForms() + ", got " + value.get().shape());
            return Optional.empty();
        }
        List<String> kinds =
                BOOT_KINDS.stream().filter(mapping.members()::containsKey).toList();
        Optional<BootSpec> source = kinds.isEmpty() ? bootSource(mapping) : Optional.empty();
        if (source.isPresent()) {
            return source;
        }
        if (kinds.isEmpty()) {
            String wrong = mapping.members().keySet().stream().findFirst().orElse("");
            problems.add(
                    mapping,
                    "expected one of guest, kernel, firmware, flat"
                            + Suggestions.nearest(wrong, BOOT_KINDS)
                                    .map(name -> " (did you mean \"" + name + "\"?)")
                                    .orElse(""));
            return Optional.empty();
        }
        if (kinds.size() > 1) {
            problems.add(mapping, "only one of " + String.join(", ", kinds) + " is possible");
            return Optional.empty();
        }
        BindContext context = BindContext.unchecked(baseDir);
        Class<? extends BootSpec> type = switch (kinds.getFirst()) {
            case "guest" -> BootSpec.Guest.class;
            case "kernel" -> BootSpec.Kernel.class;
            case "firmware" -> BootSpec.Firmware.class;
            default -> BootSpec.Flat.class;
        };
        return OptionBinder.bind(type.asSubclass(Record.class), "boot", mapping, context, problems)
                .map(BootSpec.class::cast);
    }

    /** A single key with a map of options names a plugin's boot source. */
    private static Optional<BootSpec> bootSource(ConfigValue.Mapping mapping) {
        if (mapping.members().size() != 1) {
            return Optional.empty();
        }
        String name = mapping.members().keySet().iterator().next();
        ConfigValue.Member member = mapping.members().values().iterator().next();
        return member.value() instanceof ConfigValue.Mapping options
                ? Optional.of(new BootSpec.Source(new EntrySpec(name, Optional.empty(), options, member.keyPosition())))
                : Optional.empty();
    }

    private static String bootForms() {
        return "{guest, cmdline}, {kernel, initrd, cmdline}, {firmware}, {flat, load, entry}, {debian: {…}} or none";
    }

    private Map<String, EntrySpec> entries(ConfigValue.Mapping root, String section) {
        Map<String, EntrySpec> entries = new LinkedHashMap<>();
        Optional<ConfigValue> value = find(root, section);
        if (value.isEmpty()) {
            return entries;
        }
        if (!(value.get() instanceof ConfigValue.Mapping mapping)) {
            problems.add(
                    value.get(),
                    "expected a map from names to entries, such as {disk0: {type: …}}, got "
                            + value.get().shape());
            return entries;
        }
        mapping.members().forEach((name, member) -> {
            if (!MachineSpec.isName(name)) {
                problems.add(member.keyPosition(), section, MachineSpec.badName(name));
            } else {
                entry(member.value(), section.substring(0, section.length() - 1))
                        .ifPresent(entry -> {
                            if (entry.id().isPresent()) {
                                problems.add(
                                        member.value(),
                                        "\"id\" is not allowed here: the entry is called \"" + name + "\"");
                            }
                            entries.put(name, entry);
                        });
            }
        });
        return entries;
    }

    /** The listed devices, behind the one that {@code xen:} stands for: backends look for it when they are attached. */
    private List<EntrySpec> devices(ConfigValue.Mapping root) {
        List<EntrySpec> devices = new ArrayList<>();
        find(root, XEN).ifPresent(value -> {
            if (value instanceof ConfigValue.Mapping mapping) {
                devices.add(new EntrySpec(XEN_PLATFORM, Optional.of(XEN), mapping, mapping.position()));
            } else {
                problems.add(value, "expected options, such as {version: 4.17, mode: hvm}, got " + value.shape());
            }
        });
        devices.addAll(listedDevices(root));
        return devices;
    }

    private List<EntrySpec> listedDevices(ConfigValue.Mapping root) {
        Optional<ConfigValue> value = find(root, "devices");
        if (value.isEmpty()) {
            return List.of();
        }
        if (!(value.get() instanceof ConfigValue.Sequence sequence)) {
            problems.add(
                    value.get(),
                    "expected a list of devices, such as [{type: virtio-blk-pci, drive: disk0}], got "
                            + value.get().shape());
            return List.of();
        }
        List<EntrySpec> devices = new ArrayList<>();
        for (ConfigValue item : sequence.items()) {
            entry(item, "device").ifPresent(devices::add);
        }
        return devices;
    }

    private Optional<EntrySpec> entry(ConfigValue value, String what) {
        if (value instanceof ConfigValue.Scalar scalar && !scalar.isNull()) {
            return Optional.of(new EntrySpec(
                    scalar.text(),
                    Optional.empty(),
                    new ConfigValue.Mapping(Map.of(), scalar.position(), scalar.path()),
                    scalar.position()));
        }
        if (!(value instanceof ConfigValue.Mapping mapping)) {
            problems.add(value, "expected a " + what + ", such as {type: …}, got " + value.shape());
            return Optional.empty();
        }
        Optional<String> type = typeName(mapping);
        if (type.isEmpty()) {
            if (mapping.find("type").isEmpty()) {
                problems.add(mapping, "missing \"type\" of this " + what);
            }
            return Optional.empty();
        }
        SourcePosition typePosition =
                mapping.find("type").map(ConfigValue::position).orElse(mapping.position());
        int before = problems.count();
        Optional<String> id = word(mapping, "id");
        return problems.count() > before
                ? Optional.empty()
                : Optional.of(new EntrySpec(type.get(), id, mapping.without("type", "id"), typePosition));
    }

    /** The type's name; YAML's word for nothing is the name of a type as well. */
    private Optional<String> typeName(ConfigValue.Mapping mapping) {
        Optional<ConfigValue> value = mapping.find("type");
        return value.isPresent()
                        && value.get() instanceof ConfigValue.Scalar scalar
                        && scalar.text().equals("null")
                ? Optional.of(scalar.text())
                : word(mapping, "type");
    }

    private Optional<String> word(ConfigValue.Mapping mapping, String key) {
        Optional<ConfigValue> value = mapping.find(key);
        if (value.isPresent()) {
            if (value.get() instanceof ConfigValue.Scalar scalar && !scalar.isNull()) {
                return Optional.of(scalar.text());
            }
            problems.add(value.get(), "expected a name, got " + value.get().shape());
        }
        return Optional.empty();
    }
}
