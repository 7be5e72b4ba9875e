package org.benchtop.shell;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.MachineYaml;
import org.benchtop.engine.config.Problems;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options that change a machine's YAML. */
final class MachineFile {
    @Option(names = "--accel", paramLabel = "ENGINE", description = "Use this CPU engine: auto, kvm, …")
    @Nullable
    String accel;

    @Option(
            names = "--set",
            paramLabel = "PATH=VALUE",
            description = "Change a value, such as devices[0].cache=none, drives.disk0.aio=threads or cpus=2.")
    List<String> settings = new ArrayList<>();

    private MachineYaml yaml(Path file) {
        MachineYaml yaml = MachineYaml.load(file);
        if (accel != null) {
            yaml = yaml.set("accel=" + accel);
        }
        for (String setting : settings) {
            yaml = yaml.set(setting);
        }
        return yaml;
    }

    /** The machine; the first mistake is thrown. */
    MachineSpec spec(Path file) {
        return yaml(file).spec();
    }

    /** The machine; empty after adding all mistakes. */
    Optional<MachineSpec> spec(Path file, Problems problems) {
        return yaml(file).spec(problems);
    }
}
