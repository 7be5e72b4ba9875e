package org.benchtop.bench.experiment;

import java.util.TreeMap;
import org.benchtop.engine.config.ConfigValue;

/** One text for equal configurations, whatever their layout; only good for comparing. */
final class CanonicalText {
    private CanonicalText() {}

    static String of(ConfigValue value) {
        StringBuilder text = new StringBuilder();
        append(text, value);
        return text.toString();
    }

    private static void append(StringBuilder text, ConfigValue value) {
        switch (value) {
            case ConfigValue.Scalar scalar -> {
                if (scalar.isNull()) {
                    text.append('~');
                } else {
                    quote(text, scalar.text());
                }
            }
            case ConfigValue.Sequence sequence -> {
                text.append('[');
                for (ConfigValue item : sequence.items()) {
                    append(text, item);
                    text.append(',');
                }
                text.append(']');
            }
            case ConfigValue.Mapping mapping -> {
                text.append('{');
                new TreeMap<>(mapping.members()).forEach((name, member) -> {
                    quote(text, name);
                    text.append(':');
                    append(text, member.value());
                    text.append(',');
                });
                text.append('}');
            }
        }
    }

    private static void quote(StringBuilder text, String word) {
        text.append('"')
                .append(word.replace("\\", "\\\\").replace("\"", "\\\""))
                .append('"');
    }
}
