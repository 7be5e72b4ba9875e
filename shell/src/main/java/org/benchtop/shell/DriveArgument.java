package org.benchtop.shell;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.benchtop.engine.DriveSet;
import org.benchtop.engine.config.EntrySpec;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.MachineYaml;
import org.benchtop.engine.config.OptionField;
import org.benchtop.engine.config.OptionsShape;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.engine.plugin.SpecCheck;
import org.benchtop.spi.BenchtopException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** How a drive on the command line is opened: a file by its type, or a name in a machine's YAML. */
final class DriveArgument {
    private static final List<String> PLACES = List.of("file", "url", "uri", "device");
    private static final String RAW = "raw";

    @Option(
            names = {"-f", "--format"},
            paramLabel = "TYPE",
            defaultValue = RAW,
            description = "raw, or any drive type (see benchtop plugins list); it is never guessed. Default: raw.")
    String format = RAW;

    @Option(
            names = "-o",
            paramLabel = "KEY=VALUE",
            description = "An option of the drive type, such as cache=none or aio=threads.")
    Map<String, String> options = new LinkedHashMap<>();

    @Option(
            names = "--vm",
            paramLabel = "VM.yaml",
            description = "Take the drive, and what it stands on, from a machine.")
    @Nullable
    Path vm;

    /** The machine's plugins, if there is one. */
    List<Path> plugins() {
        return vm == null ? List.of() : MachineYaml.load(vm).spec().plugins();
    }

    /** The drives that {@link #name} is one of; nothing is open yet. */
    DriveSet drives(String file, PluginRegistry registry, boolean readOnly) {
        if (vm != null) {
            if (!options.isEmpty() || !format.equals(RAW)) {
                throw BenchtopException.config("-f and -o do not go with --vm: the YAML has them");
            }
            MachineSpec spec = MachineYaml.load(vm).spec();
            SpecCheck.check(spec, registry);
            return DriveSet.of(spec, registry);
        }
        String type = format.equals(RAW) ? "file" : format;
        List<String> names =
                OptionsShape.of(registry.drive(EntrySpec.of(type, Map.of())).optionsType()).fields().stream()
                        .map(OptionField::name)
                        .toList();
        Map<String, Object> all = new LinkedHashMap<>(options);
        String place = PLACES.stream()
                .filter(names::contains)
                .findFirst()
                .orElseThrow(() -> BenchtopException.config(
                        "a drive of type " + type + " is no single file: describe it in YAML and use --vm"));
        all.put(place, file);
        if (readOnly && names.contains("read-only")) {
            all.putIfAbsent("read-only", "on");
        }
        return DriveSet.of(
                name(file), EntrySpec.of(type, all), registry, Path.of("").toAbsolutePath());
    }

    /** What the drive is called in its set. */
    String name(String file) {
        return vm == null ? "drive" : file;
    }
}
