package org.benchtop.notebook.kernel;

import java.util.ArrayList;
import java.util.List;

/** Lines of a cell around one that matters, which is marked. */
final class SourceExcerpt {
    private static final int CONTEXT = 2;
    private static final int MAX_WIDTH = 160;

    private SourceExcerpt() {}

    /** The lines around one, from 0; empty if there is no such line. */
    static List<String> around(String code, int line) {
        return around(code, line, -1, -1);
    }

    /**
     * The lines around one, with a range of columns underlined.
     *
     * @param line the line, from 0
     * @param from the first column, from 0; negative for none
     * @param to the column after the last
     */
    static List<String> around(String code, int line, int from, int to) {
        String[] lines = code.split("\n", -1);
        List<String> excerpt = new ArrayList<>();
        if (line < 0 || line >= lines.length) {
            return excerpt;
        }
        int first = Math.max(0, line - CONTEXT);
        int last = Math.min(lines.length - 1, line + CONTEXT);
        int width = Integer.toString(last + 1).length();
        for (int i = first; i <= last; i++) {
            String number = " ".repeat(width - Integer.toString(i + 1).length()) + (i + 1);
            String text = lines[i].length() > MAX_WIDTH ? lines[i].substring(0, MAX_WIDTH) + "…" : lines[i];
            if (i == line) {
                excerpt.add(Ansi.error("▶ " + number + " │ ") + Ansi.bold(text));
                if (from >= 0 && from < MAX_WIDTH) {
                    int length = Math.clamp(to - (long) from, 1, Math.max(1, text.length() - from));
                    String indent =
                            text.substring(0, Math.min(from, text.length())).replaceAll("[^\t]", " ");
                    excerpt.add(Ansi.error("  " + " ".repeat(width) + " │ " + indent + "^".repeat(length)));
                }
            } else {
                excerpt.add(Ansi.soft("  " + number + " │ ") + text);
            }
        }
        return excerpt;
    }
}
