package org.benchtop.shell;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs image commands, ours in this process and those of others. */
final class ImageCli {
    private ImageCli() {}

    /** How a command ended. */
    record Output(int exitCode, String out, String err) {}

    /** {@code benchtop image WORDS}. */
    static Output benchtop(Object... words) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        List<String> all = new ArrayList<>(List.of("image"));
        for (Object word : words) {
            all.add(word.toString());
        }
        int exitCode = Main.run(
                new PrintWriter(out, true),
                new PrintWriter(err, true),
                new Terminal(false, false, 100),
                all.toArray(String[]::new));
        return new Output(exitCode, out.toString(), err.toString());
    }

    /** The output of a {@code benchtop image} that must succeed. */
    static String ok(Object... words) {
        Output output = benchtop(words);
        assertEquals(0, output.exitCode, () -> "benchtop image " + List.of(words) + ": " + output);
        return output.out;
    }

    /** A tool of the host. */
    static Output execute(String tool, Object... words) {
        List<String> command = new ArrayList<>(List.of("/usr/bin/" + tool));
        for (Object word : words) {
            command.add(word.toString());
        }
        try {
            Path out = Files.createTempFile("benchtop", ".out");
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(out.toFile())
                    .start();
            assertTrue(process.waitFor(120, TimeUnit.SECONDS), () -> command + " does not end");
            String text = Files.readString(out);
            Files.delete(out);
            return new Output(process.exitValue(), text, "");
        } catch (IOException e) {
            throw new AssertionError(command + ": " + e, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    /** The output of a {@code qemu-img} that must succeed. */
    static String qemu(Object... words) {
        Output output = execute("qemu-img", words);
        assertEquals(0, output.exitCode, () -> "qemu-img " + List.of(words) + ": " + output);
        return output.out;
    }
}
