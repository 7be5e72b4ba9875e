package org.benchtop.engine.config;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Function;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/** A machine's YAML, read but not yet interpreted, so that single values can still be changed. Immutable. */
public final class MachineYaml {
    private static final long MAX_FILE_BYTES = 4 << 20;

    private final ConfigValue.Mapping root;
    private final Path baseDir;
    private final String defaultName;

    private MachineYaml(ConfigValue.Mapping root, Path baseDir, String defaultName) {
        this.root = root;
        this.baseDir = baseDir;
        this.defaultName = defaultName;
    }

    /**
     * Reads a file; variables come from the environment.
     *
     * @throws BenchtopException of kind CONFIG if it is missing, not readable or not valid YAML
     */
    public static MachineYaml load(Path file) {
        String fileName = String.valueOf(file.getFileName());
        Path folder = Optional.ofNullable(file.toAbsolutePath().getParent()).orElse(file.toAbsolutePath());
        int dot = fileName.lastIndexOf('.');
        return parse(
                readText(file),
                file.toString(),
                folder,
                dot > 0 ? fileName.substring(0, dot) : fileName,
                MachineYaml::environment);
    }

    private static String readText(Path file) {
        try {
            if (Files.isDirectory(file)) {
                throw BenchtopException.config(file + ": is a folder, expected a YAML file");
            }
            if (Files.exists(file) && Files.size(file) > MAX_FILE_BYTES) {
                throw BenchtopException.config(file + ": longer than " + Units.formatSize(MAX_FILE_BYTES));
            }
            return Files.readString(file);
        } catch (NoSuchFileException e) {
            throw BenchtopException.of(ErrorKind.CONFIG, file + ": no such file", e);
        } catch (CharacterCodingException e) {
            throw BenchtopException.of(ErrorKind.CONFIG, file + ": not UTF-8 text", e);
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.CONFIG, file + ": cannot be read: " + e.getMessage(), e);
        }
    }

    private static Optional<String> environment(String name) {
        return Optional.ofNullable(System.getenv(name));
    }

    /** Reads text; variables come from the environment. */
    public static MachineYaml parse(String text, String source, Path baseDir) {
        return parse(text, source, baseDir, "vm", MachineYaml::environment);
    }

    /**
     * Reads text.
     *
     * @param source the text's name in messages
     * @param baseDir the folder that relative paths start from
     * @param defaultName the machine's name if none is written
     * @param variables values of {@code ${NAME}}
     */
    public static MachineYaml parse(
            String text,
            String source,
            Path baseDir,
            String defaultName,
            Function<String, Optional<String>> variables) {
        ConfigValue root = YamlReader.read(text, source, "", 1, variables);
        if (!(root instanceof ConfigValue.Mapping mapping)) {
            throw new ConfigProblem(
                            root.position(),
                            "",
                            "expected a map with " + Suggestions.list(SpecReader.KEYS) + ", got " + root.shape())
                    .exception();
        }
        return of(mapping, baseDir, defaultName);
    }

    static MachineYaml of(ConfigValue.Mapping root, Path baseDir, String defaultName) {
        return new MachineYaml(root, baseDir.toAbsolutePath(), defaultName.replaceAll("[^A-Za-z0-9_.-]", "-"));
    }

    /** The document as written. */
    public ConfigValue.Mapping root() {
        return root;
    }

    /**
     * The document with one value changed, written as on the command line.
     *
     * @param assignment {@code PATH=VALUE}, such as {@code devices[0].cache=none}; the value is YAML
     * @throws BenchtopException of kind CONFIG if the path leads nowhere
     */
    public MachineYaml set(String assignment) {
        int equals = assignment.indexOf('=');
        if (equals <= 0) {
            throw BenchtopException.config(
                    "--set " + assignment + ": expected PATH=VALUE, such as devices[0].cache=none");
        }
        String path = assignment.substring(0, equals).strip();
        String text = assignment.substring(equals + 1);
        ConfigValue value = text.isBlank()
                ? new ConfigValue.Scalar("", false, SourcePosition.of("--set"), path)
                : YamlReader.read(text, "--set", path, 0, MachineYaml::environment);
        return new MachineYaml(SpecPath.set(root, path, value), baseDir, defaultName);
    }

    /** The document with one value changed to that of a Java object (see {@link ConfigValue#of}). */
    public MachineYaml set(String path, Object value) {
        return new MachineYaml(SpecPath.set(root, path, ConfigValue.of(value, path)), baseDir, defaultName);
    }

    /**
     * The spec.
     *
     * @throws BenchtopException of kind CONFIG for the first mistake
     */
    public MachineSpec spec() {
        Problems problems = new Problems();
        Optional<MachineSpec> spec = spec(problems);
        problems.throwFirst();
        return spec.orElseThrow();
    }

    /** The spec; empty after adding all mistakes to {@code problems}. */
    public Optional<MachineSpec> spec(Problems problems) {
        return new SpecReader(baseDir, defaultName, problems).read(root);
    }
}
