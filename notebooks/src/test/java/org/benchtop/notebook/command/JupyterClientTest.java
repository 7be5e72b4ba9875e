package org.benchtop.notebook.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.benchtop.notebook.wire.Json;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Jupyter's own programs, as Debian ships them, against the kernel in a process of its own. */
class JupyterClientTest {
    /** Debian's, which sees Debian's packages whatever else is on PATH. */
    private static final String PYTHON = "/usr/bin/python3";

    private static final long TIMEOUT_MINUTES = 10;

    @TempDir
    Path folder = Path.of("");

    @BeforeEach
    void kernelSpec() throws IOException {
        JsonArray argv = new JsonArray();
        List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-Xmx1g",
                        "--enable-native-access=ALL-UNNAMED",
                        "--sun-misc-unsafe-memory-access=allow",
                        "-Dbenchtop.notebook.forget=true",
                        "-cp",
                        System.getProperty("java.class.path"),
                        KernelMain.class.getName(),
                        "{connection_file}")
                .forEach(argv::add);
        JsonObject spec =
                Json.object("argv", argv, "display_name", "Benchtop", "language", "java", "interrupt_mode", "message");
        Path kernel = Files.createDirectories(folder.resolve("data/kernels/benchtop"));
        Files.writeString(kernel.resolve("kernel.json"), spec.toString());
    }

    private String run(String... command) throws IOException, InterruptedException {
        Path log = folder.resolve("log.txt");
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .redirectInput(new File("/dev/null"));
        builder.environment().put("JUPYTER_DATA_DIR", folder.resolve("data").toString());
        builder.environment()
                .put("JUPYTER_RUNTIME_DIR", folder.resolve("runtime").toString());
        builder.environment().put("JUPYTER_CONFIG_DIR", folder.resolve("config").toString());
        Process process = builder.start();
        try {
            assertTrue(process.waitFor(TIMEOUT_MINUTES, TimeUnit.MINUTES), () -> "still running:\n" + read(log));
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
        assertEquals(0, process.exitValue(), () -> read(log));
        return read(log);
    }

    private static String read(Path log) {
        try {
            return Files.readString(log);
        } catch (IOException e) {
            return e.toString();
        }
    }

    private static boolean hasModule(String name) throws IOException, InterruptedException {
        if (!Files.isExecutable(Path.of(PYTHON))) {
            return false;
        }
        Process python = new ProcessBuilder(PYTHON, "-c", "import " + name)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        return python.waitFor() == 0;
    }

    @Test
    void jupyterClientIsServedInEveryPointOfTheProtocol() throws IOException, InterruptedException {
        assumeTrue(hasModule("jupyter_client"), "python3-jupyter-client is not installed (.ci/setup installs it)");

        String log = run(PYTHON, "src/test/python/protocol.py");

        System.out.println(log);
        assertTrue(log.contains("ok   ends with its server"), log);
    }

    @Test
    void everyNotebookRunsByNbconvert() throws IOException, InterruptedException {
        assumeTrue(hasModule("nbconvert"), "jupyter-nbconvert is not installed (.ci/setup installs it)");
        assumeTrue(Files.isWritable(Path.of("/dev/kvm")), "/dev/kvm is not usable");
        List<Path> notebooks;
        try (Stream<Path> files = Files.list(Path.of(""))) {
            notebooks = files.filter(file -> file.toString().endsWith(".ipynb"))
                    .sorted()
                    .toList();
        }
        assertEquals(5, notebooks.size(), notebooks.toString());
        List<String> command = new ArrayList<>(List.of(
                PYTHON,
                "-m",
                "nbconvert",
                "--to",
                "html",
                "--execute",
                "--ExecutePreprocessor.timeout=300",
                "--output-dir",
                folder.resolve("html").toString()));
        notebooks.forEach(notebook -> command.add(notebook.toString()));

        run(command.toArray(new String[0]));

        try (Stream<Path> pages = Files.list(folder.resolve("html"))) {
            assertEquals(
                    5, pages.filter(page -> page.toString().endsWith(".html")).count());
        }
    }
}
