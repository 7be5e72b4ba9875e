package org.benchtop.engine.plugin;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.CodeSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;
import org.benchtop.engine.config.EntrySpec;
import org.benchtop.engine.config.OptionField;
import org.benchtop.engine.config.OptionsShape;
import org.benchtop.engine.config.Suggestions;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.Plugin;
import org.benchtop.spi.PluginType;
import org.benchtop.spi.Spi;
import org.benchtop.spi.SpiVersion;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.chardev.ChardevType;
import org.benchtop.spi.cpu.CpuEngine;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.device.MachineType;
import org.benchtop.spi.guest.BootSourceType;
import org.benchtop.spi.guest.GuestProgramType;
import org.benchtop.spi.image.ImageFormat;
import org.benchtop.spi.net.NetBackendType;
import org.jspecify.annotations.Nullable;

/**
 * All plugins and their types. Immutable and thread-safe; closing it closes the jars that it opened, so do that after
 * the machines that use them.
 */
public final class PluginRegistry implements AutoCloseable {
    private static final String SERVICE_ENTRY = "META-INF/services/" + Plugin.class.getName();

    private final List<LoadedPlugin> plugins = new ArrayList<>();
    private final Map<TypeKind, Map<String, Registered>> types = new EnumMap<>(TypeKind.class);
    private final List<String> warnings = new ArrayList<>();
    private final Set<Path> jars = new HashSet<>();
    private final List<PluginClassLoader> opened = new ArrayList<>();

    private record Registered(Object type, String summary, LoadedPlugin plugin) {}

    private PluginRegistry() {
        for (TypeKind kind : TypeKind.values()) {
            types.put(kind, new TreeMap<>());
        }
    }

    /** The plugins on the class path. One that fails to load is left out with a warning. */
    public static PluginRegistry builtIn() {
        PluginRegistry registry = new PluginRegistry();
        registry.add(ServiceLoader.load(Plugin.class, Plugin.class.getClassLoader()), Optional.empty());
        return registry;
    }

    /**
     * This registry and more jars; those that are loaded already are left out. This one stays as it is and must not
     * be closed before the new one.
     *
     * @throws BenchtopException of kind PLUGIN if a jar is missing, not a jar, without plugins, made for another SPI,
     *     or brings a name that is taken
     */
    public PluginRegistry with(List<Path> moreJars) {
        PluginRegistry registry = copy();
        try {
            for (Path jar : moreJars) {
                registry.addJar(jar);
            }
        } catch (BenchtopException e) {
            registry.close();
            throw e;
        }
        return registry;
    }

    /**
     * This registry and a plugin that exists already, such as one written in a notebook. This one stays as it is.
     *
     * @param origin where it comes from, for messages
     * @throws BenchtopException of kind PLUGIN if it is made for another SPI, brings a name that is taken, or throws
     */
    public PluginRegistry with(Plugin plugin, String origin) {
        PluginRegistry registry = copy();
        try {
            Candidate candidate = candidate(plugin, false, origin, true);
            registry.register(candidate.plugin(), candidate.types());
        } catch (RuntimeException | LinkageError | StackOverflowError | AssertionError e) {
            if (e instanceof BenchtopException own) {
                throw own;
            }
            throw BenchtopException.of(
                    ErrorKind.PLUGIN,
                    "plugin " + plugin.getClass().getName() + " of " + origin + " failed: " + rootMessage(e),
                    e);
        }
        return registry;
    }

    private PluginRegistry copy() {
        PluginRegistry registry = new PluginRegistry();
        registry.plugins.addAll(plugins);
        types.forEach((kind, byName) -> registry.types(kind).putAll(byName));
        registry.warnings.addAll(warnings);
        registry.jars.addAll(jars);
        return registry;
    }

    /** The jars in a folder, sorted by name; none if there is no such folder. */
    public static List<Path> jarsIn(Path folder) {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> stream = Files.newDirectoryStream(folder, "*.jar")) {
            stream.forEach(found::add);
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.PLUGIN, "cannot list plugins in " + folder + ": " + e.getMessage(), e);
        }
        found.sort(null);
        return found;
    }

    private void addJar(Path jar) {
        Path real = checkJar(jar);
        if (!jars.add(real)) {
            return;
        }
        PluginClassLoader loader;
        try {
            loader = new PluginClassLoader(real, real.toUri().toURL());
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.PLUGIN, "plugin " + jar + ": " + e.getMessage(), e);
        }
        opened.add(loader);
        add(ServiceLoader.load(Plugin.class, loader), Optional.of(jar));
    }

    private static Path checkJar(Path jar) {
        if (!Files.exists(jar)) {
            throw BenchtopException.of(ErrorKind.PLUGIN, "plugin " + jar + ": no such file");
        }
        if (Files.isDirectory(jar)) {
            throw BenchtopException.of(ErrorKind.PLUGIN, "plugin " + jar + ": is a folder, expected a jar");
        }
        try (ZipFile zip = new ZipFile(jar.toFile())) {
            if (zip.getEntry(SERVICE_ENTRY) == null) {
                throw BenchtopException.of(ErrorKind.PLUGIN, "plugin " + jar + ": has no " + SERVICE_ENTRY);
            }
            return jar.toRealPath();
        } catch (ZipException e) {
            throw BenchtopException.of(ErrorKind.PLUGIN, "plugin " + jar + ": not a jar (" + e.getMessage() + ")", e);
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.PLUGIN, "plugin " + jar + ": cannot be read: " + e.getMessage(), e);
        }
    }

    private void add(ServiceLoader<Plugin> loader, Optional<Path> jar) {
        Iterator<ServiceLoader.Provider<Plugin>> providers = loader.stream().iterator();
        while (true) {
            ServiceLoader.Provider<Plugin> provider;
            try {
                if (!providers.hasNext()) {
                    return;
                }
                provider = providers.next();
            } catch (ServiceConfigurationError | LinkageError e) {
                warnings.add("skipped a plugin of " + jar.map(Path::toString).orElse("the class path") + ": "
                        + rootMessage(e));
                continue;
            }
            add(provider, jar);
        }
    }

    private void add(ServiceLoader.Provider<Plugin> provider, Optional<Path> jar) {
        String origin = jar.map(Path::toString).orElseGet(() -> origin(provider.type()));
        Candidate candidate;
        try {
            candidate = candidate(provider.get(), jar.isEmpty(), origin, jar.isPresent());
        } catch (BenchtopException e) {
            if (jar.isPresent()) {
                throw e;
            }
            warnings.add("skipped a plugin of " + origin + ": " + e.getMessage());
            return;
        } catch (RuntimeException | LinkageError | ServiceConfigurationError | StackOverflowError | AssertionError e) {
            warnings.add("skipped plugin " + provider.type().getName() + " of " + origin + ": " + rootMessage(e));
            return;
        }
        register(candidate.plugin(), candidate.types());
    }

    private record Candidate(LoadedPlugin plugin, List<Pending> types) {}

    private static Candidate candidate(Plugin plugin, boolean builtIn, String origin, boolean checkOptions) {
        SpiVersion version = plugin.spiVersion();
        LoadedPlugin loaded = new LoadedPlugin(plugin.name(), version, origin, builtIn);
        if (version.major() != Spi.MAJOR) {
            throw BenchtopException.of(
                    ErrorKind.PLUGIN,
                    "plugin " + loaded + " was built for SPI " + version + ", this Benchtop has SPI "
                            + new SpiVersion(Spi.MAJOR, Spi.MINOR));
        }
        List<Pending> pending = new ArrayList<>();
        collect(plugin, pending, checkOptions);
        return new Candidate(loaded, pending);
    }

    private record Pending(TypeKind kind, String name, String summary, Object type) {}

    private static void collect(Plugin plugin, List<Pending> pending, boolean checkOptions) {
        collect(TypeKind.DEVICE, plugin.deviceTypes(), pending, checkOptions);
        collect(TypeKind.DRIVE, plugin.blockBackendTypes(), pending, checkOptions);
        for (ImageFormat format : plugin.imageFormats()) {
            pending.add(new Pending(TypeKind.IMAGE_FORMAT, format.name(), format.summary(), format));
        }
        collect(TypeKind.CHARDEV, plugin.chardevTypes(), pending, checkOptions);
        collect(TypeKind.NETDEV, plugin.netBackendTypes(), pending, checkOptions);
        collect(TypeKind.CPU_ENGINE, plugin.cpuEngines(), pending, checkOptions);
        collect(TypeKind.BOOT_SOURCE, plugin.bootSources(), pending, checkOptions);
        for (MachineType type : plugin.machineTypes()) {
            pending.add(new Pending(TypeKind.MACHINE, type.name(), type.summary(), type));
        }
        for (GuestProgramType type : plugin.guestPrograms()) {
            pending.add(new Pending(TypeKind.GUEST_PROGRAM, type.name(), type.summary(), type));
        }
    }

    private static void collect(
            TypeKind kind, List<? extends PluginType<?>> found, List<Pending> pending, boolean checkOptions) {
        for (PluginType<?> type : found) {
            if (checkOptions) {
                OptionsShape.of(type.optionsType());
            }
            pending.add(new Pending(kind, type.name(), type.summary(), type));
        }
    }

    private void register(LoadedPlugin plugin, List<Pending> pending) {
        for (LoadedPlugin other : plugins) {
            if (other.name().equals(plugin.name())) {
                throw BenchtopException.of(
                        ErrorKind.PLUGIN,
                        "plugin \"" + plugin.name() + "\" is in both " + other.origin() + " and " + plugin.origin());
            }
        }
        for (Pending type : pending) {
            Registered other =
                    types(type.kind()).putIfAbsent(type.name(), new Registered(type.type(), type.summary(), plugin));
            if (other != null) {
                throw BenchtopException.of(
                        ErrorKind.PLUGIN,
                        type.kind().label() + " \"" + type.name() + "\" is in both "
                                + other.plugin().origin() + " and " + plugin.origin());
            }
        }
        plugins.add(plugin);
    }

    private static String origin(Class<?> type) {
        CodeSource source = type.getProtectionDomain().getCodeSource();
        if (source == null || source.getLocation() == null) {
            return "the class path";
        }
        try {
            Path path = Path.of(source.getLocation().toURI());
            return Files.isDirectory(path) ? path.toString() : String.valueOf(path.getFileName());
        } catch (URISyntaxException | IllegalArgumentException e) {
            return source.getLocation().toString();
        }
    }

    private static String rootMessage(Throwable error) {
        Throwable root = error;
        for (int i = 0; i < 10 && root.getCause() != null; i++) {
            root = root.getCause();
        }
        String message = root.getMessage() == null ? "" : ": " + root.getMessage();
        return (root.getClass().getName() + message).lines().findFirst().orElse("");
    }

    private Map<String, Registered> types(TypeKind kind) {
        return types.getOrDefault(kind, Map.of());
    }

    /** The plugins in the order of loading. */
    public List<LoadedPlugin> plugins() {
        return List.copyOf(plugins);
    }

    /** One line about each plugin that was left out. */
    public List<String> warnings() {
        return List.copyOf(warnings);
    }

    /** The names of all types of a kind, sorted. */
    public List<String> names(TypeKind kind) {
        return List.copyOf(types(kind).keySet());
    }

    private <T> List<T> all(TypeKind kind, Class<T> type) {
        return types(kind).values().stream()
                .map(registered -> type.cast(registered.type()))
                .toList();
    }

    /** All CPU engines, sorted by name. */
    public List<CpuEngine<?>> cpuEngines() {
        List<CpuEngine<?>> engines = new ArrayList<>();
        all(TypeKind.CPU_ENGINE, CpuEngine.class).forEach(engines::add);
        return engines;
    }

    /** All guest programs, sorted by name. */
    public List<GuestProgramType> guestPrograms() {
        return all(TypeKind.GUEST_PROGRAM, GuestProgramType.class);
    }

    /** All image formats, sorted by name. */
    public List<ImageFormat> imageFormats() {
        return all(TypeKind.IMAGE_FORMAT, ImageFormat.class);
    }

    /** An image format. */
    public ImageFormat imageFormat(String name) {
        return (ImageFormat) find(TypeKind.IMAGE_FORMAT, name, BenchtopException::config);
    }

    /** The device type of an entry; an unknown one is an error at the entry. */
    public DeviceType<?> device(EntrySpec entry) {
        return (DeviceType<?>) find(TypeKind.DEVICE, entry.type(), entry::typeError);
    }

    /** A device type. */
    public DeviceType<?> device(String type) {
        return (DeviceType<?>) find(TypeKind.DEVICE, type, BenchtopException::config);
    }

    /** The block backend type of an entry; an unknown one is an error at the entry. */
    public BlockBackendType<?> drive(EntrySpec entry) {
        return (BlockBackendType<?>) find(TypeKind.DRIVE, entry.type(), entry::typeError);
    }

    /** The character backend type of an entry; an unknown one is an error at the entry. */
    public ChardevType<?> chardev(EntrySpec entry) {
        return (ChardevType<?>) find(TypeKind.CHARDEV, entry.type(), entry::typeError);
    }

    /** The network backend type of an entry; an unknown one is an error at the entry. */
    public NetBackendType<?> netdev(EntrySpec entry) {
        return (NetBackendType<?>) find(TypeKind.NETDEV, entry.type(), entry::typeError);
    }

    /** The CPU engine of an {@code accel} entry other than {@code auto}; an unknown one is an error at the entry. */
    public CpuEngine<?> cpuEngine(EntrySpec entry) {
        return (CpuEngine<?>) find(TypeKind.CPU_ENGINE, entry.type(), entry::typeError);
    }

    /** The boot source of an entry; an unknown one is an error at the entry. */
    public BootSourceType<?> bootSource(EntrySpec entry) {
        return (BootSourceType<?>) find(TypeKind.BOOT_SOURCE, entry.type(), entry::typeError);
    }

    /** A board. */
    public MachineType machine(String type) {
        return (MachineType) find(TypeKind.MACHINE, type, BenchtopException::config);
    }

    /** A guest program. */
    public GuestProgramType guestProgram(String name) {
        return (GuestProgramType) find(TypeKind.GUEST_PROGRAM, name, BenchtopException::config);
    }

    private Object find(TypeKind kind, String name, Function<String, BenchtopException> error) {
        @Nullable Registered registered = types(kind).get(name);
        if (registered != null) {
            return registered.type();
        }
        Collection<String> known =
                kind == TypeKind.CPU_ENGINE ? withAuto() : types(kind).keySet();
        StringBuilder message = new StringBuilder("unknown " + kind.label() + " \"" + name + "\" (");
        for (TypeKind other : TypeKind.values()) {
            if (types(other).containsKey(name)) {
                message.append("there is a ").append(other.label()).append(" of that name; ");
            }
        }
        Suggestions.nearest(name, known)
                .ifPresent(
                        near -> message.append("did you mean \"").append(near).append("\"? "));
        message.append(known.isEmpty() ? "there are none" : "known: " + Suggestions.list(known))
                .append(")");
        if (!warnings.isEmpty()) {
            message.append("; ").append(String.join("; ", warnings));
        }
        throw error.apply(message.toString());
    }

    private List<String> withAuto() {
        List<String> known = new ArrayList<>(List.of("auto"));
        known.addAll(types(TypeKind.CPU_ENGINE).keySet());
        return known;
    }

    /** All types of all kinds with their options. */
    public List<TypeDescription> describeAll() {
        List<TypeDescription> found = new ArrayList<>();
        types.forEach(
                (kind, byName) -> byName.forEach((name, registered) -> found.add(describe(kind, name, registered))));
        return found;
    }

    /**
     * What is known of a type; several kinds may use the same name.
     *
     * @throws BenchtopException of kind CONFIG if nothing has that name
     */
    public List<TypeDescription> describe(String name) {
        List<TypeDescription> found = new ArrayList<>();
        Set<String> known = new LinkedHashSet<>();
        types.forEach((kind, byName) -> {
            known.addAll(byName.keySet());
            @Nullable Registered registered = byName.get(name);
            if (registered != null) {
                found.add(describe(kind, name, registered));
            }
        });
        if (found.isEmpty()) {
            throw BenchtopException.config("unknown type \"" + name + "\"" + Suggestions.hint(name, known));
        }
        return found;
    }

    private static TypeDescription describe(TypeKind kind, String name, Registered registered) {
        List<OptionField> options = registered.type() instanceof PluginType<?> type
                ? OptionsShape.of(type.optionsType()).fields()
                : List.of();
        return new TypeDescription(kind, name, registered.summary(), registered.plugin(), options);
    }

    @Override
    public void close() {
        for (PluginClassLoader loader : opened) {
            try {
                loader.close();
            } catch (IOException e) {
                throw BenchtopException.of(ErrorKind.PLUGIN, "cannot close " + loader.getName(), e);
            }
        }
        opened.clear();
    }
}
