package org.benchtop.shell.jshell;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import jdk.jshell.SourceCodeAnalysis;
import org.jspecify.annotations.Nullable;

/**
 * Lets JShell's completion and documentation show the javadoc of Benchtop beside that of the JDK.
 *
 * <p>JShell itself looks into the JDK's {@code src.zip} only and offers no way to name other sources but a field meant for
 * its tests; without {@code --add-opens jdk.jshell/jdk.jshell=ALL-UNNAMED}, which the launcher passes, there is no
 * documentation of Benchtop and nothing else is different.
 */
public final class ApiSources {
    private static final System.Logger LOG = System.getLogger("org.benchtop.shell");

    private ApiSources() {}

    /** Offers the sources to all analyses from now on. True if that worked. */
    public static synchronized boolean offer() {
        try {
            Class<?> analysis =
                    Class.forName("jdk.jshell.SourceCodeAnalysisImpl", true, SourceCodeAnalysis.class.getClassLoader());
            Field field = analysis.getDeclaredField("availableSourcesOverride");
            field.setAccessible(true);
            if (field.get(null) == null) {
                field.set(null, roots());
            }
            return true;
        } catch (ReflectiveOperationException | RuntimeException | IOException e) {
            LOG.log(System.Logger.Level.DEBUG, "JShell will not show the documentation of Benchtop", e);
            return false;
        }
    }

    /** Source folders: those of the checkout that the launcher is in, and the modules of the JDK. */
    private static List<Path> roots() throws IOException {
        List<Path> roots = new ArrayList<>();
        @Nullable String home = System.getProperty("benchtop.home");
        if (home != null && Files.isDirectory(Path.of(home))) {
            try (Stream<Path> modules = Files.list(Path.of(home))) {
                modules.map(module -> module.resolve("src/main/java"))
                        .filter(Files::isDirectory)
                        .forEach(roots::add);
            }
        }
        Path zip = Path.of(System.getProperty("java.home"), "lib", "src.zip");
        if (Files.isReadable(zip)) {
            // Open as long as the process: documentation is read from it at any time.
            FileSystem system = FileSystems.newFileSystem(zip, Map.of());
            try (Stream<Path> modules =
                    Files.list(system.getRootDirectories().iterator().next())) {
                modules.filter(Files::isDirectory).forEach(roots::add);
            }
        }
        return roots;
    }
}
