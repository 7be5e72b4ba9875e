package org.benchtop.engine;

import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.benchtop.engine.config.BindContext;
import org.benchtop.engine.config.EntrySpec;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.OptionBinder;
import org.benchtop.engine.linux.LinuxHost;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.engine.stats.MachineStats;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.block.BlockContext;
import org.benchtop.spi.host.HostServices;
import org.benchtop.spi.stats.Stats;

/** Drives without a machine: for tools that use what a {@code drives:} section describes. Not thread-safe. */
public final class DriveSet implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("org.benchtop.drives");

    private final Map<String, EntrySpec> entries;
    private final PluginRegistry plugins;
    private final BindContext binding;
    private final Path baseDir;
    private final HostServices host = new LinuxHost();
    private final MachineStats statistics = new MachineStats();
    private final Map<String, BlockBackend> open = new LinkedHashMap<>();
    private final Deque<BlockBackend> order = new ArrayDeque<>();
    private final Set<String> opening = new LinkedHashSet<>();
    private final Map<String, String> users = new HashMap<>();

    private DriveSet(Map<String, EntrySpec> entries, PluginRegistry plugins, BindContext binding, Path baseDir) {
        this.entries = Map.copyOf(entries);
        this.plugins = plugins;
        this.binding = binding;
        this.baseDir = baseDir;
    }

    /** The drives of a machine, none of them open. */
    public static DriveSet of(MachineSpec spec, PluginRegistry plugins) {
        return new DriveSet(spec.drives(), plugins, spec.bindContext(), spec.baseDir());
    }

    /** One drive of its own. */
    public static DriveSet of(String name, EntrySpec entry, PluginRegistry plugins, Path baseDir) {
        return new DriveSet(Map.of(name, entry.at(name)), plugins, BindContext.unchecked(baseDir), baseDir);
    }

    /** Opens a drive and what it stands on; it is closed with this set. */
    public BlockBackend open(String name) {
        BlockBackend there = open.get(name);
        if (there != null) {
            return there;
        }
        EntrySpec entry = entries.get(name);
        if (entry == null) {
            throw BenchtopException.config("there is no drive \"" + name + "\" (drives: "
                    + String.join(", ", entries.keySet().stream().sorted().toList()) + ")");
        }
        if (!opening.add(name)) {
            throw entry.error("drives form a ring: " + String.join(" -> ", opening) + " -> " + name);
        }
        try {
            BlockBackend backend = create(name, plugins.drive(entry), entry);
            open.put(name, backend);
            order.push(backend);
            return backend;
        } finally {
            opening.remove(name);
        }
    }

    private <O extends Record> BlockBackend create(String name, BlockBackendType<O> type, EntrySpec entry) {
        return type.create(OptionBinder.bind(type, entry, binding), new Context(name));
    }

    @Override
    public void close() {
        while (!order.isEmpty()) {
            BlockBackend backend = order.pop();
            try {
                backend.close();
            } catch (RuntimeException e) {
                LOG.log(System.Logger.Level.WARNING, "closing " + backend.describe() + " failed", e);
            }
        }
        open.clear();
    }

    private final class Context implements BlockContext {
        private final String id;

        Context(String id) {
            this.id = id;
        }

        @Override
        public BlockBackend drive(String name) {
            BlockBackend backend = open(name);
            String other = users.putIfAbsent(name, id);
            if (other != null) {
                throw BenchtopException.config(
                        "drive \"" + name + "\" of drive " + id + " is used by drive " + other + " already");
            }
            return backend;
        }

        @Override
        public String id() {
            return id;
        }

        @Override
        public Path resolve(Path path) {
            return baseDir.resolve(path);
        }

        @Override
        public Stats stats() {
            return statistics.entry(id);
        }

        @Override
        public System.Logger logger() {
            return System.getLogger("org.benchtop.drives." + id);
        }

        @Override
        public HostServices host() {
            return host;
        }
    }
}
