package org.benchtop.system.bench;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.benchtop.engine.plugin.PluginRegistry;

/**
 * Measures the time from starting a process to the first byte on the guest's serial console and to the end of the
 * process, of {@code ./benchtop run} and of {@code qemu-system-x86_64} with the same exported {@code hello} ELF, in
 * turns. The first byte comes a little after the first guest instruction: it is an upper bound for that.
 */
public final class StartUp {
    private StartUp() {}

    private record Sample(double firstByteMillis, double endMillis) {}

    private static Sample time(List<String> command, Path folder) throws IOException, InterruptedException {
        long start = System.nanoTime();
        Process process = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectError(folder.resolve("err.txt").toFile())
                .start();
        long first = 0;
        int bytes = 0;
        try (InputStream output = process.getInputStream()) {
            while (output.read() >= 0) {
                if (bytes++ == 0) {
                    first = System.nanoTime();
                }
            }
        }
        int exitCode = process.waitFor();
        double end = (System.nanoTime() - start) / 1e6;
        if (bytes == 0) {
            throw new IOException(String.join(" ", command) + ": exit code " + exitCode + ", no output; "
                    + Files.readString(folder.resolve("err.txt"), StandardCharsets.UTF_8));
        }
        return new Sample((first - start) / 1e6, end);
    }

    private static double quantile(List<Sample> samples, boolean end, double q) {
        double[] values = samples.stream()
                .mapToDouble(s -> end ? s.endMillis : s.firstByteMillis)
                .sorted()
                .toArray();
        return values[(int) Math.round(q * (values.length - 1))];
    }

    /** Arguments: the launcher, then the number of rounds. */
    public static void main(String[] args) throws IOException, InterruptedException {
        Path launcher = Path.of(args[0]).toAbsolutePath();
        int rounds = args.length > 1 ? Integer.parseInt(args[1]) : 11;
        Path folder = Files.createTempDirectory("benchtop-start");
        try (PluginRegistry plugins = PluginRegistry.builtIn()) {
            Files.write(
                    folder.resolve("hello.elf"), plugins.guestProgram("hello").elf());
        }
        Files.writeString(folder.resolve("hello.yaml"), """
                name: start
                accel: kvm
                memory: 64MiB
                boot: { guest: hello }
                chardevs:
                  tty0: { type: stdio }
                devices:
                  - { type: isa-serial, chardev: tty0 }
                """);
        List<String> ours = List.of(launcher.toString(), "run", "-q", "hello.yaml");
        List<String> theirs = List.of(
                ("qemu-system-x86_64 -accel kvm -M pc -m 64 -kernel hello.elf -display none -monitor none -no-reboot "
                                + "-serial stdio -nodefaults -device isa-debug-exit,iobase=0x501,iosize=4")
                        .split(" "));
        List<Sample> benchtop = new ArrayList<>();
        List<Sample> qemu = new ArrayList<>();
        time(ours, folder);
        for (int round = 0; round < rounds; round++) {
            benchtop.add(time(ours, folder));
            qemu.add(time(theirs, folder));
        }
        System.out.printf(Locale.ROOT, "%d rounds, ms: first byte p50 (p10–p90), end of process p50%n", rounds);
        print("benchtop", benchtop);
        print("qemu", qemu);
        try (var files = Files.list(folder)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                Files.delete(file);
            }
        }
        Files.delete(folder);
    }

    private static void print(String name, List<Sample> samples) {
        System.out.printf(
                Locale.ROOT,
                "%-10s %6.0f (%.0f–%.0f)  %6.0f%n",
                name,
                quantile(samples, false, 0.5),
                quantile(samples, false, 0.1),
                quantile(samples, false, 0.9),
                quantile(samples, true, 0.5));
    }
}
