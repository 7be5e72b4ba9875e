package org.benchtop.bench.experiment;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.benchtop.engine.config.ConfigProblem;
import org.benchtop.engine.config.ConfigValue;
import org.benchtop.engine.config.SourcePosition;
import org.benchtop.engine.config.Suggestions;
import org.benchtop.spi.BenchtopException;

/** Takes a YAML map apart; everything that is not as expected is an error with its position. */
record Section(ConfigValue.Mapping mapping) {
    /** The value as a map. */
    static Section of(ConfigValue value) {
        if (value instanceof ConfigValue.Mapping mapping) {
            return new Section(mapping);
        }
        throw error(value, "a map is expected, not " + value.shape());
    }

    /** Refuses keys that are not known. */
    Section allow(String what, List<String> known) {
        mapping.members().forEach((name, member) -> {
            if (!known.contains(name)) {
                throw new ConfigProblem(
                                member.keyPosition(),
                                ConfigValue.child(mapping.path(), name),
                                "unknown key \"" + name + "\" of " + what + Suggestions.hint(name, known))
                        .exception();
            }
        });
        return this;
    }

    Optional<ConfigValue> find(String name) {
        return mapping.find(name);
    }

    ConfigValue require(String name) {
        return find(name).orElseThrow(() -> error(mapping, "the key \"" + name + "\" is missing"));
    }

    String text(String name, String otherwise) {
        return find(name).map(Section::text).orElse(otherwise);
    }

    boolean flag(String name, boolean otherwise) {
        return find(name)
                .map(value -> switch (text(value)) {
                    case "on", "true", "yes" -> true;
                    case "off", "false", "no" -> false;
                    default -> throw error(value, value.shape() + " is neither on nor off");
                })
                .orElse(otherwise);
    }

    long number(String name, long otherwise, long min, long max) {
        return find(name).map(value -> number(value, min, max)).orElse(otherwise);
    }

    static long number(ConfigValue value, long min, long max) {
        String text = text(value);
        try {
            long number = Long.parseLong(text);
            if (number >= min && number <= max) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Said below, with the allowed range.
        }
        throw error(value, value.shape() + " is not a whole number between " + min + " and " + max);
    }

    static String text(ConfigValue value) {
        if (value instanceof ConfigValue.Scalar scalar && !scalar.isNull()) {
            return scalar.text();
        }
        throw error(value, "a word or number is expected, not " + value.shape());
    }

    static List<ConfigValue> list(ConfigValue value) {
        if (value instanceof ConfigValue.Sequence sequence) {
            return sequence.items();
        }
        throw error(value, "a list is expected, not " + value.shape());
    }

    /** One word or a list of words. */
    List<String> texts(String name) {
        List<String> texts = new ArrayList<>();
        find(name).ifPresent(value -> {
            if (value instanceof ConfigValue.Sequence sequence) {
                sequence.items().forEach(item -> texts.add(text(item)));
            } else {
                texts.add(text(value));
            }
        });
        return texts;
    }

    static BenchtopException error(ConfigValue value, String message) {
        return new ConfigProblem(value.position(), value.path(), message).exception();
    }

    /** An error at the key of a member. */
    BenchtopException keyError(String name, String message) {
        ConfigValue.Member member = mapping.members().get(name);
        SourcePosition position = member == null ? mapping.position() : member.keyPosition();
        return new ConfigProblem(position, ConfigValue.child(mapping.path(), name), message).exception();
    }
}
