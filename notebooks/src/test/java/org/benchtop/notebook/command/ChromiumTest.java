package org.benchtop.notebook.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.benchtop.notebook.wire.Json;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The classic notebook of Debian in a headless Chromium; pictures are kept in {@code target/chromium}. */
class ChromiumTest {
    private static final Path CHROMIUM = Path.of("/usr/bin/chromium");
    private static final Path PICTURES = Path.of("target/chromium").toAbsolutePath();
    private static final long TIMEOUT_MINUTES = 10;
    private static final int PORTS = 20;

    private static final List<String> CELLS = List.of(
            "%%vm\nname: browser\nmemory: 64MiB\nboot: { guest: hello }\n",
            "vm.start();\nvm.awaitExit()",
            "vm",
            "vm.exits()",
            "vm.regs()",
            "plot(1, 4, 9, 16).title(\"squares\")",
            "vm.close();");

    @TempDir
    Path folder = Path.of("");

    private static Path playwright() {
        @Nullable String cache = System.getenv("XDG_CACHE_HOME");
        @Nullable String home = System.getenv("HOME");
        return (cache == null || cache.isBlank()
                        ? Path.of(home == null ? System.getProperty("user.home") : home, ".cache")
                        : Path.of(cache))
                .resolve("benchtop/playwright");
    }

    private static boolean runs(String... command) throws InterruptedException {
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return process.waitFor() == 0;
        } catch (IOException e) {
            return false;
        }
    }

    private void notebook() throws IOException {
        JsonArray cells = new JsonArray();
        for (String code : CELLS) {
            JsonObject cell = Json.object(
                    "cell_type", "code", "metadata", new JsonObject(), "outputs", new JsonArray(), "source", code);
            cell.add("execution_count", com.google.gson.JsonNull.INSTANCE);
            cells.add(cell);
        }
        JsonObject notebook = Json.object(
                "metadata",
                Json.object(
                        "kernelspec", Json.object("name", "benchtop", "display_name", "Benchtop", "language", "java")),
                "nbformat",
                4,
                "nbformat_minor",
                4);
        notebook.add("cells", cells);
        // With its nulls, which the format wants.
        Files.writeString(
                Files.createDirectories(folder.resolve("files")).resolve("e2e.ipynb"),
                new com.google.gson.GsonBuilder().serializeNulls().create().toJson(notebook));
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return e.toString();
        }
    }

    private static void end(Process process) {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
    }

    /** The address of the server, which it writes to a file when it listens. */
    private String address(Process server, Path log) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(TIMEOUT_MINUTES);
        Path runtime = folder.resolve("runtime");
        while (System.nanoTime() < deadline && server.isAlive()) {
            if (Files.isDirectory(runtime)) {
                try (Stream<Path> files = Files.list(runtime)) {
                    Optional<String> url = files.filter(file -> file.toString().matches(".*/nbserver-\\d+\\.json"))
                            .flatMap(file -> {
                                try {
                                    return Json.string(Json.parse(Files.readAllBytes(file)), "url").stream();
                                } catch (IOException | RuntimeException e) {
                                    // Half written.
                                    return Stream.empty();
                                }
                            })
                            .findFirst();
                    if (url.isPresent()) {
                        return url.get();
                    }
                }
            }
            TimeUnit.MILLISECONDS.sleep(50);
        }
        throw new AssertionError("the server does not listen:\n" + read(log));
    }

    @Test
    void aPersonRunsCompletesReadsAndInterruptsInABrowser() throws IOException, InterruptedException {
        assumeTrue(Files.isExecutable(CHROMIUM), CHROMIUM + " is not installed (.ci/setup installs it)");
        assumeTrue(runs("node", "--version"), "node is not on PATH (.ci/setup installs it)");
        assumeTrue(
                Files.isDirectory(playwright().resolve("node_modules/playwright-core")),
                "playwright-core is not in " + playwright() + " (.ci/setup fetches it)");
        assumeTrue(
                runs(TestKernel.PYTHON, "-c", "import notebook; assert notebook.__version__ < '7'"),
                "jupyter-notebook is not installed (.ci/setup installs it)");
        TestKernel.install(folder.resolve("data"));
        notebook();
        Files.createDirectories(PICTURES);
        Path serverLog = folder.resolve("server.txt");
        Path log = folder.resolve("browser.txt");
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        ProcessBuilder notebook = new ProcessBuilder(
                        TestKernel.PYTHON,
                        "-m",
                        "notebook",
                        "--no-browser",
                        "--allow-root",
                        "--ip=127.0.0.1",
                        "--port=" + port,
                        "--port-retries=" + PORTS,
                        "--NotebookApp.token=",
                        "--NotebookApp.password=",
                        "--notebook-dir=" + folder.resolve("files"))
                .redirectErrorStream(true)
                .redirectOutput(serverLog.toFile())
                .redirectInput(new File("/dev/null"));
        TestKernel.environment(notebook, folder);
        Process server = notebook.start();
        try {
            Process browser = new ProcessBuilder(
                            "node",
                            Path.of("src/test/e2e/notebook.mjs")
                                    .toAbsolutePath()
                                    .toString(),
                            playwright().toString(),
                            address(server, serverLog),
                            "e2e.ipynb",
                            PICTURES.toString())
                    .redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .redirectInput(new File("/dev/null"))
                    .start();
            try {
                assertTrue(
                        browser.waitFor(TIMEOUT_MINUTES, TimeUnit.MINUTES),
                        () -> "still running:\n" + read(log) + read(serverLog));
            } finally {
                end(browser);
            }
            System.out.println(read(log));
            assertEquals(0, browser.exitValue(), () -> read(log) + read(serverLog));
        } finally {
            end(server);
        }
        assertTrue(Files.size(PICTURES.resolve("run-all.png")) > 0);
    }
}
