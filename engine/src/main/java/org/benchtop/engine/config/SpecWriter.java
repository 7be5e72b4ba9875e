package org.benchtop.engine.config;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.benchtop.spi.cpu.CpuModel;

/** Writes a {@link MachineSpec} as YAML, leaving out what is default. */
final class SpecWriter {
    private SpecWriter() {}

    static String write(MachineSpec spec) {
        Map<String, Object> root = new LinkedHashMap<>();
        root.put("name", spec.name());
        root.put("machine", spec.machine());
        root.put(
                "accel",
                spec.accel().options().members().isEmpty() ? spec.accel().type() : entry(spec.accel()));
        root.put("cpus", spec.cpus());
        if (!spec.cpu().equals(CpuModel.HOST)) {
            root.put("cpu", cpu(spec.cpu()));
        }
        root.put("memory", memory(spec.memory()));
        root.put("boot", boot(spec.boot(), spec.baseDir()));
        if (!spec.iothreads().isEmpty()) {
            root.put("iothreads", spec.iothreads());
        }
        section(root, "drives", spec.drives());
        section(root, "chardevs", spec.chardevs());
        section(root, "netdevs", spec.netdevs());
        if (!spec.display().type().equals(MachineSpec.NO_DISPLAY)) {
            root.put(
                    "display",
                    spec.display().options().members().isEmpty()
                            ? spec.display().type()
                            : entry(spec.display()));
        }
        if (!spec.devices().isEmpty()) {
            root.put("devices", spec.devices().stream().map(SpecWriter::entry).toList());
        }
        if (!spec.plugins().isEmpty()) {
            List<String> jars = new ArrayList<>();
            spec.plugins().forEach(jar -> jars.add(relative(jar, spec.baseDir())));
            root.put("plugins", jars);
        }
        if (spec.onReboot() != MachineSpec.OnReboot.RESTART) {
            root.put("on-reboot", spec.onReboot());
        }
        if (spec.onPanic() != MachineSpec.OnPanic.STOP) {
            root.put("on-panic", spec.onPanic());
        }
        return YamlWriter.write((ConfigValue.Mapping) ConfigValue.of(root, ""));
    }

    private static ConfigValue size(long sizeBytes) {
        return new ConfigValue.Scalar(Units.formatSize(sizeBytes), false, SourcePosition.NONE, "");
    }

    private static Object memory(MemorySpec memory) {
        if (!memory.hugePages() && !memory.shared()) {
            return size(memory.sizeBytes());
        }
        Map<String, Object> options = new LinkedHashMap<>();
        options.put("size", size(memory.sizeBytes()));
        if (memory.hugePages()) {
            options.put("huge-pages", true);
        }
        if (memory.shared()) {
            options.put("shared", true);
        }
        return options;
    }

    private static Object cpu(CpuModel cpu) {
        Map<String, Object> options = new LinkedHashMap<>();
        options.put("model", cpu.name());
        if (!cpu.features().isEmpty()) {
            options.put("features", new java.util.TreeMap<>(cpu.features()));
        }
        return options;
    }

    private static Object boot(BootSpec boot, Path baseDir) {
        Map<String, Object> options = new LinkedHashMap<>();
        switch (boot) {
            case BootSpec.None nothing -> {
                return "none";
            }
            case BootSpec.Guest guest -> {
                options.put("guest", guest.program());
                if (!guest.cmdline().isEmpty()) {
                    options.put("cmdline", guest.cmdline());
                }
            }
            case BootSpec.Kernel kernel -> {
                options.put("kernel", relative(kernel.kernel(), baseDir));
                kernel.initrd().ifPresent(initrd -> options.put("initrd", relative(initrd, baseDir)));
                if (!kernel.cmdline().isEmpty()) {
                    options.put("cmdline", kernel.cmdline());
                }
                if (kernel.protocol() != BootSpec.Protocol.AUTO) {
                    options.put("protocol", kernel.protocol());
                }
            }
            case BootSpec.Firmware firmware -> options.put("firmware", relative(firmware.firmware(), baseDir));
            case BootSpec.Source source ->
                options.put(source.source().type(), source.source().options());
            case BootSpec.Flat flat -> {
                options.put("flat", relative(flat.flat(), baseDir));
                options.put("load", hex(flat.load()));
                flat.entry().ifPresent(entry -> options.put("entry", hex(entry)));
                options.put("mode", flat.mode());
            }
        }
        return options;
    }

    private static ConfigValue hex(long value) {
        return new ConfigValue.Scalar("0x" + Long.toHexString(value), false, SourcePosition.NONE, "");
    }

    private static String relative(Path path, Path baseDir) {
        return path.isAbsolute() && path.startsWith(baseDir) && !path.equals(baseDir)
                ? baseDir.relativize(path).toString()
                : path.toString();
    }

    private static void section(Map<String, Object> root, String key, Map<String, EntrySpec> entries) {
        if (!entries.isEmpty()) {
            Map<String, Object> values = new LinkedHashMap<>();
            entries.forEach((name, entry) -> values.put(name, entry(entry)));
            root.put(key, values);
        }
    }

    private static Map<String, Object> entry(EntrySpec entry) {
        Map<String, Object> options = new LinkedHashMap<>();
        options.put("type", entry.type());
        entry.id().ifPresent(id -> options.put("id", id));
        entry.options().members().forEach((name, member) -> options.put(name, member.value()));
        return options;
    }
}
