package org.benchtop.guests.debian;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/**
 * The modules of a kernel and what they depend on. Packages come without depmod's tables, so every module is read once;
 * the result is kept in the cache.
 */
final class KernelModules {
    private static final Pattern MODULE =
            Pattern.compile("(?:usr/)?lib/modules/[^/]+/(.*/)?([^/]+)\\.ko(\\.[a-z0-9]+)?");
    private static final Pattern BUILTIN = Pattern.compile("(?:usr/)?lib/modules/[^/]+/modules\\.builtin");

    /** Changes when the cached list gets other fields. */
    private static final String FORMAT = "2 ";

    private final Map<String, Module> modules;
    private final Set<String> builtin;
    /** Names of modules by their other names. */
    private final Map<String, List<String>> aliases = new HashMap<>();

    /**
     * One module.
     *
     * @param path in the package
     */
    private record Module(String path, ModuleInfo info) {}

    private KernelModules(Map<String, Module> modules, Set<String> builtin) {
        this.modules = modules;
        this.builtin = builtin;
        modules.forEach((name, module) -> module.info()
                .aliases()
                .forEach(alias ->
                        aliases.computeIfAbsent(alias, any -> new ArrayList<>()).add(name)));
    }

    static boolean isModule(String path) {
        return MODULE.matcher(path).matches();
    }

    /** The name of the module in a file, with underscores. */
    static String name(String path) {
        Matcher matcher = MODULE.matcher(path);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("no kernel module: " + path);
        }
        return ModuleInfo.normal(matcher.group(2));
    }

    /** Reads all modules of a kernel's packages, or the cached list of them. */
    static KernelModules of(Cache cache, List<Path> debs) {
        StringBuilder names = new StringBuilder(FORMAT);
        debs.forEach(deb -> names.append(deb.getFileName()).append(' '));
        Path index = cache.path("modules", Cache.hash(names.toString()).substring(0, 32));
        if (!Files.isRegularFile(index)) {
            String text = scan(debs);
            Cache.write(index, out -> out.write(text.getBytes(StandardCharsets.UTF_8)));
        }
        try {
            return parse(Files.readAllLines(index));
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, index + ": cannot be read: " + e.getMessage(), e);
        }
    }

    private static String scan(List<Path> debs) {
        StringBuilder lines = new StringBuilder();
        for (Path deb : debs) {
            DebArchive.visit(deb, (path, entry, data) -> {
                if (entry.isFile() && isModule(path)) {
                    ModuleInfo info = read(path, data);
                    lines.append("module\t").append(path).append('\t');
                    lines.append(String.join(",", info.depends())).append('\t');
                    lines.append(String.join(",", info.softBefore())).append('\t');
                    lines.append(String.join(",", info.aliases())).append('\n');
                } else if (entry.isFile() && BUILTIN.matcher(path).matches()) {
                    new String(data.readAllBytes(), StandardCharsets.UTF_8)
                            .lines()
                            .forEach(line ->
                                    lines.append("builtin\t").append(line).append('\n'));
                }
            });
        }
        return lines.toString();
    }

    private static ModuleInfo read(String path, InputStream data) throws IOException {
        try {
            return ModuleInfo.parse(decompress(data.readAllBytes()));
        } catch (IOException e) {
            throw new IOException(path + " " + e.getMessage(), e);
        }
    }

    /** A module as {@code insmod} takes it: not compressed. */
    static byte[] decompress(byte[] file) throws IOException {
        try (InputStream in = Decompression.of(new ByteArrayInputStream(file))) {
            return in.readAllBytes();
        }
    }

    private static KernelModules parse(List<String> lines) {
        Map<String, Module> modules = new TreeMap<>();
        Set<String> builtin = new HashSet<>();
        for (String line : lines) {
            String[] fields = line.split("\t", -1);
            if (fields[0].equals("module") && fields.length == 5) {
                ModuleInfo info = new ModuleInfo(words(fields[2]), words(fields[3]), words(fields[4]));
                modules.put(name(fields[1]), new Module(fields[1], info));
            } else if (fields[0].equals("builtin") && fields.length == 2) {
                String file = fields[1].substring(fields[1].lastIndexOf('/') + 1);
                builtin.add(ModuleInfo.normal(file.replaceFirst("\\.ko.*$", "")));
            }
        }
        return new KernelModules(modules, builtin);
    }

    private static List<String> words(String text) {
        return text.isEmpty() ? List.of() : Arrays.asList(text.split(",", -1));
    }

    /**
     * The modules to load for some, by name, in order, with their paths in the package; those that are part of the
     * kernel are left out.
     *
     * @throws BenchtopException of kind CONFIG if the kernel has no such module
     */
    Map<String, String> closure(List<String> wanted) {
        Map<String, String> order = new LinkedHashMap<>();
        for (String name : wanted) {
            String normal = ModuleInfo.normal(name);
            if (!modules.containsKey(normal) && !builtin.contains(normal)) {
                throw BenchtopException.config("the kernel has no module \"" + name + "\"" + similar(normal));
            }
            add(normal, order, new LinkedHashSet<>());
        }
        return order;
    }

    private void add(String name, Map<String, String> order, Set<String> way) {
        Module module = modules.get(name);
        if (module == null || order.containsKey(name) || !way.add(name)) {
            return;
        }
        for (String other : module.info().softBefore()) {
            named(other).forEach(real -> add(real, order, way));
        }
        module.info().depends().forEach(other -> add(other, order, way));
        order.put(name, module.path());
    }

    /**
     * The modules of a name: itself, or those with that alias. Of several implementations the generic one is enough, and runs
     * on every processor.
     */
    private List<String> named(String name) {
        if (modules.containsKey(name) || builtin.contains(name)) {
            return List.of(name);
        }
        List<String> others = aliases.getOrDefault(name, List.of());
        return others.stream()
                .filter(other -> other.endsWith("_generic"))
                .findFirst()
                .map(List::of)
                .orElse(others);
    }

    private String similar(String name) {
        List<String> near = new ArrayList<>();
        for (String other : modules.keySet()) {
            if (near.size() < 3 && (other.contains(name) || name.contains(other))) {
                near.add(other);
            }
        }
        return near.isEmpty() ? "" : " (there is " + String.join(", ", near) + ")";
    }
}
