package org.benchtop.shell.lab;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineExit;
import org.benchtop.engine.MachineState;
import org.benchtop.engine.config.ConfigValue;
import org.benchtop.engine.config.EntrySpec;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.Units;

/**
 * What a machine is: its parts and how they are joined. Also for machines that are closed.
 *
 * @param accelerator the CPU engine and what its probe found
 * @param boot how the guest is started
 * @param exit how it has ended, if it has
 * @param devices those of the specification, in order
 * @param backends drives, chardevs, netdevs and iothreads, in order
 */
public record VmSummary(
        String name,
        MachineState state,
        String accelerator,
        String board,
        int cpus,
        long memoryBytes,
        String boot,
        Optional<MachineExit> exit,
        List<Part> devices,
        List<Part> backends) {
    private static final List<String> REFERENCES = List.of("drive", "chardev", "netdev", "iothread");

    public VmSummary {
        devices = List.copyOf(devices);
        backends = List.copyOf(backends);
    }

    /**
     * A device or backend.
     *
     * @param kind {@code device}, {@code drive}, {@code chardev}, {@code netdev} or {@code iothread}
     * @param options as written, without references
     * @param references names of parts that it uses: kind to name
     */
    public record Part(
            String kind, String name, String type, Map<String, String> options, Map<String, String> references) {
        public Part {
            options = java.util.Collections.unmodifiableMap(new LinkedHashMap<>(options));
            references = java.util.Collections.unmodifiableMap(new LinkedHashMap<>(references));
        }
    }

    static VmSummary of(Machine machine) {
        MachineSpec spec = machine.spec();
        List<Part> devices = new ArrayList<>();
        List<String> ids = spec.deviceIds();
        for (int i = 0; i < ids.size(); i++) {
            devices.add(part("device", ids.get(i), spec.devices().get(i)));
        }
        List<Part> backends = new ArrayList<>();
        spec.drives().forEach((name, entry) -> backends.add(part("drive", name, entry)));
        spec.chardevs().forEach((name, entry) -> backends.add(part("chardev", name, entry)));
        spec.netdevs().forEach((name, entry) -> backends.add(part("netdev", name, entry)));
        spec.iothreads().forEach(name -> backends.add(new Part("iothread", name, "", Map.of(), Map.of())));
        return new VmSummary(
                machine.name(),
                machine.state(),
                machine.accelerator(),
                spec.machine(),
                spec.cpus(),
                spec.memory().sizeBytes(),
                machine.bootDescription(),
                machine.exit(),
                devices,
                backends);
    }

    private static Part part(String kind, String name, EntrySpec entry) {
        Map<String, String> options = new LinkedHashMap<>();
        Map<String, String> references = new LinkedHashMap<>();
        entry.options().members().forEach((key, member) -> {
            String text = text(member.value());
            (REFERENCES.contains(key) ? references : options).put(key, text);
        });
        return new Part(kind, name, entry.type(), options, references);
    }

    private static String text(ConfigValue value) {
        return switch (value) {
            case ConfigValue.Scalar scalar -> scalar.text();
            case ConfigValue.Sequence sequence ->
                "["
                        + String.join(
                                ", ",
                                sequence.items().stream().map(VmSummary::text).toList()) + "]";
            case ConfigValue.Mapping mapping ->
                "{"
                        + String.join(
                                ", ",
                                mapping.members().entrySet().stream()
                                        .map(e -> e.getKey() + ": "
                                                + text(e.getValue().value()))
                                        .toList())
                        + "}";
        };
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        text.append(String.format(
                Locale.ROOT,
                "%s: %s%s%n",
                name,
                state.name().toLowerCase(Locale.ROOT),
                exit.map(e -> " (" + e.describe() + ")").orElse("")));
        TextColumns table = new TextColumns("ll");
        table.row("CPU", cpus + " × " + accelerator);
        table.row("memory", Units.formatSize(memoryBytes));
        table.row("board", board);
        table.row("boot", boot);
        for (Part part : devices) {
            table.row("device", line(part));
        }
        for (Part part : backends) {
            table.row(part.kind(), line(part));
        }
        return text.append(table.render("  ")).toString().stripTrailing();
    }

    private static String line(Part part) {
        StringBuilder line = new StringBuilder(part.name());
        if (!part.type().isEmpty() && !part.name().startsWith(part.type())) {
            line.append(": ").append(part.type());
        }
        part.options()
                .forEach(
                        (key, value) -> line.append(' ').append(key).append('=').append(value));
        part.references()
                .forEach((kind, name) ->
                        line.append(" -> ").append(kind).append(' ').append(name));
        return line.toString();
    }
}
