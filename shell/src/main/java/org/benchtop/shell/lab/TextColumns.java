package org.benchtop.shell.lab;

import java.util.ArrayList;
import java.util.List;

/** Aligned columns of text; numbers to the right, the last column as long as it likes. */
final class TextColumns {
    private static final String GAP = "  ";

    private final List<List<String>> rows = new ArrayList<>();
    private final boolean[] right;

    /** @param alignment one letter per column: {@code l} or {@code r} */
    TextColumns(String alignment) {
        right = new boolean[alignment.length()];
        for (int i = 0; i < right.length; i++) {
            right[i] = alignment.charAt(i) == 'r';
        }
    }

    TextColumns row(Object... cells) {
        List<String> row = new ArrayList<>(cells.length);
        for (Object cell : cells) {
            row.add(String.valueOf(cell));
        }
        rows.add(row);
        return this;
    }

    boolean isEmpty() {
        return rows.isEmpty();
    }

    private static int width(String cell) {
        return cell.codePointCount(0, cell.length());
    }

    String render(String indent) {
        int[] widths = new int[right.length];
        for (List<String> row : rows) {
            for (int i = 0; i < row.size(); i++) {
                widths[i] = Math.max(widths[i], width(row.get(i)));
            }
        }
        StringBuilder text = new StringBuilder();
        for (List<String> row : rows) {
            StringBuilder line = new StringBuilder(indent);
            for (int i = 0; i < row.size(); i++) {
                String cell = row.get(i);
                int padding = widths[i] - width(cell);
                if (right[i]) {
                    line.repeat(' ', padding);
                }
                line.append(cell);
                if (!right[i]) {
                    line.repeat(' ', padding);
                }
                line.append(GAP);
            }
            text.append(line.toString().stripTrailing()).append('\n');
        }
        return text.toString();
    }
}
