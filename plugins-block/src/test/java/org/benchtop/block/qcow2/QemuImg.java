package org.benchtop.block.qcow2;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The referee: QEMU's own tools, where they are installed ({@code qemu-utils}). */
final class QemuImg {
    private QemuImg() {}

    static boolean available() {
        return Files.isExecutable(Path.of("/usr/bin/qemu-img")) && Files.isExecutable(Path.of("/usr/bin/qemu-io"));
    }

    /** Output and exit code of a run. */
    record Result(int exitCode, String output) {}

    static Result execute(String tool, List<String> arguments) {
        List<String> command = new ArrayList<>(List.of("/usr/bin/" + tool));
        command.addAll(arguments);
        try {
            Path output = Files.createTempFile("benchtop", ".out");
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            if (!process.waitFor(120, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                fail(command + " does not end");
            }
            String text = Files.readString(output, StandardCharsets.ISO_8859_1);
            Files.delete(output);
            return new Result(process.exitValue(), text);
        } catch (IOException e) {
            throw new AssertionError(command + ": " + e, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    /** Runs {@code qemu-img} and wants success. */
    static String run(String what, String... arguments) {
        Result result = execute("qemu-img", List.of(arguments));
        assertEquals(0, result.exitCode, () -> what + ": qemu-img " + List.of(arguments) + ": " + result.output);
        return result.output;
    }

    /** Runs commands of {@code qemu-io} on an image and wants success. */
    static String io(Path image, String... commands) {
        List<String> arguments = new ArrayList<>();
        for (String command : commands) {
            arguments.add("-c");
            arguments.add(command);
        }
        arguments.addAll(List.of("-f", "qcow2", image.toString()));
        Result result = execute("qemu-io", arguments);
        assertEquals(0, result.exitCode, () -> "qemu-io " + arguments + ": " + result.output);
        if (result.output.contains("Pattern verification failed") || result.output.contains("failed:")) {
            fail("qemu-io " + arguments + ": " + result.output);
        }
        return result.output;
    }

    /** Wants an image without faults and without leaks. */
    static void check(Path image, String what) {
        run(what, "check", "-f", "qcow2", image.toString());
    }
}
