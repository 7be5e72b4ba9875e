package org.benchtop.notebook.command;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.benchtop.notebook.stock.StockKernel;
import org.benchtop.notebook.wire.Json;

/** The kernel as Jupyter's programs find it in tests: this build, in a folder of its own. */
final class TestKernel {
    /** Debian's, which sees Debian's packages whatever else is on PATH. */
    static final String PYTHON = "/usr/bin/python3";

    private TestKernel() {}

    /** Puts the kernel on the list of a data folder. */
    static void install(Path data) throws IOException {
        JsonArray argv = new JsonArray();
        List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-Xmx1g",
                        "--enable-native-access=ALL-UNNAMED",
                        "--sun-misc-unsafe-memory-access=allow",
                        "--add-opens=jdk.jshell/jdk.jshell=ALL-UNNAMED",
                        "-Dbenchtop.notebook.forget=true",
                        "-Dbenchtop.home="
                                + Path.of("")
                                        .toAbsolutePath()
                                        .resolveSibling("")
                                        .normalize(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        KernelMain.class.getName(),
                        "{connection_file}")
                .forEach(argv::add);
        JsonObject spec =
                Json.object("argv", argv, "display_name", "Benchtop", "language", "java", "interrupt_mode", "message");
        Path kernel = Files.createDirectories(data.resolve("kernels/benchtop"));
        Files.writeString(kernel.resolve("kernel.json"), spec.toString());
    }

    /** Where the tests find Benchtop and its libraries. */
    static Stream<String> classPath() {
        return Stream.of(System.getProperty("surefire.test.class.path", System.getProperty("java.class.path", ""))
                        .split(File.pathSeparator))
                .filter(entry -> !entry.isEmpty() && Files.exists(Path.of(entry)));
    }

    /** Puts a kernel on the list that knows nothing of Benchtop. */
    static void installStock(Path data) throws IOException {
        URL own = StockKernel.class.getProtectionDomain().getCodeSource().getLocation();
        // Nothing else of this module's tests: their package names are Benchtop's.
        Path classes = Files.createDirectories(data.resolve("stock"));
        String name = StockKernel.class.getPackageName().replace('.', '/');
        try (Stream<Path> files = Files.list(Path.of(own.getPath(), name))) {
            for (Path file : files.toList()) {
                Path copy = classes.resolve(name).resolve(file.getFileName());
                Files.createDirectories(Objects.requireNonNull(copy.getParent(), "a folder"));
                Files.copy(file, copy);
            }
        }
        String libraries = classPath()
                .filter(entry -> entry.matches(".*/(jjava-jupyter|jeromq|jnacl|gson|slf4j-\\w+|jspecify)-[^/]*\\.jar"))
                .collect(Collectors.joining(File.pathSeparator, classes + File.pathSeparator, ""));
        JsonArray argv = new JsonArray();
        List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        libraries,
                        StockKernel.class.getName(),
                        "{connection_file}")
                .forEach(argv::add);
        Path kernel = Files.createDirectories(data.resolve("kernels/stock"));
        Files.writeString(
                kernel.resolve("kernel.json"),
                Json.object("argv", argv, "display_name", "Stock", "language", "java")
                        .toString());
    }

    /** Makes a program of Jupyter's see the folders below one folder only. */
    static void environment(ProcessBuilder program, Path folder) {
        program.environment().put("JUPYTER_DATA_DIR", folder.resolve("data").toString());
        program.environment()
                .put("JUPYTER_RUNTIME_DIR", folder.resolve("runtime").toString());
        program.environment().put("JUPYTER_CONFIG_DIR", folder.resolve("config").toString());
    }
}
