package org.benchtop.guests;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** ELF files of the guest programs that the build has put beside the classes; without them a program is compiled at run time. */
final class PrebuiltPrograms {
    private static final String FOLDER = "org/benchtop/guests/prebuilt/";

    private PrebuiltPrograms() {}

    static Optional<byte[]> load(String name) {
        try (InputStream stream = PrebuiltPrograms.class.getClassLoader().getResourceAsStream(FOLDER + name + ".elf")) {
            return stream == null ? Optional.empty() : Optional.of(stream.readAllBytes());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Compiles all programs into the class folder {@code arguments[0]}; the build calls this. */
    public static void main(String[] arguments) throws IOException {
        Path folder = Path.of(arguments[0]).resolve(FOLDER);
        Files.createDirectories(folder);
        for (GuestProgram program : GuestPrograms.list()) {
            Files.write(folder.resolve(program.name() + ".elf"), program.image().elf());
        }
    }
}
