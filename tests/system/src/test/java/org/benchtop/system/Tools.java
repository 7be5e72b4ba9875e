package org.benchtop.system;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;

/** Programs of the host that tests use as referees. */
final class Tools {
    private static final long TIMEOUT_SECONDS = 120;

    private Tools() {}

    /** Skips the test if a program is missing. */
    static void assume(String program) {
        boolean found = List.of(String.valueOf(System.getenv("PATH")).split(":", -1)).stream()
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
        Assumptions.assumeTrue(found, program + " is not installed (.ci/setup installs it)");
    }

    /** Whether a server takes connections at a socket: its file is there between {@code bind} and {@code listen} too. */
    static boolean listens(Path socket) {
        try (SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
            return channel.isConnected();
        } catch (IOException notYet) {
            return false;
        }
    }

    /** Runs a program; fails the test if it fails. Returns what it printed. */
    static String run(Path folder, String... command) {
        Result result = tryRun(folder, command);
        if (result.exitCode() != 0) {
            throw new AssertionError(
                    String.join(" ", command) + ": exit code " + result.exitCode() + "\n" + result.output());
        }
        return result.output();
    }

    /** How a program ended. */
    record Result(int exitCode, String output) {}

    static Result tryRun(Path folder, String... command) {
        try {
            Path out = Files.createTempFile("benchtop", ".out");
            try {
                Process process = new ProcessBuilder(command)
                        .directory(folder.toFile())
                        .redirectErrorStream(true)
                        .redirectInput(ProcessBuilder.Redirect.from(
                                Path.of("/dev/null").toFile()))
                        .redirectOutput(out.toFile())
                        .start();
                if (!process.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
                    process.destroyForcibly();
                    throw new AssertionError("no end after " + TIMEOUT_SECONDS + " s: " + String.join(" ", command)
                            + "\n" + Files.readString(out));
                }
                return new Result(process.exitValue(), Files.readString(out, StandardCharsets.UTF_8));
            } finally {
                Files.delete(out);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
