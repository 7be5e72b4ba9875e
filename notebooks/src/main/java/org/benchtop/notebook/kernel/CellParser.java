package org.benchtop.notebook.kernel;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Splits the text of a cell into Java and magics. */
final class CellParser {
    private static final Pattern CELL_MAGIC = Pattern.compile("%%([A-Za-z][\\w.-]*)(?:[ \\t]+(.*))?");
    private static final Pattern LINE_MAGIC = Pattern.compile("[ \\t]*%([A-Za-z][\\w.-]*)(?:[ \\t]+(.*))?");

    private CellParser() {}

    /** A part of a cell. */
    sealed interface Part {
        /** The line of the cell, from 0, on which it starts. */
        int line();
    }

    /** Java code. */
    record Java(int line, String code) implements Part {}

    /** {@code %name arguments} on a line of its own. */
    record LineMagic(int line, String name, String arguments) implements Part {}

    /**
     * {@code %%name arguments} on the first line, which rules over the rest.
     *
     * @param line the line of the name
     * @param body all lines below it
     */
    record CellMagic(int line, String name, String arguments, String body) implements Part {}

    /**
     * Parses.
     *
     * @param complete tells whether Java code could end where it does; a line that starts with {@code %} within a
     *     statement is arithmetic
     */
    static List<Part> parse(String text, Predicate<String> complete) {
        String[] lines = text.split("\n", -1);
        int first = 0;
        while (first < lines.length && lines[first].isBlank()) {
            first++;
        }
        if (first < lines.length) {
            Matcher magic = CELL_MAGIC.matcher(lines[first].stripTrailing());
            if (magic.matches()) {
                String body = String.join("\n", List.of(lines).subList(first + 1, lines.length));
                return List.of(new CellMagic(first, magic.group(1), arguments(magic), body));
            }
        }
        List<Part> parts = new ArrayList<>();
        StringBuilder java = new StringBuilder();
        int start = 0;
        for (int i = 0; i < lines.length; i++) {
            Matcher magic = LINE_MAGIC.matcher(lines[i].stripTrailing());
            if (magic.matches() && (java.toString().isBlank() || complete.test(java.toString()))) {
                addJava(parts, start, java);
                parts.add(new LineMagic(i, magic.group(1), arguments(magic)));
                start = i + 1;
            } else {
                java.append(java.isEmpty() && i == start ? "" : "\n").append(lines[i]);
            }
        }
        addJava(parts, start, java);
        return parts;
    }

    private static String arguments(Matcher magic) {
        return magic.group(2) == null ? "" : magic.group(2).strip();
    }

    private static void addJava(List<Part> parts, int start, StringBuilder java) {
        if (!java.toString().isBlank()) {
            parts.add(new Java(start, java.toString()));
        }
        java.setLength(0);
    }

    /** Splits arguments at blanks; quotes keep blanks and are removed. */
    static List<String> words(String arguments) {
        List<String> words = new ArrayList<>();
        StringBuilder word = new StringBuilder();
        boolean any = false;
        char quote = 0;
        for (int i = 0; i < arguments.length(); i++) {
            char c = arguments.charAt(i);
            if (quote != 0) {
                if (c == quote) {
                    quote = 0;
                } else {
                    word.append(c);
                }
            } else if (c == '"' || c == '\'') {
                quote = c;
                any = true;
            } else if (Character.isWhitespace(c)) {
                if (any) {
                    words.add(word.toString());
                }
                word.setLength(0);
                any = false;
            } else {
                word.append(c);
                any = true;
            }
        }
        if (any) {
            words.add(word.toString());
        }
        return words;
    }
}
