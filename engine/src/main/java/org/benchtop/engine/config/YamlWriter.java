package org.benchtop.engine.config;

import java.util.Map;
import java.util.regex.Pattern;

/** Writes values as YAML that {@link YamlReader} reads back the same. */
final class YamlWriter {
    private static final int LINE_LENGTH = 110;
    private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9_./+-][A-Za-z0-9_./+@%=-]*");
    private static final Pattern AMBIGUOUS = Pattern.compile(
            "(?i)null|true|false|yes|no|on|off|[-+]?[0-9._]+(e[-+]?[0-9]+)?|[-+]?0[xo][0-9a-f]+|[-+]?\\.(inf|nan)|-|---.*|\\.\\.\\..*");

    private final StringBuilder out = new StringBuilder();

    private YamlWriter() {}

    static String write(ConfigValue.Mapping root) {
        YamlWriter writer = new YamlWriter();
        writer.block(root, 0);
        return writer.out.toString();
    }

    private void block(ConfigValue.Mapping mapping, int indent) {
        for (Map.Entry<String, ConfigValue.Member> member : mapping.members().entrySet()) {
            indent(indent);
            out.append(scalar(new ConfigValue.Scalar(member.getKey(), true, SourcePosition.NONE, "")))
                    .append(':');
            nested(member.getValue().value(), indent);
        }
    }

    private void nested(ConfigValue value, int indent) {
        String flow = flow(value);
        boolean top = indent == 0 && !(value instanceof ConfigValue.Scalar) && holdsCollections(value);
        if (!top && indent + flow.length() < LINE_LENGTH || isEmpty(value)) {
            out.append(' ').append(flow).append('\n');
            return;
        }
        out.append('\n');
        switch (value) {
            case ConfigValue.Mapping mapping -> block(mapping, indent + 2);
            case ConfigValue.Sequence sequence -> {
                for (ConfigValue item : sequence.items()) {
                    indent(indent + 2);
                    out.append('-');
                    nested(item, indent + 2);
                }
            }
            case ConfigValue.Scalar scalar -> {
                indent(indent + 2);
                out.append(flow).append('\n');
            }
        }
    }

    private static boolean isEmpty(ConfigValue value) {
        return value instanceof ConfigValue.Mapping mapping && mapping.members().isEmpty()
                || value instanceof ConfigValue.Sequence sequence
                        && sequence.items().isEmpty();
    }

    private static boolean holdsCollections(ConfigValue value) {
        return switch (value) {
            case ConfigValue.Mapping mapping ->
                mapping.members().values().stream().anyMatch(m -> !(m.value() instanceof ConfigValue.Scalar));
            case ConfigValue.Sequence sequence ->
                sequence.items().stream().anyMatch(i -> !(i instanceof ConfigValue.Scalar));
            case ConfigValue.Scalar scalar -> false;
        };
    }

    private void indent(int spaces) {
        out.repeat(' ', spaces);
    }

    private static String flow(ConfigValue value) {
        return switch (value) {
            case ConfigValue.Scalar scalar -> scalar(scalar);
            case ConfigValue.Sequence sequence ->
                "["
                        + String.join(
                                ", ",
                                sequence.items().stream().map(YamlWriter::flow).toList()) + "]";
            case ConfigValue.Mapping mapping -> {
                if (mapping.members().isEmpty()) {
                    yield "{}";
                }
                StringBuilder flow = new StringBuilder("{ ");
                mapping.members().forEach((name, member) -> {
                    if (flow.length() > 2) {
                        flow.append(", ");
                    }
                    flow.append(scalar(new ConfigValue.Scalar(name, true, SourcePosition.NONE, "")))
                            .append(": ")
                            .append(flow(member.value()));
                });
                yield flow.append(" }").toString();
            }
        };
    }

    private static String scalar(ConfigValue.Scalar scalar) {
        if (scalar.isNull()) {
            return "null";
        }
        String text = scalar.text();
        if (PLAIN.matcher(text).matches()
                && (!scalar.quoted() || !AMBIGUOUS.matcher(text).matches())) {
            return text;
        }
        return quoted(Substitution.escape(text));
    }

    private static String quoted(String text) {
        StringBuilder result = new StringBuilder(text.length() + 2).append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"' -> result.append("\\\"");
                case '\\' -> result.append("\\\\");
                case '\n' -> result.append("\\n");
                case '\t' -> result.append("\\t");
                case '\r' -> result.append("\\r");
                default -> {
                    if (c < 0x20
                            || c >= 0x7f && c < 0xa0
                            || c >= 0x2028 && c <= 0x2029
                            || c == 0xfeff
                            || Character.isSurrogate(c)
                            || c >= 0xfffe) {
                        result.append(String.format("\\u%04x", (int) c));
                    } else {
                        result.append(c);
                    }
                }
            }
        }
        return result.append('"').toString();
    }
}
