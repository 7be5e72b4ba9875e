package org.benchtop.notebook.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.benchtop.shell.AllJar;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Jupyter's own programs, as Debian ships them, against the kernel in a process of its own. */
class JupyterClientTest {
    private static final long TIMEOUT_MINUTES = 10;

    @TempDir
    Path folder = Path.of("");

    @BeforeEach
    void kernelSpec() throws IOException {
        TestKernel.install(folder.resolve("data"));
    }

    private String run(String... command) throws IOException, InterruptedException {
        Path log = folder.resolve("log.txt");
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .redirectInput(new File("/dev/null"));
        TestKernel.environment(builder, folder);
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
        if (!Files.isExecutable(Path.of(TestKernel.PYTHON))) {
            return false;
        }
        Process python = new ProcessBuilder(TestKernel.PYTHON, "-c", "import " + name)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        return python.waitFor() == 0;
    }

    @Test
    void jupyterClientIsServedInEveryPointOfTheProtocol() throws IOException, InterruptedException {
        assumeTrue(hasModule("jupyter_client"), "python3-jupyter-client is not installed (.ci/setup installs it)");

        String log = run(TestKernel.PYTHON, "src/test/python/protocol.py");

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
                TestKernel.PYTHON,
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

    /** As {@code %classpath add benchtop-all.jar} in IJava and JJava. */
    @Test
    void kernelOfOthersGetsTheLabByOneJar() throws IOException, InterruptedException {
        assumeTrue(hasModule("jupyter_client"), "python3-jupyter-client is not installed (.ci/setup installs it)");
        Path jar = folder.resolve("benchtop-all.jar");
        AllJar.main(
                Stream.concat(Stream.of(jar.toString()), TestKernel.classPath()).toArray(String[]::new));
        TestKernel.installStock(folder.resolve("data"));

        String log = run(TestKernel.PYTHON, "src/test/python/stock_kernel.py", "stock", jar.toString());

        System.out.println(log);
        assertTrue(log.contains("ok   close"), log);
    }
}
