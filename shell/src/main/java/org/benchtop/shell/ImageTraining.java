package org.benchtop.shell;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

/** Runs image commands on small images, for the launcher: the classes that they need go into the AOT cache. */
public final class ImageTraining {
    private static final int BYTES = 2 << 20;
    /** Words; those with {@code @} are files. */
    private static final List<String> COMMANDS = List.of(
            "convert -f raw -O qcow2 @data @packed",
            "convert -f qcow2 -O raw @packed @out",
            "convert -p -O qcow2 -c @packed @small",
            "convert -f raw -O raw @data @out",
            "info @packed",
            "info --output=json @packed",
            "map --output=json @packed",
            "check @packed",
            "compare @data @packed",
            "create -q -f qcow2 -b packed -F qcow2 @top",
            "create -q -f raw @empty 1M",
            "resize -q @top +1M",
            "snapshot -c one @top",
            "snapshot -l @top",
            "rebase -u -b packed -F qcow2 @top",
            "commit -q @top");

    private ImageTraining() {}

    /** Runs them all and ends the process; what they print is lost. */
    public static void main(String[] args) throws IOException {
        Path folder = Files.createTempDirectory("benchtop-image");
        try {
            byte[] content = new byte[BYTES];
            new Random(1).nextBytes(content);
            Arrays.fill(content, BYTES / 4, BYTES / 2, (byte) 0);
            Files.write(folder.resolve("data"), content);
            for (String command : COMMANDS) {
                run(folder, command);
            }
        } finally {
            remove(folder);
        }
        System.exit(0);
    }

    private static void run(Path folder, String command) throws IOException {
        List<String> words = new ArrayList<>(List.of("image"));
        for (String word : command.split(" ", -1)) {
            words.add(word.startsWith("@") ? folder.resolve(word.substring(1)).toString() : word);
        }
        PrintWriter nowhere = new PrintWriter(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
        int code = Main.run(nowhere, nowhere, new Terminal(false, false, 100), words.toArray(String[]::new));
        if (code != 0) {
            throw new IOException("image " + command + " gave " + code);
        }
    }

    private static void remove(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : (Iterable<Path>) files.sorted(Comparator.reverseOrder())::iterator) {
                Files.delete(file);
            }
        }
    }
}
