package org.benchtop.system;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/** Runs the command line in a process of its own, as a user does, with the class path of the tests. */
final class Cli {
    private static final long TIMEOUT_SECONDS = 300;

    private Cli() {}

    record Result(int exitCode, String out, String err) {}

    /** The repository's root. */
    static Path root() {
        Path folder = Path.of("").toAbsolutePath();
        while (!Files.exists(folder.resolve("benchtop"))) {
            folder = Objects.requireNonNull(folder.getParent(), "not inside the project");
        }
        return folder;
    }

    static List<String> command(String... args) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC",
                "-Dbenchtop.home=" + root(),
                "-cp",
                System.getProperty("java.class.path"),
                "org.benchtop.shell.Main"));
        command.addAll(List.of(args));
        return command;
    }

    static Result run(Path folder, String... args) {
        try {
            Path out = Files.createTempFile("benchtop", ".out");
            Path err = Files.createTempFile("benchtop", ".err");
            try {
                Process process = new ProcessBuilder(command(args))
                        .directory(folder.toFile())
                        .redirectInput(ProcessBuilder.Redirect.from(
                                Path.of("/dev/null").toFile()))
                        .redirectOutput(out.toFile())
                        .redirectError(err.toFile())
                        .start();
                if (!process.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
                    process.destroyForcibly();
                    throw new AssertionError("no end after " + TIMEOUT_SECONDS + " s: " + String.join(" ", args) + "\n"
                            + Files.readString(out) + Files.readString(err));
                }
                return new Result(
                        process.exitValue(),
                        Files.readString(out, StandardCharsets.UTF_8),
                        Files.readString(err, StandardCharsets.UTF_8));
            } finally {
                Files.delete(out);
                Files.delete(err);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
