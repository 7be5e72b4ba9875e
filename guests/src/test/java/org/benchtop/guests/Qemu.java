package org.benchtop.guests;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/** Boots guest images under {@code qemu-system-x86_64} without KVM. */
public final class Qemu {
    private static final String PROGRAM = "qemu-system-x86_64";
    private static final int TIMEOUT_SECONDS = 180;

    /** How a run ended: the guest's exit code, and the serial output with plain line ends. */
    public record Run(int exitCode, String console) {
        /** The line between the result markers. */
        public String result() {
            int begin = console.indexOf("@@benchtop:result:begin\n");
            int end = console.indexOf("@@benchtop:result:end");
            return begin < 0 || end < 0
                    ? ""
                    : console.substring(begin, end).lines().skip(1).findFirst().orElse("");
        }

        /** The number that follows {@code "key":} in the result, the first time. */
        public long number(String key) {
            String result = result();
            int at = result.indexOf("\"" + key + "\":");
            if (at < 0) {
                throw new AssertionError("no \"" + key + "\" in " + result);
            }
            int from = at + key.length() + 3;
            int to = from;
            while (to < result.length() && Character.isDigit(result.charAt(to))) {
                to++;
            }
            return Long.parseLong(result, from, to, 10);
        }
    }

    private Qemu() {}

    public static void assumeInstalled() {
        boolean found = Stream.of(System.getenv().getOrDefault("PATH", "").split(":"))
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, PROGRAM)));
        Assumptions.assumeTrue(found, PROGRAM + " is not installed (Debian package qemu-system-x86)");
    }

    /** Boots {@code elf}; skips the test where QEMU is missing. */
    public static Run boot(byte[] elf, String cmdline, String... more) throws IOException, InterruptedException {
        assumeInstalled();
        Path folder = Files.createTempDirectory("benchtop-guest");
        Path image = folder.resolve("guest.elf");
        Path output = folder.resolve("serial.txt");
        Path messages = folder.resolve("messages.txt");
        try {
            Files.write(image, elf);
            List<String> command = new ArrayList<>(List.of(
                    PROGRAM,
                    "-accel",
                    "tcg",
                    "-M",
                    "pc",
                    "-m",
                    "256",
                    "-kernel",
                    image.toString(),
                    "-append",
                    cmdline,
                    "-display",
                    "none",
                    "-serial",
                    "file:" + output,
                    "-monitor",
                    "none",
                    "-no-reboot",
                    "-device",
                    "isa-debug-exit,iobase=0x501,iosize=4"));
            command.addAll(List.of(more));
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(messages.toFile())
                    .start();
            if (!process.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
                throw new AssertionError("the guest did not end in " + TIMEOUT_SECONDS + " s: " + text(output));
            }
            int status = process.exitValue();
            // QEMU's own errors end with status 1 too, but then the guest has not said a word.
            if (status % 2 == 0 || text(output).isEmpty()) {
                throw new AssertionError("QEMU ended with status " + status + ": " + text(messages) + text(output));
            }
            return new Run(status >> 1, text(output));
        } finally {
            for (Path file : List.of(image, output, messages, folder)) {
                Files.deleteIfExists(file);
            }
        }
    }

    private static String text(Path file) throws IOException {
        return Files.exists(file)
                ? Files.readString(file, StandardCharsets.ISO_8859_1).replace("\r\n", "\n")
                : "";
    }

    /** Arguments for a virtio-blk disk in {@code file}. */
    public static String[] disk(Path file, String deviceOptions) {
        return new String[] {
            "-drive",
            "if=none,id=d0,format=raw,discard=unmap,file=" + file,
            "-device",
            "virtio-blk-pci,drive=d0,disable-legacy=on" + (deviceOptions.isEmpty() ? "" : "," + deviceOptions)
        };
    }
}
