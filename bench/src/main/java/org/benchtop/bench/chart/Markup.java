package org.benchtop.bench.chart;

import java.util.Locale;

/** Writes well-formed XML: every element is closed and every text escaped. Not thread-safe. */
public final class Markup {
    private final StringBuilder text = new StringBuilder();

    /** Escapes text for content and attributes; characters that XML cannot hold become a replacement character. */
    public static String escape(String raw) {
        StringBuilder safe = new StringBuilder(raw.length() + 16);
        raw.codePoints().forEach(c -> {
            switch (c) {
                case '&' -> safe.append("&amp;");
                case '<' -> safe.append("&lt;");
                case '>' -> safe.append("&gt;");
                case '"' -> safe.append("&quot;");
                default -> {
                    boolean allowed =
                            c == '\t' || c == '\n' || c >= 0x20 && c < 0xd800 || c > 0xdfff && c < 0xfffe || c > 0xffff;
                    safe.appendCodePoint(allowed ? c : 0xfffd);
                }
            }
        });
        return safe.toString();
    }

    /** A coordinate with at most one decimal. */
    public static String number(double value) {
        String digits = String.format(Locale.ROOT, "%.1f", value);
        return digits.endsWith(".0") ? digits.substring(0, digits.length() - 2) : digits;
    }

    /** Opens an element; attributes come as name, value, name, value. */
    public Markup open(String element, String... attributes) {
        tag(element, attributes);
        text.append('>');
        return this;
    }

    /** Closes an element. */
    public Markup close(String element) {
        text.append("</").append(element).append('>');
        return this;
    }

    /** An element without content. */
    public Markup empty(String element, String... attributes) {
        tag(element, attributes);
        text.append("/>");
        return this;
    }

    /** An element with text. */
    public Markup element(String element, String content, String... attributes) {
        return open(element, attributes).content(content).close(element);
    }

    /** Text. */
    public Markup content(String raw) {
        text.append(escape(raw));
        return this;
    }

    /** Markup that is well-formed already. */
    public Markup raw(String markup) {
        text.append(markup);
        return this;
    }

    /** A line break in the source. */
    public Markup newline() {
        text.append('\n');
        return this;
    }

    private void tag(String element, String... attributes) {
        text.append('<').append(element);
        for (int i = 0; i < attributes.length; i += 2) {
            text.append(' ')
                    .append(attributes[i])
                    .append("=\"")
                    .append(escape(attributes[i + 1]))
                    .append('"');
        }
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
