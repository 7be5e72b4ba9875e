package org.benchtop.notebook.command;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
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

    /** Makes a program of Jupyter's see the folders below one folder only. */
    static void environment(ProcessBuilder program, Path folder) {
        program.environment().put("JUPYTER_DATA_DIR", folder.resolve("data").toString());
        program.environment()
                .put("JUPYTER_RUNTIME_DIR", folder.resolve("runtime").toString());
        program.environment().put("JUPYTER_CONFIG_DIR", folder.resolve("config").toString());
    }
}
