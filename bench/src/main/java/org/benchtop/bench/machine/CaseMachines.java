package org.benchtop.bench.machine;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.engine.config.ConfigDocument;
import org.benchtop.engine.config.ConfigValue;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.SourcePosition;

/**
 * The machines of a case: what the experiment says, booted into the job's guest program, with a console that is kept in
 * memory.
 */
final class CaseMachines {
    /** The chardev that takes the guest's console. */
    static final String CONSOLE = "bench-console";

    private static final String SERIAL = "isa-serial";

    private CaseMachines() {}

    /**
     * One machine.
     *
     * @param guest its number, from 0
     */
    static MachineSpec spec(CaseSpec spec, int guest, Path scratch, String commandLine) {
        Map<String, String> variables = Map.of("${guest}", Integer.toString(guest), "${scratch}", scratch.toString());
        ConfigValue.Mapping root = (ConfigValue.Mapping) filled(spec.vm(), variables);
        root = root.without("boot", "name", "chardevs", "on-reboot", "on-panic");
        root = put(root, "name", Map.of("name", "bench-" + guest));
        root = put(root, "boot", Map.of("boot", Map.of("guest", spec.job().guest(), "cmdline", commandLine)));
        root = put(root, "chardevs", Map.of("chardevs", Map.of(CONSOLE, Map.of("type", "memory"))));
        root = put(root, "on-reboot", Map.of("on-reboot", "stop"));
        root = put(root, "on-panic", Map.of("on-panic", "stop"));
        root = withConsole(root);
        return ConfigDocument.machine(root, spec.folder(), "bench-" + guest).spec();
    }

    private static ConfigValue.Mapping put(ConfigValue.Mapping root, String key, Map<String, ?> single) {
        ConfigValue.Mapping made = (ConfigValue.Mapping) ConfigValue.of(single, "");
        return root.with(key, SourcePosition.NONE, made.find(key).orElseThrow());
    }

    /** Serial ports lead to the kept console; without any, one is added. */
    private static ConfigValue.Mapping withConsole(ConfigValue.Mapping root) {
        List<ConfigValue> devices = new ArrayList<>();
        boolean found = false;
        ConfigValue written =
                root.find("devices").orElse(new ConfigValue.Sequence(List.of(), SourcePosition.NONE, "devices"));
        if (!(written instanceof ConfigValue.Sequence sequence)) {
            return root;
        }
        for (ConfigValue device : sequence.items()) {
            boolean serial = device instanceof ConfigValue.Mapping mapping
                    && mapping.find("type")
                            .filter(type -> type instanceof ConfigValue.Scalar scalar
                                    && scalar.text().equals(SERIAL))
                            .isPresent();
            if (!serial) {
                devices.add(device);
            } else if (!found) {
                found = true;
                devices.add(((ConfigValue.Mapping) device)
                        .with("chardev", device.position(), ConfigValue.of(CONSOLE, device.path() + ".chardev")));
            } else {
                devices.add(((ConfigValue.Mapping) device).without("chardev"));
            }
        }
        if (!found) {
            devices.add(ConfigValue.of(Map.of("type", SERIAL, "chardev", CONSOLE), "devices[" + devices.size() + "]"));
        }
        return root.with(
                "devices", written.position(), new ConfigValue.Sequence(devices, written.position(), "devices"));
    }

    private static ConfigValue filled(ConfigValue value, Map<String, String> variables) {
        return switch (value) {
            case ConfigValue.Scalar scalar -> {
                String text = scalar.text();
                for (Map.Entry<String, String> variable : variables.entrySet()) {
                    text = text.replace(variable.getKey(), variable.getValue());
                }
                yield new ConfigValue.Scalar(text, scalar.quoted(), scalar.position(), scalar.path());
            }
            case ConfigValue.Sequence sequence ->
                new ConfigValue.Sequence(
                        sequence.items().stream()
                                .map(item -> filled(item, variables))
                                .toList(),
                        sequence.position(),
                        sequence.path());
            case ConfigValue.Mapping mapping -> {
                Map<String, ConfigValue.Member> members = new LinkedHashMap<>();
                mapping.members()
                        .forEach((name, member) -> members.put(
                                name, new ConfigValue.Member(member.keyPosition(), filled(member.value(), variables))));
                yield new ConfigValue.Mapping(members, mapping.position(), mapping.path());
            }
        };
    }
}
