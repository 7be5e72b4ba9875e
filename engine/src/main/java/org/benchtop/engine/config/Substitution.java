package org.benchtop.engine.config;

import java.util.Optional;
import java.util.function.Function;

/** Replaces {@code ${VAR}} and {@code ${VAR:-default}}; {@code $$} is a dollar sign. */
final class Substitution {
    private static final int MAX_LENGTH = 1 << 16;

    private Substitution() {}

    /**
     * The text with variables replaced; what a variable holds is not looked at again.
     *
     * @throws IllegalArgumentException with one line saying what is wrong
     */
    static String apply(String text, Function<String, Optional<String>> variables) {
        int dollar = text.indexOf('$');
        if (dollar < 0) {
            return text;
        }
        StringBuilder result = new StringBuilder();
        int at = 0;
        while (dollar >= 0) {
            result.append(text, at, dollar);
            if (text.startsWith("$$", dollar)) {
                result.append('$');
                at = dollar + 2;
            } else if (text.startsWith("${", dollar)) {
                int end = text.indexOf('}', dollar);
                if (end < 0) {
                    throw new IllegalArgumentException("\"${\" without \"}\" (write $$ for a dollar sign)");
                }
                result.append(value(text.substring(dollar + 2, end), variables));
                at = end + 1;
            } else {
                result.append('$');
                at = dollar + 1;
            }
            if (result.length() > MAX_LENGTH) {
                throw new IllegalArgumentException("longer than " + MAX_LENGTH + " characters with its variables");
            }
            dollar = text.indexOf('$', at);
        }
        return result.append(text, at, text.length()).toString();
    }

    private static String value(String expression, Function<String, Optional<String>> variables) {
        int separator = expression.indexOf(":-");
        String name = separator < 0 ? expression : expression.substring(0, separator);
        if (name.isEmpty() || !name.chars().allMatch(c -> Character.isLetterOrDigit(c) || c == '_')) {
            throw new IllegalArgumentException(
                    "\"${" + expression + "}\" is not a variable (write $$ for a dollar sign)");
        }
        Optional<String> value = variables.apply(name);
        if (separator >= 0) {
            return value.filter(text -> !text.isEmpty()).orElse(expression.substring(separator + 2));
        }
        return value.orElseThrow(() -> new IllegalArgumentException(
                "the variable " + name + " is not set (${" + name + ":-default} gives it a default)"));
    }

    /** The text such that {@link #apply} gives it back. */
    static String escape(String text) {
        return text.replace("$", "$$");
    }
}
