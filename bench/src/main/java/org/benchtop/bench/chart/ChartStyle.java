package org.benchtop.bench.chart;

/**
 * Gives pictures drawn with the classes of {@link Charts} their look, for pages that have no style sheet of ours. Every
 * picture brings its own background, so that it is legible on any page.
 */
public final class ChartStyle {
    private static final String FONT = "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
    private static final String MONO = "ui-monospace, 'DejaVu Sans Mono', monospace";
    /** Simple renderers take the first name or their own default. */
    private static final String PLAIN_FONT = "DejaVu Sans";

    private static final String PLAIN_MONO = "DejaVu Sans Mono";
    private static final Theme LIGHT = new Theme(
            "#ffffff", "#1d2430", "#5b6675", "#d9dee5", "#f5f7f9", "#2f6fb7", "#d1662a", "#2f9164", "#8a56b8",
            "#b08a12", "#c23f5a", "#2a97a3", "#7d8794");
    private static final Theme DARK = new Theme(
            "#14181e", "#e4e8ee", "#9aa6b5", "#303844", "#1c222b", "#5b9be0", "#ec8a53", "#4fb98a", "#b286de",
            "#d6b23c", "#e8708a", "#4fc0cc", "#8b96a5");

    private ChartStyle() {}

    private record Theme(String page, String ink, String soft, String rule, String panel, String... series) {}

    /** The picture with a style sheet of its own: light, and dark where the reader's system is. */
    public static String standalone(String svg) {
        return styled(
                svg,
                rules("svg.benchtop ", LIGHT, FONT, MONO) + "@media (prefers-color-scheme: dark) {\n"
                        + rules("svg.benchtop ", DARK, FONT, MONO) + "}\n");
    }

    /** The picture in its light look, with rules that simple renderers understand. */
    public static String light(String svg) {
        return styled(svg, rules("", LIGHT, PLAIN_FONT, PLAIN_MONO));
    }

    private static String styled(String svg, String css) {
        int head = svg.indexOf('>');
        String tag = svg.substring(0, head);
        String size = "";
        int box = tag.indexOf("viewBox=\"0 0 ");
        if (box >= 0) {
            String[] numbers = tag.substring(box + "viewBox=\"0 0 ".length(), tag.indexOf('"', box + 9))
                    .split(" ");
            size = " width=\"" + numbers[0] + "\" height=\"" + numbers[1] + "\"";
        }
        return tag + " class=\"benchtop\" style=\"max-width: 100%; height: auto\"" + size + "><style>\n" + css
                + "</style><rect class=\"page\" x=\"0\" y=\"0\" width=\"100%\" height=\"100%\"/>"
                + svg.substring(head + 1);
    }

    private static String rules(String prefix, Theme theme, String font, String mono) {
        StringBuilder css = new StringBuilder();
        rule(css, prefix, "page", "fill: " + theme.page);
        rule(css, prefix, "panel", "fill: " + theme.panel + "; stroke: " + theme.rule);
        rule(css, prefix, "label", "fill: " + theme.ink + "; font-family: " + font + "; font-size: 12.5px");
        rule(css, prefix, "note", "fill: " + theme.soft + "; font-family: " + font + "; font-size: 11px");
        rule(
                css,
                prefix,
                "head",
                "fill: " + theme.ink + "; font-family: " + font + "; font-size: 15px; font-weight: 600");
        rule(css, prefix, "mono", "fill: " + theme.ink + "; font-family: " + mono + "; font-size: 11.5px");
        rule(css, prefix, "grid", "stroke: " + theme.rule + "; stroke-width: 1; fill: none");
        rule(css, prefix, "axis", "stroke: " + theme.soft + "; stroke-width: 1; fill: none");
        rule(css, prefix, "wire", "stroke: " + theme.soft + "; stroke-width: 1.5; fill: none");
        rule(css, prefix, "zero", "stroke: " + theme.ink + "; stroke-width: 1.2; stroke-dasharray: 4 3; fill: none");
        rule(css, prefix, "error", "stroke: " + theme.ink + "; stroke-width: 1.4; fill: none");
        rule(css, prefix, "dot", "fill: " + theme.ink + "; fill-opacity: 0.55");
        rule(css, prefix, "bar", "fill-opacity: 0.8");
        rule(css, prefix, "line", "fill: none; stroke-width: 2; stroke-linejoin: round");
        rule(css, prefix, "whisker", "fill: none; stroke-width: 1.4");
        rule(css, prefix, "interval", "fill: none; stroke-width: 4; stroke-linecap: round; stroke-opacity: 0.55");
        rule(css, prefix, "hollow", "fill: " + theme.page + "; stroke-width: 1.8");
        rule(css, prefix, "published", "fill: none; stroke: " + theme.series[1] + "; stroke-width: 1.8");
        for (int i = 0; i < theme.series.length; i++) {
            rule(css, prefix, "f" + i, "fill: " + theme.series[i]);
            rule(css, prefix, "k" + i, "stroke: " + theme.series[i]);
        }
        return css.toString();
    }

    private static void rule(StringBuilder css, String prefix, String name, String look) {
        css.append(prefix).append('.').append(name).append(" { ").append(look).append("; }\n");
    }
}
