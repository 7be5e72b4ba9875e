package org.benchtop.shell.qemu;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.benchtop.engine.config.BootSpec;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.MachineSpecBuilder;
import org.benchtop.engine.config.MemorySpec;
import org.benchtop.engine.config.Units;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.cpu.CpuModel;
import org.jspecify.annotations.Nullable;

/**
 * Translates command lines of {@code qemu-system-x86_64} (QEMU 7.2's documentation, "Invocation").
 *
 * <p>Understood are machine, accelerator, CPU, memory, boot, drives in all three styles ({@code -hda}, {@code -drive},
 * {@code -blockdev}), serial ports, chardevs, netdevs, iothreads and devices. What only concerns displays, monitors and
 * QEMU itself is left out with a note; what would change what the guest sees or what is written is refused.
 */
public final class QemuCommandLine {
    /** Options without value that have no counterpart and change nothing that a guest could rely on. */
    private static final Set<String> IGNORED_FLAGS = Set.of(
            "nodefaults",
            "no-user-config",
            "no-hpet",
            "usb",
            "no-shutdown",
            "no-fd-bootchk",
            "enable-sync-profile",
            "only-migratable",
            "no-quit");

    /** The same with a value. */
    private static final Set<String> IGNORED_VALUES = Set.of(
            "vga",
            "monitor",
            "mon",
            "qmp",
            "qmp-pretty",
            "parallel",
            "pidfile",
            "D",
            "d",
            "k",
            "rtc",
            "global",
            "msg",
            "uuid",
            "sandbox",
            "trace",
            "overcommit",
            "L",
            "boot",
            "watchdog-action",
            "spice",
            "vnc",
            "audiodev",
            "audio",
            "run-with",
            "compat",
            "action");

    private static final Map<String, String> DEVICES = Map.ofEntries(
            Map.entry("virtio-blk", "virtio-blk-pci"),
            Map.entry("virtio-net", "virtio-net-pci"),
            Map.entry("virtio-scsi", "virtio-scsi-pci"),
            Map.entry("virtio-rng", "virtio-rng-pci"),
            Map.entry("virtio-serial", "virtio-serial-pci"),
            Map.entry("virtio-balloon", "virtio-balloon-pci"),
            Map.entry("virtio-9p", "virtio-9p-pci"),
            Map.entry("isa-debug-exit", "debug-exit"),
            Map.entry("lsi", "lsi53c895a"),
            Map.entry("isa-debugcon", "debugcon"));

    /** Properties of QEMU's devices that are called otherwise here. */
    private static final Map<String, String> PROPERTIES = Map.of(
            "num-queues", "queues",
            "queue-size", "queue-size",
            "event_idx", "event-idx",
            "indirect_desc", "indirect-desc",
            "write-zeroes", "write-zeroes",
            "config-wce", "config-wce",
            "logical_block_size", "logical-block-size",
            "physical_block_size", "physical-block-size",
            "vectors", "vectors");

    /** Properties that only tell QEMU's own bus code or firmware something. */
    private static final Set<String> DROPPED_PROPERTIES = Set.of(
            "bootindex",
            "bus",
            "disable-legacy",
            "disable-modern",
            "rombar",
            "romfile",
            "multifunction",
            "write-cache",
            "packed",
            "iommu_platform",
            "ats",
            "host_mtu",
            "unit",
            "share-rw");

    private static final Pattern NUMBERED_BUS = Pattern.compile("(.+)\\.([0-9]{1,3})");

    private final MachineSpecBuilder spec;
    private final List<String> notes = new ArrayList<>();
    private final Map<String, Map<String, String>> nodes = new LinkedHashMap<>();
    private final List<Runnable> devices = new ArrayList<>();
    private final List<String> serials = new ArrayList<>();
    private final Set<String> scsiBuses = new java.util.LinkedHashSet<>();
    private Optional<Path> kernel = Optional.empty();
    private Optional<Path> initrd = Optional.empty();
    private String append = "";
    private Optional<Path> firmware = Optional.empty();
    private boolean noGraphic;
    private boolean exitDevice;
    private int number;

    private QemuCommandLine(String name) {
        spec = MachineSpec.named(name);
        // What QEMU has by default.
        spec.memory(MemorySpec.of(128L << 20));
    }

    /**
     * A translated command line.
     *
     * @param spec the machine
     * @param notes one line about each option that was left out or changed
     */
    public record Translation(MachineSpec spec, List<String> notes) {
        public Translation {
            notes = List.copyOf(notes);
        }
    }

    /**
     * Translates a command line as typed in a shell: quotes and backslashes are understood, variables are not.
     *
     * @throws BenchtopException of kind CONFIG or UNSUPPORTED, naming the option
     */
    public static Translation parse(String commandLine) {
        return translate(ShellWords.split(commandLine));
    }

    /**
     * Translates the words of a command line, with or without the program at its start.
     *
     * @throws BenchtopException of kind CONFIG or UNSUPPORTED, naming the option
     */
    public static Translation translate(List<String> words) {
        List<String> rest = new ArrayList<>(words);
        while (!rest.isEmpty() && isProgram(rest.getFirst())) {
            rest.removeFirst();
        }
        QemuCommandLine line = new QemuCommandLine(name(rest));
        line.options(rest);
        return new Translation(line.build(), line.notes);
    }

    private static boolean isProgram(String word) {
        String file = word.substring(word.lastIndexOf('/') + 1);
        return file.equals("sudo")
                || file.equals("exec")
                || file.startsWith("qemu-system-")
                || file.equals("qemu-kvm")
                || file.equals("kvm")
                || file.equals("qemu");
    }

    private static String name(List<String> words) {
        for (int i = 0; i + 1 < words.size(); i++) {
            if (words.get(i).equals("-name") || words.get(i).equals("--name")) {
                Map<String, String> values = values(words.get(i + 1), "guest");
                String wanted = values.getOrDefault("guest", "vm").replaceAll("[^A-Za-z0-9_.-]", "-");
                return wanted.isEmpty() || !Character.isLetterOrDigit(wanted.charAt(0)) ? "vm" : wanted;
            }
        }
        return "vm";
    }

    /** {@code a,b=c,,d} to a map; the first part without {@code =} is the value of {@code first}. */
    private static Map<String, String> values(String text, String first) {
        Map<String, String> values = new LinkedHashMap<>();
        StringBuilder part = new StringBuilder();
        List<String> parts = new ArrayList<>();
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) == ',') {
                if (i + 1 < text.length() && text.charAt(i + 1) == ',') {
                    i++;
                } else {
                    parts.add(part.toString());
                    part.setLength(0);
                    continue;
                }
            }
            part.append(text.charAt(i));
        }
        parts.add(part.toString());
        for (String one : parts) {
            int equals = one.indexOf('=');
            if (equals > 0) {
                values.put(one.substring(0, equals), one.substring(equals + 1));
            } else if (values.isEmpty() && !first.isEmpty()) {
                values.put(first, one);
            } else if (!one.isEmpty()) {
                // A bare word is a switch: "server" is server=on, "nowait" is wait=off.
                values.put(
                        one.startsWith("no") && one.equals("nowait") ? "wait" : one,
                        one.equals("nowait") ? "off" : "on");
            }
        }
        return values;
    }

    private void options(List<String> words) {
        for (int i = 0; i < words.size(); i++) {
            String word = words.get(i);
            if (!word.startsWith("-") || word.equals("-")) {
                hardDisk(word, "disk0", 0);
                continue;
            }
            String option = word.startsWith("--") ? word.substring(2) : word.substring(1);
            if (flag(option)) {
                continue;
            }
            if (i + 1 >= words.size()) {
                throw BenchtopException.config("qemu: option -" + option + " needs a value");
            }
            valued(option, words.get(++i));
        }
    }

    private boolean flag(String option) {
        switch (option) {
            case "enable-kvm" -> spec.accel("kvm");
            case "nographic" -> noGraphic = true;
            case "no-reboot" -> spec.onReboot(MachineSpec.OnReboot.STOP);
            case "no-acpi" -> throw unsupported("-no-acpi", "machines always have ACPI tables");
            case "snapshot" -> throw unsupported("-snapshot", "put an overlay on the drive instead");
            case "S" -> notes.add("-S: machines are made stopped; start() starts them");
            case "s" -> notes.add("-s: there is no gdb stub; use step, breakpoints and regs");
            case "daemonize" -> notes.add("-daemonize is left out");
            default -> {
                if (!IGNORED_FLAGS.contains(option)) {
                    return false;
                }
                notes.add("-" + option + " is left out");
            }
        }
        return true;
    }

    private static BenchtopException unsupported(String option, String why) {
        return BenchtopException.of(ErrorKind.UNSUPPORTED, "qemu: " + option + ": " + why);
    }

    private void valued(String option, String value) {
        switch (option) {
            case "name" -> {}
            case "M", "machine" -> machine(values(value, "type"));
            case "accel" -> accel(value.split(",", 2)[0]);
            case "cpu" -> cpu(value);
            case "m" -> memory(values(value, "size"));
            case "smp" -> smp(values(value, "cpus"));
            case "kernel" -> kernel = Optional.of(Path.of(value));
            case "initrd" -> initrd = Optional.of(Path.of(value));
            case "append" -> append = value;
            case "bios", "pflash" -> firmware = Optional.of(Path.of(value));
            case "hda" -> hardDisk(value, "hda", 0);
            case "hdb" -> hardDisk(value, "hdb", 1);
            case "hdc" -> hardDisk(value, "hdc", 2);
            case "hdd" -> hardDisk(value, "hdd", 3);
            case "cdrom" -> compactDisc(value);
            case "drive" -> drive(values(value, ""));
            case "blockdev" -> blockdev(value);
            case "device" -> device(value);
            case "object" -> object(values(value, "qom-type"));
            case "serial" -> serials.add(value);
            case "chardev" -> chardev(values(value, "backend"));
            case "debugcon" ->
                devices.add(() -> spec.device("debugcon", Map.of("chardev", chardev("debugcon", value))));
            case "netdev" -> netdev(values(value, "type"));
            case "net" -> {
                if (!value.equals("none")) {
                    throw unsupported("-net " + value, "write -netdev and -device");
                }
            }
            case "nic" -> nic(values(value, "type"));
            case "display" -> {
                if (value.startsWith("curses")) {
                    spec.display("vga-text");
                } else {
                    notes.add("-display " + value + " is left out");
                }
            }
            case "gdb" -> notes.add("-gdb: there is no gdb stub; use step, breakpoints and regs");
            case "incoming",
                    "loadvm",
                    "smbios",
                    "acpitable",
                    "fw_cfg",
                    "numa",
                    "tpmdev",
                    "fsdev",
                    "virtfs",
                    "xen-domid" -> throw unsupported("-" + option, "has no counterpart");
            default -> {
                if (!IGNORED_VALUES.contains(option)) {
                    throw BenchtopException.config("qemu: unknown option -" + option);
                }
                notes.add("-" + option + " " + value + " is left out");
            }
        }
    }

    private void machine(Map<String, String> values) {
        String type = values.getOrDefault("type", "pc");
        if (!type.equals("pc") && !type.startsWith("pc-i440fx")) {
            if (type.equals("q35") || type.startsWith("pc-q35")) {
                notes.add("machine " + type + " becomes pc (i440FX and PIIX3)");
            } else {
                throw unsupported("-machine " + type, "the only board is pc");
            }
        }
        Optional.ofNullable(values.get("accel")).ifPresent(accel -> accel(accel.split(":")[0]));
        for (String key : values.keySet()) {
            if (!Set.of("type", "accel").contains(key)) {
                notes.add("-machine " + key + "=" + values.get(key) + " is left out");
            }
        }
    }

    private void accel(String accel) {
        switch (accel) {
            case "kvm" -> spec.accel("kvm");
            case "tcg" -> spec.accel("soft");
            default -> throw unsupported("-accel " + accel, "kvm and tcg are known");
        }
    }

    private void cpu(String value) {
        String[] parts = value.split(",");
        Map<String, Boolean> features = new LinkedHashMap<>();
        for (int i = 1; i < parts.length; i++) {
            String part = parts[i];
            if (part.startsWith("+") || part.startsWith("-")) {
                features.put(part.substring(1), part.startsWith("+"));
            } else if (part.endsWith("=on") || part.endsWith("=off")) {
                features.put(part.substring(0, part.indexOf('=')), part.endsWith("=on"));
            } else {
                notes.add("-cpu " + part + " is left out");
            }
        }
        String model = parts[0];
        if (!model.equals("host") && !model.equals("max")) {
            notes.add("-cpu " + model + " becomes host");
            model = "host";
        }
        spec.cpu(new CpuModel(model, features));
    }

    private void memory(Map<String, String> values) {
        String size = values.getOrDefault("size", "128");
        String unit = size.matches("\\d+") ? "M" : "";
        OptionalLong bytes = Units.parseSize(size.toUpperCase(Locale.ROOT) + unit);
        if (bytes.isEmpty() || bytes.getAsLong() <= 0) {
            throw BenchtopException.config("qemu: -m " + size + " is not a size such as 512, 512M or 4G");
        }
        spec.memory(MemorySpec.of(bytes.getAsLong()));
        for (String key : values.keySet()) {
            if (!key.equals("size")) {
                notes.add("-m " + key + "=" + values.get(key) + " is left out");
            }
        }
    }

    private void smp(Map<String, String> values) {
        long cpus = Optional.ofNullable(values.get("cpus"))
                .map(text -> count("-smp", text))
                .orElseGet(() -> List.of("sockets", "dies", "clusters", "cores", "threads").stream()
                        .mapToLong(key -> count("-smp", values.getOrDefault(key, "1")))
                        .reduce(1, (a, b) -> a * b));
        spec.cpus(Math.toIntExact(Math.min(cpus, Integer.MAX_VALUE)));
    }

    private static long count(String option, String text) {
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) {
            throw BenchtopException.of(ErrorKind.CONFIG, "qemu: " + option + " " + text + " is not a number", e);
        }
    }

    // ---- drives

    private void hardDisk(String file, String name, int unit) {
        String id = addDrive(name, Map.of("file", file, "format", formatOf(file)));
        devices.add(() -> spec.device("ide-hd", Map.of("drive", id, "channel", unit / 2, "unit", unit % 2)));
    }

    private void compactDisc(String file) {
        String id = addDrive("cdrom", Map.of("file", file, "format", "raw", "readonly", "on"));
        devices.add(() -> spec.device("ide-cd", Map.of("drive", id, "channel", 1, "unit", 0)));
    }

    private static String formatOf(String file) {
        return file.toLowerCase(Locale.ROOT).endsWith(".qcow2") ? "qcow2" : "raw";
    }

    private void drive(Map<String, String> values) {
        String kind = values.getOrDefault("if", "ide");
        boolean compactDisc = "cdrom".equals(values.get("media"));
        if (kind.equals("pflash")) {
            if (firmware.isEmpty()) {
                firmware = Optional.of(Path.of(required("-drive if=pflash", values, "file")));
            } else {
                notes.add("-drive if=pflash: variables of the firmware (" + values.get("file") + ") are left out");
            }
            return;
        }
        required("-drive", values, "file");
        Map<String, String> options = new LinkedHashMap<>(values);
        options.putIfAbsent("format", formatOf(required("-drive", values, "file")));
        if (compactDisc) {
            options.put("readonly", "on");
        }
        String wanted = values.getOrDefault("id", kind + number);
        String id = addDrive(wanted, options);
        int unit = (int) count("-drive index", values.getOrDefault("index", Integer.toString(number++)));
        switch (kind) {
            case "none" -> {}
            case "virtio" -> devices.add(() -> spec.device("virtio-blk-pci", Map.of("drive", id)));
            case "ide" ->
                devices.add(() -> spec.device(
                        compactDisc ? "ide-cd" : "ide-hd",
                        Map.of("drive", id, "channel", unit / 2 % 2, "unit", unit % 2)));
            case "scsi" ->
                devices.add(() -> {
                    if (scsiBuses.add("scsi0")) {
                        spec.device("lsi53c895a", Map.of("id", "scsi0"));
                    }
                    spec.device(compactDisc ? "scsi-cd" : "scsi-hd", Map.of("drive", id, "bus", "scsi0"));
                });
            default -> throw unsupported("-drive if=" + kind, "none, virtio, ide, scsi and pflash are known");
        }
    }

    private static String required(String option, Map<String, String> values, String key) {
        String value = values.get(key);
        if (value == null) {
            throw BenchtopException.config("qemu: " + option + " needs " + key + "=");
        }
        return value;
    }

    private String addDrive(String wanted, Map<String, String> values) {
        String id = wanted.replaceAll("[^A-Za-z0-9_.-]", "-");
        String format = values.getOrDefault("format", "raw");
        Map<String, Object> options = new LinkedHashMap<>();
        options.put("file", values.getOrDefault("file", ""));
        if (isOn(values.get("readonly")) || isOn(values.get("read-only"))) {
            options.put("read-only", true);
        }
        cache(values.get("cache"), options);
        aio(values.get("aio"), options);
        String discard = values.get("discard");
        if (discard != null) {
            options.put("discard", discard.equals("unmap") || discard.equals("on") ? "unmap" : "ignore");
        }
        for (String key : values.keySet()) {
            if (!Set.of(
                            "file",
                            "format",
                            "readonly",
                            "read-only",
                            "cache",
                            "aio",
                            "discard",
                            "if",
                            "id",
                            "index",
                            "media",
                            "bus",
                            "unit",
                            "node-name",
                            "driver",
                            "detect-zeroes",
                            "locking")
                    .contains(key)) {
                notes.add("drive " + id + ": " + key + "=" + values.get(key) + " is left out");
            }
        }
        String type = switch (format) {
            case "raw", "file", "host_device" -> "file";
            case "qcow2", "qcow", "vdi", "vmdk", "vpc", "vhdx", "qed", "parallels", "bochs", "cloop", "dmg", "luks" ->
                format;
            default -> throw unsupported("drive format " + format, "has no counterpart");
        };
        spec.drive(id, type, options);
        nodes.put(id, values);
        return id;
    }

    private static boolean isOn(@Nullable String value) {
        return value != null && (value.equals("on") || value.equals("yes") || value.equals("true"));
    }

    private static void cache(@Nullable String cache, Map<String, Object> options) {
        if (cache != null) {
            options.put("cache", cache);
        }
    }

    private static void aio(@Nullable String aio, Map<String, Object> options) {
        if (aio != null) {
            options.put("aio", aio.equals("io_uring") ? "io-uring" : aio);
        }
    }

    private void blockdev(String text) {
        if (text.startsWith("{")) {
            throw unsupported("-blockdev with JSON", "write it as driver=…,node-name=…");
        }
        Map<String, String> values = values(text, "driver");
        String driver = required("-blockdev", values, "driver");
        String node = required("-blockdev", values, "node-name");
        switch (driver) {
            case "file", "host_device" -> {
                Map<String, String> file = new LinkedHashMap<>(values);
                file.put("file", required("-blockdev driver=" + driver, values, "filename"));
                file.remove("filename");
                file.put("format", "raw");
                direct(file);
                addDrive(node, file);
            }
            default -> {
                Map<String, String> image = new LinkedHashMap<>(values);
                image.put("format", driver);
                String inner = values.get("file");
                if (inner != null && nodes.containsKey(inner)) {
                    // A format over a file that was named before: one drive here.
                    Map<String, String> below = nodes.getOrDefault(inner, Map.of());
                    Map<String, String> joined = new LinkedHashMap<>(below);
                    joined.putAll(image);
                    joined.put("file", below.getOrDefault("file", ""));
                    replaced.add(inner);
                    image = joined;
                } else {
                    image.put("file", required("-blockdev driver=" + driver, values, "file.filename"));
                    image.remove("file.filename");
                    image.remove("file.driver");
                }
                direct(image);
                addDrive(node, image);
            }
        }
    }

    /** Nodes that another node stands on. */
    private final Set<String> replaced = new java.util.LinkedHashSet<>();

    private static void direct(Map<String, String> values) {
        @Nullable String direct = values.remove("cache.direct");
        @Nullable String noFlush = values.remove("cache.no-flush");
        if (isOn(direct)) {
            values.put("cache", "none");
        } else if (isOn(noFlush)) {
            values.put("cache", "unsafe");
        }
    }

    // ---- devices

    private void device(String text) {
        if (text.startsWith("{")) {
            throw unsupported("-device with JSON", "write it as TYPE,property=value");
        }
        Map<String, String> values = values(text, "driver");
        String driver = required("-device", values, "driver");
        String type = DEVICES.getOrDefault(driver, driver);
        if (type.equals("VGA") || type.startsWith("usb-") || type.endsWith("-usb") || type.startsWith("qemu-xhci")) {
            notes.add("-device " + driver + " is left out");
            return;
        }
        exitDevice |= type.equals("debug-exit");
        Map<String, Object> options = new LinkedHashMap<>();
        values.forEach((key, value) -> {
            if (key.equals("driver")) {
                return;
            }
            boolean disk = type.startsWith("ide-") || type.startsWith("scsi-");
            if (DROPPED_PROPERTIES.contains(key) && !(disk && (key.equals("bus") || key.equals("unit")))) {
                notes.add("-device " + driver + ": " + key + "=" + value + " is left out");
            } else if (key.equals("iosize") && type.equals("debug-exit")) {
                notes.add("-device " + driver + ": the exit port is 4 bytes wide");
            } else if (key.equals("bus") && type.startsWith("scsi-")) {
                options.put("bus", value.replaceAll("\\.0$", ""));
            } else if (key.equals("bus") && type.startsWith("ide-")) {
                place(value, options);
            } else {
                options.put(PROPERTIES.getOrDefault(key, key), plain(value));
            }
        });
        devices.add(() -> spec.device(type, options));
    }

    /** QEMU's {@code ide.1} is a channel of the board's controller, {@code ahci.3} a port of the one named ahci. */
    private static void place(String bus, Map<String, Object> options) {
        Matcher numbered = NUMBERED_BUS.matcher(bus);
        String controller = numbered.matches() ? numbered.group(1) : bus;
        if (!controller.equals("ide")) {
            options.put("bus", controller);
        }
        if (numbered.matches()) {
            options.put("channel", Integer.parseInt(numbered.group(2)));
        }
    }

    /** As YAML would read it: numbers and switches are not texts. */
    private static Object plain(String value) {
        if (value.matches("[0-9]{1,18}")) {
            return Long.parseLong(value);
        }
        return switch (value) {
            case "on", "true" -> true;
            case "off", "false" -> false;
            default -> value;
        };
    }

    private void object(Map<String, String> values) {
        String type = values.getOrDefault("qom-type", "");
        if (type.equals("iothread")) {
            spec.iothread(required("-object iothread", values, "id"));
        } else if (type.startsWith("rng-") || type.startsWith("memory-backend")) {
            notes.add("-object " + type + " is left out");
        } else {
            throw unsupported("-object " + type, "iothread is known");
        }
    }

    private void netdev(Map<String, String> values) {
        Map<String, Object> options = new LinkedHashMap<>();
        values.forEach((key, value) -> options.put(key, plain(value)));
        options.remove("type");
        options.remove("id");
        spec.netdev(required("-netdev", values, "id"), required("-netdev", values, "type"), options);
    }

    private void nic(Map<String, String> values) {
        String type = values.getOrDefault("type", "none");
        if (type.equals("none")) {
            return;
        }
        Map<String, Object> options = new LinkedHashMap<>(values);
        String model = String.valueOf(options.getOrDefault("model", "virtio-net-pci"));
        List.of("type", "id", "model", "mac").forEach(options::remove);
        String id = "net" + number++;
        spec.netdev(id, type, options);
        devices.add(() -> spec.device(DEVICES.getOrDefault(model, model), Map.of("netdev", id)));
    }

    // ---- character devices

    private void chardev(Map<String, String> values) {
        chardev(required("-chardev", values, "id"), required("-chardev", values, "backend"), values);
    }

    private void chardev(String id, String backend, Map<String, String> values) {
        Map<String, Object> options = new LinkedHashMap<>();
        switch (backend) {
            case "stdio" -> {
                if ("on".equals(values.get("signal"))) {
                    options.put("signal", true);
                }
            }
            case "file", "pipe" -> {
                options.put("path", required("-chardev file", values, "path"));
                if (isOn(values.get("append"))) {
                    options.put("append", true);
                }
            }
            case "socket", "unix", "tcp" -> {
                for (String key : List.of("path", "host", "port")) {
                    Optional.ofNullable(values.get(key)).ifPresent(value -> options.put(key, plain(value)));
                }
                options.put("server", isOn(values.getOrDefault("server", "off")));
                if (isOn(values.getOrDefault("server", "off"))) {
                    options.put("wait", isOn(values.getOrDefault("wait", "on")));
                }
            }
            case "pty", "null", "ringbuf", "memory" -> {}
            default -> throw unsupported("chardev " + backend, "has no counterpart");
        }
        String type = switch (backend) {
            case "pipe" -> "file";
            case "unix", "tcp" -> "socket";
            case "ringbuf" -> "memory";
            default -> backend;
        };
        spec.chardev(id, type, options);
    }

    /** A chardev out of the short form of {@code -serial}; its name. */
    private String chardev(String id, String text) {
        String plain = text.startsWith("mon:") ? text.substring(4) : text;
        String[] parts = plain.split(":", 2);
        switch (parts[0]) {
            case "chardev" -> {
                return parts.length > 1 ? parts[1] : "";
            }
            case "file" -> chardev(id, "file", Map.of("path", parts.length > 1 ? parts[1] : ""));
            case "unix" -> {
                Map<String, String> values = values(parts.length > 1 ? parts[1] : "", "path");
                chardev(id, "socket", values);
            }
            case "tcp", "telnet" -> {
                Map<String, String> values = values(parts.length > 1 ? parts[1] : "", "address");
                String address = values.getOrDefault("address", "");
                Map<String, String> socket = new LinkedHashMap<>(values);
                int colon = address.lastIndexOf(':');
                if (colon > 0) {
                    socket.put("host", address.substring(0, colon));
                }
                socket.put("port", address.substring(colon + 1));
                chardev(id, "socket", socket);
            }
            case "vc" -> {
                notes.add("-serial vc becomes null");
                chardev(id, "null", Map.of());
            }
            default -> chardev(id, parts[0], Map.of());
        }
        return id;
    }

    private MachineSpec build() {
        if (serials.isEmpty() && noGraphic) {
            serials.add("stdio");
        }
        for (int i = 0; i < serials.size(); i++) {
            if (!serials.get(i).equals("none")) {
                String chardev = chardev("serial" + i, serials.get(i));
                spec.device("isa-serial", i == 0 ? Map.of("chardev", chardev) : Map.of("chardev", chardev, "index", i));
            }
        }
        devices.forEach(Runnable::run);
        boot();
        MachineSpec made = spec.build();
        if (replaced.isEmpty()) {
            return made;
        }
        Map<String, org.benchtop.engine.config.EntrySpec> drives = new LinkedHashMap<>(made.drives());
        drives.keySet().removeAll(replaced);
        return new MachineSpec(
                made.name(),
                made.machine(),
                made.accel(),
                made.cpus(),
                made.cpu(),
                made.memory(),
                made.boot(),
                made.iothreads(),
                drives,
                made.chardevs(),
                made.netdevs(),
                made.display(),
                made.devices(),
                made.plugins(),
                made.onReboot(),
                made.onPanic(),
                made.baseDir(),
                made.sources());
    }

    private void boot() {
        if (kernel.isPresent()) {
            spec.boot(new BootSpec.Kernel(kernel.get(), initrd, append, BootSpec.Protocol.AUTO));
            return;
        }
        if (initrd.isPresent() || !append.isEmpty()) {
            throw BenchtopException.config("qemu: -initrd and -append need -kernel");
        }
        spec.firmware(firmware.orElseGet(() -> {
            notes.add("no -kernel and no -bios: the guest starts from SeaBIOS (" + SEABIOS + ")");
            return SEABIOS;
        }));
    }

    private static final Path SEABIOS = Path.of("/usr/share/seabios/bios-256k.bin");
}
