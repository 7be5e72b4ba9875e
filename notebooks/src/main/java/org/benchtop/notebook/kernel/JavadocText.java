package org.benchtop.notebook.kernel;

import java.util.List;
import java.util.regex.Pattern;
import jdk.jshell.SourceCodeAnalysis.Documentation;
import org.jspecify.annotations.Nullable;

/** Javadoc comments as plain text. */
final class JavadocText {
    /** How many overloads are told in full. */
    static final int DEFAULT_ENTRIES = 8;

    private static final Pattern INLINE_TAG =
            Pattern.compile("\\{@(?:code|literal|link|linkplain|value|systemProperty)\\s+([^{}]*)\\}");
    private static final Pattern OTHER_TAG = Pattern.compile("\\{@\\w+\\s*([^{}]*)\\}");
    private static final Pattern PARAGRAPH =
            Pattern.compile("(?i)\\s*<(?:p|br|/?ul|/?ol|/?dl|pre|/pre|blockquote|/blockquote)[^>]*>\\s*");
    private static final Pattern ITEM = Pattern.compile("(?i)\\s*<(?:li|dt|dd)[^>]*>\\s*");
    private static final Pattern ELEMENT = Pattern.compile("</?[A-Za-z][^>]*>");
    private static final Pattern BLOCK_TAG = Pattern.compile("(?m)^\\s*@(\\w+)\\s+");

    private JavadocText() {}

    /** Signatures with their comments. */
    static String of(List<Documentation> documentation, int entries) {
        StringBuilder text = new StringBuilder();
        int shown = 0;
        for (Documentation one : documentation) {
            if (shown++ == entries) {
                text.append("\n… and ").append(documentation.size() - entries).append(" more\n");
                break;
            }
            text.append(text.isEmpty() ? "" : "\n").append(one.signature()).append('\n');
            @Nullable String javadoc = one.javadoc();
            if (javadoc != null && !javadoc.isBlank()) {
                plain(javadoc)
                        .lines()
                        .forEach(line -> text.append("    ").append(line).append('\n'));
            }
        }
        return text.toString().stripTrailing();
    }

    /** A comment without markup. */
    static String plain(String javadoc) {
        String text = javadoc.replaceAll("(?m)^ ", "");
        String before;
        do {
            before = text;
            text = INLINE_TAG.matcher(text).replaceAll("$1");
        } while (!text.equals(before));
        text = OTHER_TAG.matcher(text).replaceAll("$1");
        text = PARAGRAPH.matcher(text).replaceAll("\n\n");
        text = ITEM.matcher(text).replaceAll("\n- ");
        text = ELEMENT.matcher(text).replaceAll("");
        text = BLOCK_TAG.matcher(text).replaceAll("$1: ");
        return text.replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&nbsp;", " ")
                .replace("&quot;", "\"")
                .replace("&amp;", "&")
                .replaceAll("\n{3,}", "\n\n")
                .strip();
    }
}
