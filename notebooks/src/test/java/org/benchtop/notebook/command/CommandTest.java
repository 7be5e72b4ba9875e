package org.benchtop.notebook.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.benchtop.shell.Main;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code benchtop kernel} and {@code benchtop notebook} in processes of their own, with a home folder and a PATH of their own. */
class CommandTest {
    private static final long TIMEOUT_MINUTES = 5;

    @TempDir
    Path folder = Path.of("");

    private Path home = Path.of("");
    private Path programs = Path.of("");

    /** How a command ended. */
    private record Result(int exitCode, String out, String err) {}

    @BeforeEach
    void folders() throws IOException {
        home = Files.createDirectories(folder.resolve("home"));
        programs = Files.createDirectories(folder.resolve("bin"));
    }

    private Result benchtop(String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-Duser.home=" + home,
                "-Dbenchtop.home="
                        + Path.of("").toAbsolutePath().resolveSibling("").normalize(),
                "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path", "")),
                Main.class.getName()));
        command.addAll(List.of(arguments));
        Path out = folder.resolve("out.txt");
        Path err = folder.resolve("err.txt");
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectInput(ProcessBuilder.Redirect.from(new java.io.File("/dev/null")))
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("JUPYTER") || name.startsWith("XDG"));
        builder.environment().put("PATH", programs.toString());
        Process process = builder.start();
        try {
            assertTrue(process.waitFor(TIMEOUT_MINUTES, TimeUnit.MINUTES), "still running");
        } finally {
            process.destroyForcibly();
        }
        return new Result(process.exitValue(), Files.readString(out), Files.readString(err));
    }

    private void program(String name, String script) throws IOException {
        Path file = Files.writeString(programs.resolve(name), "#!/bin/sh\n" + script + "\n");
        assertTrue(file.toFile().setExecutable(true));
    }

    private static Path spec(Path data) {
        return data.resolve("kernels/benchtop/kernel.json");
    }

    private Path userData() {
        return home.resolve(
                System.getProperty("os.name", "").startsWith("Mac") ? "Library/Jupyter" : ".local/share/jupyter");
    }

    @Test
    void kernelIsInstalledForTheUserAndRemoved() throws IOException, InterruptedException {
        Result installed = benchtop(
                "kernel", "install", "--user", "--jvm-option", "-Xmx3g", "--env", "A=b", "--display-name", "Mine");
        String spec = Files.readString(spec(userData()));
        Result removed = benchtop("kernel", "uninstall");
        Result again = benchtop("kernel", "uninstall");

        assertEquals(0, installed.exitCode(), installed.err());
        assertTrue(installed.out().contains(userData().toString()), installed.out());
        assertTrue(spec.contains("-Xmx3g") && spec.contains("\"A\"") && spec.contains("Mine"), spec);
        assertTrue(spec.contains("benchtop\""), spec);
        assertEquals(0, removed.exitCode(), removed.err());
        assertFalse(Files.exists(spec(userData())));
        assertEquals(2, again.exitCode());
        assertEquals(1, again.err().lines().count(), again.err());
    }

    @Test
    void kernelIsInstalledBelowAPrefix() throws IOException, InterruptedException {
        Path prefix = folder.resolve("prefix");

        Result installed = benchtop("kernel", "install", "--prefix", prefix.toString());
        boolean there = Files.exists(spec(prefix.resolve("share/jupyter")));
        Result removed = benchtop("kernel", "uninstall", "--prefix", prefix.toString());

        assertEquals(0, installed.exitCode(), installed.err());
        assertTrue(there, installed.out());
        assertEquals(0, removed.exitCode(), removed.err());
        assertFalse(Files.exists(userData()), "nothing for the user");
    }

    @Test
    void kernelIsInstalledForTheEnvironmentOfPython() throws IOException, InterruptedException {
        Result without = benchtop("kernel", "install", "--sys-prefix");
        program("python3", "echo '" + folder.resolve("venv") + "'");
        Result installed = benchtop("kernel", "install", "--sys-prefix");

        assertEquals(3, without.exitCode());
        assertTrue(without.err().contains("python3 cannot be run"), without.err());
        assertEquals(0, installed.exitCode(), installed.err());
        assertTrue(Files.exists(spec(folder.resolve("venv/share/jupyter"))));
    }

    @Test
    void wrongOptionsAreOneLineAndInstallNothing() throws IOException, InterruptedException {
        for (List<String> wrong : List.of(
                List.of("--java-home", "/nowhere"),
                List.of("--name", "../evil"),
                List.of("--user", "--prefix", "/tmp"))) {
            List<String> words = new ArrayList<>(List.of("kernel", "install"));
            words.addAll(wrong);

            Result result = benchtop(words.toArray(new String[0]));

            assertEquals(2, result.exitCode(), result.err());
            assertEquals(1, result.err().lines().count(), result.err());
        }
        assertFalse(Files.exists(userData()));
    }

    @Test
    void notebookWithoutJupyterSaysHowToGetIt() throws IOException, InterruptedException {
        Result result = benchtop("notebook");

        assertEquals(3, result.exitCode());
        assertTrue(
                result.err()
                        .contains(
                                "apt-get install -y --no-install-recommends jupyter-notebook jupyter-nbconvert jupyter-client"),
                result.err());
        assertTrue(Files.exists(spec(userData())), "the kernel is there when Jupyter comes");
    }

    @Test
    void notebookStartsJupyterWithItsOptions() throws IOException, InterruptedException {
        program("jupyter-notebook", "echo \"got $*\"; exit 7");

        Result result = benchtop("notebook", "--", "--port", "9000", "a.ipynb");
        Result second = benchtop("notebook");

        assertEquals(7, result.exitCode(), result.err());
        assertEquals("got --port 9000 a.ipynb", result.out().strip());
        assertTrue(result.err().contains("installed the kernel"), result.err());
        assertEquals("", second.err());
    }

    @Test
    void jupyterListsTheInstalledKernel() throws IOException, InterruptedException {
        Path jupyter = Path.of("/usr/bin/jupyter-kernelspec");
        assumeTrue(Files.isExecutable(jupyter), "jupyter-client is not installed (.ci/setup installs it)");
        benchtop("kernel", "install", "--user");
        Path list = folder.resolve("list.txt");

        ProcessBuilder builder = new ProcessBuilder(jupyter.toString(), "list")
                .redirectErrorStream(true)
                .redirectOutput(list.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("JUPYTER") || name.startsWith("XDG"));
        builder.environment().put("HOME", home.toString());
        Process process = builder.start();
        assertTrue(process.waitFor(TIMEOUT_MINUTES, TimeUnit.MINUTES));

        assertTrue(Files.readString(list).contains("benchtop"), Files.readString(list));
    }
}
