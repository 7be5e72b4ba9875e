package org.benchtop.shell;

import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.benchtop.engine.plugin.PluginRegistry;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The {@code --plugin} option, and the plugins that there are without it. */
final class Plugins {
    private static final System.Logger LOG = System.getLogger("org.benchtop.shell");

    @Option(
            names = "--plugin",
            paramLabel = "JAR",
            description = "Load plugins from a jar (also: jars in the folder plugins/ of Benchtop).")
    List<Path> jars = new ArrayList<>();

    /** The built-in plugins, those of the plugins folder, of {@code --plugin}, and more. */
    PluginRegistry load(List<Path> more) {
        PluginRegistry registry = PluginRegistry.builtIn();
        List<Path> all = new ArrayList<>();
        @Nullable String home = System.getProperty("benchtop.home");
        if (home != null) {
            all.addAll(PluginRegistry.jarsIn(Path.of(home, "plugins")));
        }
        all.addAll(jars);
        all.addAll(more);
        PluginRegistry loaded = all.isEmpty() ? registry : registry.with(all);
        loaded.warnings().forEach(warning -> LOG.log(Level.WARNING, warning));
        return loaded;
    }
}
