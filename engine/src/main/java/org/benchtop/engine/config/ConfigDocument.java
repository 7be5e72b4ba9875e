package org.benchtop.engine.config;

import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Function;
import org.benchtop.spi.BenchtopException;

/** YAML documents that hold machines, such as experiments: read with the same bounds, paths and messages. */
public final class ConfigDocument {
    private static final String COMMAND_LINE = "--set";

    private ConfigDocument() {}

    /**
     * Reads a document.
     *
     * @param source its name in messages
     * @param variables values of {@code ${NAME}}
     * @throws BenchtopException of kind CONFIG if it is not valid YAML, or beyond the reader's bounds
     */
    public static ConfigValue read(String text, String source, Function<String, Optional<String>> variables) {
        return YamlReader.read(text, source, "", 1, variables);
    }

    /** A value from the command line, in YAML flow style, such as {@code none} or {@code [1, 2]}. */
    public static ConfigValue readValue(String text, String path) {
        return text.isBlank()
                ? new ConfigValue.Scalar("", false, SourcePosition.of(COMMAND_LINE), path)
                : YamlReader.read(text, COMMAND_LINE, path, 0, Optional::of);
    }

    /**
     * A machine with one value changed.
     *
     * @param path such as {@code devices[0].cache}
     * @param value what is put there
     * @throws BenchtopException of kind CONFIG, with the value's position, if the path leads nowhere
     */
    public static ConfigValue.Mapping set(ConfigValue.Mapping root, String path, ConfigValue value) {
        try {
            return SpecPath.set(root, path, value);
        } catch (BenchtopException e) {
            String message = String.valueOf(e.getMessage());
            String prefix = COMMAND_LINE + " ";
            if (!message.startsWith(prefix) || value.position().source().equals(COMMAND_LINE)) {
                throw e;
            }
            throw BenchtopException.of(e.kind(), value.position() + " " + message.substring(prefix.length()), e);
        }
    }

    /** The machine that a document describes, not yet interpreted. */
    public static MachineYaml machine(ConfigValue.Mapping root, Path baseDir, String defaultName) {
        return MachineYaml.of(root, baseDir, defaultName);
    }

    /** The document as YAML. */
    public static String write(ConfigValue.Mapping root) {
        return YamlWriter.write(root);
    }
}
