package org.benchtop.bench.report;

import java.util.Map;
import java.util.regex.Pattern;
import org.benchtop.engine.config.ConfigValue;

/** Writes a machine as readable YAML. */
final class YamlText {
    private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9_./~$][A-Za-z0-9_./+~${}-]*");

    private YamlText() {}

    static String of(ConfigValue.Mapping mapping) {
        StringBuilder text = new StringBuilder();
        mapping(text, mapping, "");
        return text.toString();
    }

    private static void mapping(StringBuilder text, ConfigValue.Mapping mapping, String indent) {
        for (Map.Entry<String, ConfigValue.Member> member : mapping.members().entrySet()) {
            text.append(indent).append(member.getKey()).append(':');
            ConfigValue value = member.getValue().value();
            if (isFlat(value)) {
                text.append(' ').append(flow(value)).append('\n');
                continue;
            }
            text.append('\n');
            switch (value) {
                case ConfigValue.Mapping inner -> mapping(text, inner, indent + "  ");
                case ConfigValue.Sequence sequence ->
                    sequence.items().forEach(item -> text.append(indent)
                            .append("  - ")
                            .append(flow(item))
                            .append('\n'));
                case ConfigValue.Scalar scalar -> throw new IllegalStateException("flat: " + scalar);
            }
        }
    }

    /** Whether a value is better written in one line: it holds no map or list, or it is a map below another. */
    private static boolean isFlat(ConfigValue value) {
        return switch (value) {
            case ConfigValue.Scalar ignored -> true;
            case ConfigValue.Sequence sequence ->
                sequence.items().stream().allMatch(ConfigValue.Scalar.class::isInstance);
            case ConfigValue.Mapping mapping ->
                mapping.members().values().stream()
                        .allMatch(member -> member.value() instanceof ConfigValue.Scalar);
        };
    }

    private static String flow(ConfigValue value) {
        return switch (value) {
            case ConfigValue.Scalar scalar -> scalar(scalar);
            case ConfigValue.Sequence sequence ->
                "[" + String.join(", ", sequence.items().stream().map(YamlText::flow).toList()) + "]";
            case ConfigValue.Mapping mapping ->
                "{ "
                        + String.join(
                                ", ",
                                mapping.members().entrySet().stream()
                                        .map(member -> member.getKey() + ": "
                                                + flow(member.getValue().value()))
                                        .toList())
                        + " }";
        };
    }

    private static String scalar(ConfigValue.Scalar scalar) {
        if (scalar.isNull()) {
            return "~";
        }
        boolean plain = PLAIN.matcher(scalar.text()).matches() && !scalar.text().contains("{") && !scalar.quoted();
        return plain
                ? scalar.text()
                : '"' + scalar.text().replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n") + '"';
    }
}
