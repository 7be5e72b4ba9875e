package org.benchtop.engine.plugin;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.benchtop.engine.config.BootSpec;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.MemorySpec;
import org.benchtop.engine.config.OptionField;
import org.benchtop.engine.config.OptionType;
import org.benchtop.engine.config.OptionsShape;

/** The JSON Schema (2020-12) of a machine's YAML with the options of all loaded types, for editors. */
public final class MachineSchema {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
    private static final String VARIABLE = "\\$\\{[^}]+\\}";
    private static final String SIZE =
            "^ *[0-9][0-9_.]* ?([kKmMgGtTpPeE]([iI]?[bB])?|[bB])? *$|^0x[0-9a-fA-F]+$|" + VARIABLE;
    private static final String DURATION = "^ *[0-9][0-9.]* ?(ns|us|µs|ms|s|m|min|h|d) *$|^0$|" + VARIABLE;
    private static final String NUMBER = "^[+-]?(0x[0-9a-fA-F]+|[0-9][0-9_]*)$|" + VARIABLE;
    private static final String NAME = "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$";

    /** The device that the key {@code xen} stands for. */
    private static final String XEN_PLATFORM = "xen-platform";

    private final PluginRegistry registry;

    private MachineSchema(PluginRegistry registry) {
        this.registry = registry;
    }

    /** The schema as indented JSON. */
    public static String write(PluginRegistry registry) {
        try {
            return new ObjectMapper()
                    .writerWithDefaultPrettyPrinter()
                    .writeValueAsString(new MachineSchema(registry).root());
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a JSON tree cannot be written", e);
        }
    }

    private ObjectNode root() {
        ObjectNode root = JSON.objectNode();
        root.put("$schema", "https://json-schema.org/draft/2020-12/schema");
        root.put("title", "Benchtop machine");
        root.put("type", "object");
        root.put("additionalProperties", false);
        root.putArray("required").add("boot");
        ObjectNode properties = root.putObject("properties");
        for (OptionField field : MachineSpec.plainOptions()) {
            properties.set(field.name(), option(field));
        }
        ((ObjectNode) properties.get("machine")).set("enum", names(registry.names(TypeKind.MACHINE)));
        properties.set("accel", accel());
        properties.set("cpu", cpu());
        properties.set("memory", memory());
        properties.set("boot", boot());
        properties.set("drives", section("block backends by name", "drive"));
        properties.set("chardevs", section("character backends by name", "chardev"));
        properties.set("netdevs", section("network backends by name", "netdev"));
        properties.set("display", display());
        ObjectNode devices = described(JSON.objectNode(), "what is plugged in, in order");
        devices.put("type", "array").set("items", reference("device"));
        properties.set("devices", devices);
        for (TypeDescription type : registry.describeAll()) {
            if (type.kind() == TypeKind.DEVICE && type.name().equals(XEN_PLATFORM)) {
                properties.set("xen", described(options(type.options()), type.summary()));
            }
        }
        ObjectNode definitions = root.putObject("$defs");
        definitions.set("drive", entry(TypeKind.DRIVE, false));
        definitions.set("chardev", entry(TypeKind.CHARDEV, false));
        definitions.set("netdev", entry(TypeKind.NETDEV, false));
        definitions.set("device", entry(TypeKind.DEVICE, true));
        return root;
    }

    private static ObjectNode described(ObjectNode node, String description) {
        return description.isEmpty() ? node : node.put("description", description);
    }

    private static ArrayNode names(List<String> names) {
        ArrayNode array = JSON.arrayNode();
        names.forEach(array::add);
        return array;
    }

    private static ObjectNode reference(String definition) {
        return JSON.objectNode().put("$ref", "#/$defs/" + definition);
    }

    private static ObjectNode section(String description, String definition) {
        ObjectNode section = described(JSON.objectNode(), description).put("type", "object");
        section.putObject("propertyNames").put("pattern", NAME);
        section.set("additionalProperties", reference(definition));
        return section;
    }

    private ObjectNode entry(TypeKind kind, boolean withId) {
        ObjectNode entry = JSON.objectNode();
        ArrayNode choices = entry.putArray("oneOf");
        if (!registry.names(kind).isEmpty()) {
            choices.addObject().set("enum", names(registry.names(kind)));
        }
        for (TypeDescription type : registry.describeAll()) {
            if (type.kind() == kind) {
                choices.add(type(type, withId));
            }
        }
        if (choices.isEmpty()) {
            entry.removeAll();
            entry.put("not", true);
            return entry;
        }
        return entry;
    }

    private static ObjectNode type(TypeDescription type, boolean withId) {
        ObjectNode node = options(type.options());
        node.put("title", type.name());
        described(node, type.summary());
        ObjectNode name = ((ObjectNode) node.get("properties")).putObject("type");
        if (type.name().equals("null")) {
            // Unquoted, an editor takes it for YAML's word for nothing.
            name.putArray("enum").add(type.name()).addNull();
        } else {
            name.put("const", type.name());
        }
        if (withId) {
            ObjectNode id = ((ObjectNode) node.get("properties")).putObject("id");
            described(id, "name of this entry").put("type", "string").put("pattern", NAME);
        }
        ArrayNode required = node.withArray("required");
        required.insert(0, "type");
        return node;
    }

    private static ObjectNode options(List<OptionField> fields) {
        ObjectNode node = JSON.objectNode().put("type", "object").put("additionalProperties", false);
        ObjectNode properties = node.putObject("properties");
        ArrayNode required = JSON.arrayNode();
        for (OptionField field : fields) {
            properties.set(field.name(), option(field));
            if (field.required()) {
                required.add(field.name());
            }
        }
        if (!required.isEmpty()) {
            node.set("required", required);
        }
        return node;
    }

    private static ObjectNode option(OptionField field) {
        ObjectNode node = value(field.type());
        described(node, field.doc());
        field.defaultText()
                .filter(text -> !text.startsWith("[") && !text.startsWith("{"))
                .ifPresent(text -> node.put("default", text));
        return node;
    }

    private static ObjectNode value(OptionType type) {
        ObjectNode node = JSON.objectNode();
        switch (type) {
            case OptionType.Flag flag ->
                node.putArray("enum")
                        .add(true)
                        .add(false)
                        .add("on")
                        .add("off")
                        .add("yes")
                        .add("no");
            case OptionType.Whole whole -> {
                ArrayNode forms = node.putArray("anyOf");
                ObjectNode number = forms.addObject().put("type", "integer");
                if (whole.min() != Long.MIN_VALUE) {
                    number.put("minimum", whole.min());
                }
                if (whole.max() != Long.MAX_VALUE) {
                    number.put("maximum", whole.max());
                }
                forms.addObject()
                        .put("type", "string")
                        .put(
                                "pattern",
                                switch (whole.unit()) {
                                    case NONE -> NUMBER;
                                    case BYTES -> SIZE;
                                    case NANOSECONDS -> DURATION;
                                });
            }
            case OptionType.Real real -> {
                ArrayNode forms = node.putArray("anyOf");
                ObjectNode number = forms.addObject().put("type", "number");
                if (Double.isFinite(real.min())) {
                    number.put("minimum", real.min());
                }
                if (Double.isFinite(real.max())) {
                    number.put("maximum", real.max());
                }
                forms.addObject().put("type", "string").put("pattern", VARIABLE);
            }
            case OptionType.Text text ->
                node.putArray("type").add("string").add("number").add("boolean");
            case OptionType.FilePath filePath -> node.put("type", "string");
            case OptionType.Time time -> node.putArray("type").add("string").add("integer");
            case OptionType.Choice choice -> {
                ArrayNode allowed = node.putArray("enum");
                choice.constants().keySet().forEach(allowed::add);
                if (choice.constants().containsKey("on") && choice.constants().containsKey("off")) {
                    allowed.add(true).add(false);
                }
            }
            case OptionType.Nested nested -> node.setAll(options(nested.shape().fields()));
            case OptionType.ListOf list -> node.put("type", "array").set("items", value(list.item()));
            case OptionType.MapOf map -> node.put("type", "object").set("additionalProperties", value(map.value()));
            case OptionType.Maybe maybe -> node.setAll(value(maybe.value()));
        }
        return node;
    }

    private ObjectNode accel() {
        ObjectNode accel = described(JSON.objectNode(), "CPU engine; auto takes the best usable one");
        accel.put("default", "auto");
        ArrayNode forms = accel.putArray("oneOf");
        ArrayNode engines = forms.addObject().putArray("enum");
        engines.add("auto");
        registry.names(TypeKind.CPU_ENGINE).forEach(engines::add);
        for (TypeDescription type : registry.describeAll()) {
            if (type.kind() == TypeKind.CPU_ENGINE) {
                forms.add(type(type, false));
            }
        }
        return accel;
    }

    private static ObjectNode display() {
        ObjectNode display = described(JSON.objectNode(), "what shows the guest's screen");
        display.put("default", MachineSpec.NO_DISPLAY);
        ArrayNode forms = display.putArray("anyOf");
        forms.addObject().put("const", MachineSpec.NO_DISPLAY);
        forms.add(reference("device"));
        return display;
    }

    private static ObjectNode cpu() {
        ObjectNode cpu = described(JSON.objectNode(), "what CPU the guest sees");
        ArrayNode forms = cpu.putArray("oneOf");
        forms.addObject().put("type", "string");
        ObjectNode map = forms.addObject().put("type", "object").put("additionalProperties", false);
        ObjectNode properties = map.putObject("properties");
        described(properties.putObject("model"), "host, max or a model of the CPU engine")
                .put("type", "string")
                .put("default", "host");
        ObjectNode features = described(properties.putObject("features"), "features forced on or off");
        ArrayNode kinds = features.putArray("anyOf");
        kinds.addObject().put("type", "string");
        kinds.addObject()
                .put("type", "array")
                .putObject("items")
                .put("type", "string")
                .put("pattern", "^[+-].+$");
        kinds.addObject().put("type", "object").set("additionalProperties", value(new OptionType.Flag()));
        return cpu;
    }

    private static ObjectNode memory() {
        List<OptionField> fields = OptionsShape.of(MemorySpec.class).fields();
        ObjectNode memory = described(JSON.objectNode(), "RAM");
        ArrayNode forms = memory.putArray("oneOf");
        forms.add(value(fields.getFirst().type()));
        forms.add(options(fields));
        return memory;
    }

    private ObjectNode boot() {
        ObjectNode boot = described(JSON.objectNode(), "what the machine starts with");
        ArrayNode forms = boot.putArray("oneOf");
        forms.addObject().put("const", "none");
        for (Class<? extends Record> form :
                List.of(BootSpec.Guest.class, BootSpec.Kernel.class, BootSpec.Firmware.class, BootSpec.Flat.class)) {
            forms.add(options(OptionsShape.of(form).fields()));
        }
        for (TypeDescription type : registry.describeAll()) {
            if (type.kind() == TypeKind.BOOT_SOURCE) {
                ObjectNode form = JSON.objectNode().put("type", "object").put("additionalProperties", false);
                form.putArray("required").add(type.name());
                ObjectNode source = options(type.options());
                form.putObject("properties").set(type.name(), described(source, type.summary()));
                forms.add(form);
            }
        }
        return boot;
    }
}
