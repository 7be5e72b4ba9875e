package org.benchtop.bench.report;

import java.util.ArrayList;
import java.util.List;

/** Lays out rows of words in aligned columns. Not thread-safe. */
final class TextTable {
    /** Which edge of a column its words touch. */
    enum Align {
        LEFT,
        RIGHT
    }

    private static final String GAP = "  ";

    private final List<Align> aligns = new ArrayList<>();
    private final List<List<String>> rows = new ArrayList<>();

    TextTable(List<Align> aligns) {
        this.aligns.addAll(aligns);
    }

    void row(List<String> cells) {
        if (cells.size() != aligns.size()) {
            throw new IllegalArgumentException(cells.size() + " cells for " + aligns.size() + " columns");
        }
        rows.add(List.copyOf(cells));
    }

    List<String> lines() {
        int[] widths = new int[aligns.size()];
        for (List<String> row : rows) {
            for (int i = 0; i < widths.length; i++) {
                widths[i] = Math.max(widths[i], width(row.get(i)));
            }
        }
        List<String> lines = new ArrayList<>();
        for (List<String> row : rows) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < widths.length; i++) {
                String padding = " ".repeat(widths[i] - width(row.get(i)));
                if (i > 0) {
                    line.append(GAP);
                }
                line.append(
                        switch (aligns.get(i)) {
                            case LEFT -> row.get(i) + padding;
                            case RIGHT -> padding + row.get(i);
                        });
            }
            lines.add(line.toString().stripTrailing());
        }
        return lines;
    }

    private static int width(String text) {
        return text.codePointCount(0, text.length());
    }
}
