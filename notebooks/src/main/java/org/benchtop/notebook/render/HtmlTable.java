package org.benchtop.notebook.render;

import org.benchtop.bench.chart.Markup;

/**
 * A table whose look does not depend on the page: front ends strip style sheets but keep styles of elements. Colours are
 * the page's, so that it fits light and dark.
 */
final class HtmlTable {
    /** Marks what has changed. */
    static final String CHANGED = "background: rgba(240, 180, 40, 0.35)";

    private static final String LEFT = "text-align: left; padding: 2px 10px; ";
    private static final String RIGHT = "text-align: right; padding: 2px 10px; ";
    private static final String MONO = "font-family: monospace; ";

    private final String columns;
    private final Markup html = new Markup();
    private int column;

    /**
     * A table.
     *
     * @param columns a letter for each column: {@code l} text, {@code r} figures, {@code m} code, {@code h} figures as code
     */
    HtmlTable(String columns, String... heads) {
        this.columns = columns;
        html.open("table", "style", "border-collapse: collapse; margin: 4px 0");
        if (heads.length > 0) {
            html.open("thead").open("tr");
            for (int i = 0; i < heads.length; i++) {
                html.element(
                        "th", heads[i], "style", columns.charAt(i) == 'r' || columns.charAt(i) == 'h' ? RIGHT : LEFT);
            }
            html.close("tr").close("thead");
        }
        html.open("tbody");
    }

    /** A row of plain cells. */
    HtmlTable row(String... cells) {
        begin();
        for (String cell : cells) {
            cell(cell);
        }
        return end();
    }

    HtmlTable begin() {
        html.open("tr");
        column = 0;
        return this;
    }

    HtmlTable cell(String text) {
        return cell(text, "");
    }

    HtmlTable cell(String text, String look) {
        html.element("td", text, "style", style() + look);
        column++;
        return this;
    }

    /** A cell with markup. */
    HtmlTable raw(String markup) {
        html.open("td", "style", style()).raw(markup).close("td");
        column++;
        return this;
    }

    private String style() {
        return switch (columns.charAt(Math.min(column, columns.length() - 1))) {
            case 'r' -> RIGHT;
            case 'm' -> LEFT + MONO;
            case 'h' -> RIGHT + MONO;
            default -> LEFT;
        };
    }

    HtmlTable end() {
        html.close("tr");
        return this;
    }

    /** A title over all columns. */
    HtmlTable heading(String text) {
        html.open("tr")
                .element(
                        "th",
                        text,
                        "colspan",
                        Integer.toString(columns.length()),
                        "style",
                        LEFT + "padding-top: 8px; border-bottom: 1px solid rgba(128, 128, 128, 0.5)")
                .close("tr");
        return this;
    }

    @Override
    public String toString() {
        return html + "</tbody></table>";
    }
}
