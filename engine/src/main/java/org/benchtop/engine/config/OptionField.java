package org.benchtop.engine.config;

import java.util.Optional;

/**
 * One option of a type.
 *
 * @param name how it is written in YAML
 * @param doc one sentence
 * @param type what may be written
 * @param defaultText the default as written in YAML; empty for none
 */
public record OptionField(String name, String doc, OptionType type, Optional<String> defaultText) {
    /** Whether it must be written. */
    public boolean required() {
        return defaultText.isEmpty() && !(type instanceof OptionType.Maybe);
    }
}
