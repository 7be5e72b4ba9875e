package org.benchtop.engine.plugin;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.benchtop.engine.config.BindContext;
import org.benchtop.engine.config.BootSpec;
import org.benchtop.engine.config.ConfigProblem;
import org.benchtop.engine.config.ConfigValue;
import org.benchtop.engine.config.EntrySpec;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.OptionBinder;
import org.benchtop.engine.config.OptionField;
import org.benchtop.engine.config.OptionType;
import org.benchtop.engine.config.OptionsShape;
import org.benchtop.engine.config.Problems;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.Option;
import org.benchtop.spi.PluginType;
import org.jspecify.annotations.Nullable;

/**
 * Checks a spec against the plugins: types, options, references; that every drive, chardev and netdev has one user at
 * most, and that filters do not form a ring. Opens nothing.
 */
public final class SpecCheck {
    private final MachineSpec spec;
    private final PluginRegistry registry;
    private final Problems problems;
    private final BindContext context;
    private final Map<Option.Ref, Map<String, String>> users = new HashMap<>();
    private final Map<String, Set<String>> filters = new LinkedHashMap<>();

    private SpecCheck(MachineSpec spec, PluginRegistry registry, Problems problems) {
        this.spec = spec;
        this.registry = registry;
        this.problems = problems;
        this.context = spec.bindContext();
    }

    /** Adds all mistakes to {@code problems}. */
    public static void check(MachineSpec spec, PluginRegistry registry, Problems problems) {
        new SpecCheck(spec, registry, problems).run();
    }

    /** Throws the first mistake. */
    public static void check(MachineSpec spec, PluginRegistry registry) {
        Problems problems = new Problems();
        check(spec, registry, problems);
        problems.throwFirst();
    }

    private void run() {
        lookUp("machine", () -> registry.machine(spec.machine()));
        if (!spec.accel().type().equals("auto")) {
            entry(spec.accel(), registry::cpuEngine);
        } else if (!spec.accel().options().members().isEmpty()) {
            problems.add(spec.accel().options(), "auto has no options (choose a CPU engine to give it some)");
        }
        if (spec.boot() instanceof BootSpec.Guest guest) {
            lookUp("boot.guest", () -> registry.guestProgram(guest.program()));
        }
        if (spec.boot() instanceof BootSpec.Source source) {
            entry(source.source(), registry::bootSource);
        }
        spec.drives().values().forEach(entry -> entry(entry, registry::drive));
        spec.chardevs().values().forEach(entry -> entry(entry, registry::chardev));
        spec.netdevs().values().forEach(entry -> entry(entry, registry::netdev));
        if (!spec.display().type().equals(MachineSpec.NO_DISPLAY)) {
            entry(spec.display(), registry::device);
        }
        spec.devices().forEach(entry -> entry(entry, registry::device));
        findRing();
    }

    private void lookUp(String path, Runnable lookUp) {
        try {
            lookUp.run();
        } catch (BenchtopException e) {
            problems.add(spec.sources().position(path), path, String.valueOf(e.getMessage()));
        }
    }

    private void entry(EntrySpec entry, Function<EntrySpec, PluginType<?>> find) {
        PluginType<?> type;
        try {
            type = find.apply(entry);
            OptionBinder.bind(type, entry, context, problems);
        } catch (BenchtopException e) {
            problems.add(problem(e, entry));
            return;
        }
        for (OptionField field : OptionsShape.of(type.optionsType()).fields()) {
            entry.options().find(field.name()).ifPresent(value -> references(field.type(), value, entry));
        }
    }

    /** The problem that an exception of {@link ConfigProblem#exception} stood for. */
    private static ConfigProblem problem(BenchtopException e, EntrySpec entry) {
        String message = String.valueOf(e.getMessage());
        Object path = e.context().get("path");
        if (path == null) {
            return new ConfigProblem(entry.options().position(), entry.path(), message);
        }
        ConfigProblem bare = new ConfigProblem(entry.typePosition(), String.valueOf(path), "");
        String prefix = bare.toString();
        return message.startsWith(prefix)
                ? new ConfigProblem(entry.typePosition(), String.valueOf(path), message.substring(prefix.length()))
                : new ConfigProblem(entry.options().position(), entry.path(), message);
    }

    private void references(OptionType type, ConfigValue value, EntrySpec entry) {
        switch (type) {
            case OptionType.Text text -> {
                if (value instanceof ConfigValue.Scalar scalar && !scalar.isNull()) {
                    reference(text.ref(), scalar, entry);
                }
            }
            case OptionType.Maybe maybe -> references(maybe.value(), value, entry);
            case OptionType.ListOf list -> {
                if (value instanceof ConfigValue.Sequence sequence) {
                    sequence.items().forEach(item -> references(list.item(), item, entry));
                }
            }
            case OptionType.MapOf map -> {
                if (value instanceof ConfigValue.Mapping mapping) {
                    mapping.members().values().forEach(member -> references(map.value(), member.value(), entry));
                }
            }
            case OptionType.Nested nested -> {
                if (value instanceof ConfigValue.Mapping mapping) {
                    for (OptionField field : nested.shape().fields()) {
                        mapping.find(field.name()).ifPresent(inner -> references(field.type(), inner, entry));
                    }
                }
            }
            case OptionType.Flag flag -> {}
            case OptionType.Whole whole -> {}
            case OptionType.Real real -> {}
            case OptionType.FilePath path -> {}
            case OptionType.Time time -> {}
            case OptionType.Choice choice -> {}
        }
    }

    private void reference(Option.Ref ref, ConfigValue.Scalar name, EntrySpec entry) {
        if (ref == Option.Ref.NONE || ref == Option.Ref.IOTHREAD) {
            return;
        }
        @Nullable
        String other = users.computeIfAbsent(ref, kind -> new HashMap<>()).putIfAbsent(name.text(), entry.path());
        if (other != null) {
            problems.add(
                    name,
                    "the " + ref.name().toLowerCase(java.util.Locale.ROOT) + " \"" + name.text() + "\" is used by "
                            + other + " already");
        }
        if (ref == Option.Ref.DRIVE && entry.path().startsWith("drives.")) {
            filters.computeIfAbsent(entry.path().substring("drives.".length()), filter -> new LinkedHashSet<>())
                    .add(name.text());
        }
    }

    private void findRing() {
        Set<String> done = new LinkedHashSet<>();
        for (String start : filters.keySet()) {
            Set<String> way = new LinkedHashSet<>();
            if (findRing(start, way, done)) {
                EntrySpec entry = spec.drives().get(start);
                if (entry != null) {
                    problems.add(entry.options(), "drives form a ring: " + String.join(" -> ", way) + " -> " + start);
                }
                return;
            }
        }
    }

    private boolean findRing(String drive, Set<String> way, Set<String> done) {
        if (!way.add(drive)) {
            return true;
        }
        if (done.add(drive)) {
            for (String next : filters.getOrDefault(drive, Set.of())) {
                if (findRing(next, way, done)) {
                    return true;
                }
            }
        }
        way.remove(drive);
        return false;
    }
}
