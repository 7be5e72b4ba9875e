package org.benchtop.notebook.command;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.benchtop.notebook.wire.Json;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.jspecify.annotations.Nullable;

/** The folder that tells Jupyter how to start the kernel (Making kernels for Jupyter, "Kernel specs"). */
final class KernelSpec {
    static final String NAME = "benchtop";

    private static final Pattern LEGAL_NAME = Pattern.compile("[a-z0-9._-]+");
    private static final List<String> LOGOS = List.of("logo-64x64.png", "logo-svg.svg");

    private final Path folder;

    private KernelSpec(Path folder) {
        this.folder = folder;
    }

    /**
     * A spec in Jupyter's data folder.
     *
     * @param data such as {@code ~/.local/share/jupyter}
     */
    static KernelSpec in(Path data, String name) {
        if (!LEGAL_NAME.matcher(name).matches()) {
            throw BenchtopException.config("kernel name \"" + name + "\": expected small letters, digits, . _ -");
        }
        return new KernelSpec(data.resolve("kernels").resolve(name));
    }

    /** The user's data folder of Jupyter. */
    static Path userData() {
        @Nullable String told = System.getenv("JUPYTER_DATA_DIR");
        if (told != null && !told.isBlank()) {
            return Path.of(told);
        }
        Path home = Path.of(System.getProperty("user.home"));
        if (System.getProperty("os.name", "").startsWith("Mac")) {
            return home.resolve("Library/Jupyter");
        }
        @Nullable String data = System.getenv("XDG_DATA_HOME");
        return (data == null || data.isBlank() ? home.resolve(".local/share") : Path.of(data)).resolve("jupyter");
    }

    /** The data folder of an installation of Python. */
    static Path prefixData(Path prefix) {
        return prefix.resolve("share/jupyter");
    }

    Path folder() {
        return folder;
    }

    /** What the spec says. */
    static JsonObject content(Path launcher, String displayName, Map<String, String> environment) {
        JsonArray argv = new JsonArray();
        List.of(launcher.toAbsolutePath().normalize().toString(), "kernel", "start", "{connection_file}")
                .forEach(argv::add);
        JsonObject env = new JsonObject();
        environment.forEach(env::addProperty);
        return Json.object(
                "argv",
                argv,
                "display_name",
                displayName,
                "language",
                "java",
                "interrupt_mode",
                "message",
                "env",
                env,
                "metadata",
                Json.object("debugger", false));
    }

    /** Whether it is there and says exactly this. */
    boolean says(JsonObject content) {
        return read().filter(content::equals).isPresent();
    }

    private Optional<JsonObject> read() {
        try {
            return Optional.of(Json.parse(Files.readAllBytes(folder.resolve("kernel.json"))));
        } catch (IOException | JsonParseException e) {
            return Optional.empty();
        }
    }

    /** Writes it; what was there before is replaced as a whole or not at all. */
    void install(JsonObject content) {
        Path parent = Optional.ofNullable(folder.getParent()).orElse(Path.of("."));
        try {
            Files.createDirectories(parent);
            Path fresh = Files.createTempDirectory(parent, "." + folder.getFileName() + "-");
            try {
                Files.setPosixFilePermissions(
                        fresh, java.nio.file.attribute.PosixFilePermissions.fromString("rwxr-xr-x"));
                Files.writeString(
                        fresh.resolve("kernel.json"),
                        new GsonBuilder()
                                        .setPrettyPrinting()
                                        .disableHtmlEscaping()
                                        .create()
                                        .toJson(content)
                                + "\n");
                for (String logo : LOGOS) {
                    try (InputStream in = KernelSpec.class.getResourceAsStream(logo)) {
                        if (in != null) {
                            Files.copy(in, fresh.resolve(logo));
                        }
                    }
                }
                delete(folder);
                Files.move(fresh, folder, StandardCopyOption.ATOMIC_MOVE);
            } finally {
                delete(fresh);
            }
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, folder + ": cannot be written: " + e, e);
        }
    }

    /**
     * Removes it.
     *
     * @return false if there was none
     * @throws BenchtopException of kind CONFIG if it belongs to another kernel
     */
    boolean uninstall() {
        if (!Files.exists(folder)) {
            return false;
        }
        boolean ours = read().map(json -> json.get("argv"))
                .filter(argv -> argv.isJsonArray()
                        && argv.getAsJsonArray().size() == 4
                        && argv.getAsJsonArray().get(1).getAsString().equals("kernel"))
                .isPresent();
        if (!ours) {
            throw BenchtopException.config(folder + " is not a kernel of Benchtop; it stays");
        }
        try {
            delete(folder);
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, folder + ": cannot be removed: " + e, e);
        }
        return true;
    }

    private static void delete(Path root) throws IOException {
        if (!Files.exists(root)) {
            return;
        }
        try (Stream<Path> files = Files.walk(root)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
