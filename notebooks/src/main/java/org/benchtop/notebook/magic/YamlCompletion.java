package org.benchtop.notebook.magic;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.OptionField;
import org.benchtop.engine.config.OptionType;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.engine.plugin.TypeDescription;
import org.benchtop.engine.plugin.TypeKind;
import org.benchtop.notebook.kernel.Magic;
import org.benchtop.spi.guest.GuestProgramType;

/**
 * Completes a machine's YAML while it is being typed, so that it need not be valid yet: keys, types, the options of types
 * and their values, and names that the document defines.
 */
final class YamlCompletion {
    private static final Map<String, TypeKind> SECTIONS = new TreeMap<>(Map.of(
            "drives", TypeKind.DRIVE,
            "chardevs", TypeKind.CHARDEV,
            "netdevs", TypeKind.NETDEV,
            "devices", TypeKind.DEVICE));
    private static final Map<String, String> REFERENCES =
            Map.of("drive", "drives", "chardev", "chardevs", "netdev", "netdevs", "iothread", "iothreads");
    private static final List<String> BOOT_KEYS =
            List.of("cmdline", "entry", "firmware", "flat", "guest", "initrd", "kernel", "mode", "protocol");
    private static final Pattern WORD = Pattern.compile("[\\w.-]*$");
    private static final Pattern TOP_KEY = Pattern.compile("^([a-z]+)[ \\t]*:");
    private static final Pattern KEY_BEFORE = Pattern.compile("([\\w.-]+)[ \\t]*:[ \\t]*[\"']?$");
    private static final Pattern TYPE = Pattern.compile("\\btype[ \\t]*:[ \\t]*[\"']?([\\w.-]+)");
    private static final Pattern ENTRY_NAME = Pattern.compile("^[ \\t]+([\\w.-]+)[ \\t]*:");

    private final Supplier<PluginRegistry> registry;

    YamlCompletion(Supplier<PluginRegistry> registry) {
        this.registry = registry;
    }

    /** What could stand at a position of a text. */
    Optional<Magic.Completions> complete(String text, int cursor) {
        String before = text.substring(0, cursor);
        Matcher word = WORD.matcher(before);
        int start = word.find() ? word.start() : cursor;
        String typed = before.substring(start);
        List<String> matches = candidates(text, before.substring(0, start)).stream()
                .filter(candidate -> candidate.startsWith(typed))
                .toList();
        return Optional.of(new Magic.Completions(start, matches));
    }

    private Collection<String> candidates(String text, String before) {
        String line = before.substring(before.lastIndexOf('\n') + 1);
        Optional<String> key = match(KEY_BEFORE, line);
        Optional<String> section = section(before);
        if (line.isBlank() && line.isEmpty()) {
            return keys(
                    MachineSpec.plainOptions().stream().map(OptionField::name).toList(), topKeys());
        }
        if (section.isEmpty()) {
            return List.of();
        }
        boolean atTop = TOP_KEY.matcher(line).find();
        if (atTop && key.filter(section.get()::equals).isPresent()) {
            return values(section.get(), text);
        }
        TypeKind kind = SECTIONS.get(section.get());
        if (kind != null) {
            return entry(text, before, kind, key);
        }
        if (section.get().equals("boot")) {
            return key.isEmpty() || key.get().equals("boot")
                    ? keys(BOOT_KEYS)
                    : key.get().equals("guest") ? guests() : List.of();
        }
        if (section.get().equals("accel")) {
            return key.filter("type"::equals).isPresent() ? values("accel", text) : List.of("type: ", "icount: ");
        }
        return List.of();
    }

    private static Optional<String> match(Pattern pattern, String text) {
        Matcher matcher = pattern.matcher(text);
        return matcher.find() ? Optional.of(matcher.group(1)) : Optional.empty();
    }

    /** The top-level key that rules over the end of a text. */
    private static Optional<String> section(String before) {
        Optional<String> found = Optional.empty();
        for (String line : before.split("\n", -1)) {
            found = match(TOP_KEY, line).or(List.of(found)::getFirst);
        }
        return found;
    }

    private static List<String> topKeys() {
        return List.of(
                "accel", "boot", "chardevs", "cpu", "devices", "drives", "iothreads", "memory", "netdevs", "xen");
    }

    @SafeVarargs
    private static Collection<String> keys(List<String>... names) {
        TreeSet<String> keys = new TreeSet<>();
        for (List<String> some : names) {
            some.forEach(name -> keys.add(name + ": "));
        }
        return keys;
    }

    private Collection<String> values(String topKey, String text) {
        return switch (topKey) {
            case "accel" -> {
                List<String> engines = new ArrayList<>(List.of("auto"));
                engines.addAll(registry.get().names(TypeKind.CPU_ENGINE));
                yield engines;
            }
            case "machine" -> registry.get().names(TypeKind.MACHINE);
            default ->
                MachineSpec.plainOptions().stream()
                        .filter(field -> field.name().equals(topKey))
                        .findFirst()
                        .map(field -> values(field, text))
                        .orElse(List.of());
        };
    }

    private List<String> guests() {
        return registry.get().guestPrograms().stream()
                .map(GuestProgramType::name)
                .toList();
    }

    private Collection<String> entry(String text, String before, TypeKind kind, Optional<String> key) {
        if (key.filter("type"::equals).isPresent()) {
            return registry.get().names(kind);
        }
        String written = entryText(text, before.length());
        List<OptionField> options = match(TYPE, written)
                .flatMap(type -> registry.get().describeAll().stream()
                        .filter(one -> one.kind() == kind && one.name().equals(type))
                        .findFirst())
                .map(TypeDescription::options)
                .orElse(List.of());
        if (key.isPresent()) {
            return options.stream()
                    .filter(option -> option.name().equals(key.get()))
                    .findFirst()
                    .map(option -> values(option, text))
                    .orElse(List.of());
        }
        List<String> names = new ArrayList<>();
        if (!TYPE.matcher(written).find()) {
            names.add("type");
        } else if (kind == TypeKind.DEVICE) {
            names.add("id");
        }
        options.stream()
                .map(OptionField::name)
                .filter(name -> !Pattern.compile("\\b" + Pattern.quote(name) + "[ \\t]*:")
                        .matcher(written)
                        .find())
                .forEach(names::add);
        return keys(names);
    }

    /** The text of the list item or map entry around a position, whether in braces or indented. */
    private static String entryText(String text, int at) {
        int lineStart = text.lastIndexOf('\n', at - 1) + 1;
        int lineEnd = text.indexOf('\n', at);
        String line = text.substring(lineStart, lineEnd < 0 ? text.length() : lineEnd);
        int open = line.indexOf('{');
        if (open >= 0 && lineStart + open < at) {
            return line.substring(open);
        }
        String[] lines = text.split("\n", -1);
        int row = (int) text.substring(0, at).chars().filter(c -> c == '\n').count();
        int first = row;
        while (first > 0
                && !lines[first].stripLeading().startsWith("- ")
                && !match(TOP_KEY, lines[first - 1]).isPresent()
                && (indent(lines[first]) > 2 || lines[first].isBlank())) {
            first--;
        }
        StringBuilder entry = new StringBuilder(lines[first]);
        for (int i = first + 1;
                i < lines.length
                        && !lines[i].isBlank()
                        && !lines[i].stripLeading().startsWith("- ")
                        && indent(lines[i]) > indent(lines[first]);
                i++) {
            entry.append('\n').append(lines[i]);
        }
        return entry.toString();
    }

    private static int indent(String line) {
        return line.length() - line.stripLeading().length();
    }

    private Collection<String> values(OptionField option, String text) {
        OptionType type = option.type() instanceof OptionType.Maybe maybe ? maybe.value() : option.type();
        String referenced = REFERENCES.getOrDefault(option.name(), "");
        if (!referenced.isEmpty()) {
            return defined(text, referenced);
        }
        return switch (type) {
            case OptionType.Flag ignored -> List.of("off", "on");
            case OptionType.Choice choice -> new TreeSet<>(choice.constants().keySet());
            default -> option.defaultText().map(List::of).orElse(List.of());
        };
    }

    /** The names that a section of the document defines. */
    private static Collection<String> defined(String text, String section) {
        TreeSet<String> names = new TreeSet<>();
        boolean inside = false;
        for (String line : text.split("\n", -1)) {
            Optional<String> top = match(TOP_KEY, line);
            if (top.isPresent()) {
                inside = top.get().equals(section);
                if (inside && line.contains("[")) {
                    for (String name : line.substring(line.indexOf('[') + 1).split("[\\],\\s]+")) {
                        if (!name.isBlank()) {
                            names.add(name);
                        }
                    }
                }
            } else if (inside) {
                match(ENTRY_NAME, line).ifPresent(names::add);
                if (line.strip().startsWith("- ")) {
                    names.add(line.strip().substring(2).strip());
                }
            }
        }
        return names;
    }
}
