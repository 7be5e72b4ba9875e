package org.benchtop.bench.chart;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class MarkupTest {
    @Test
    void textAndAttributesAreEscaped() {
        String markup = new Markup()
                .element("p", "a < b & \"c\"", "title", "x\"><script>")
                .toString();

        assertEquals("<p title=\"x&quot;&gt;&lt;script&gt;\">a &lt; b &amp; &quot;c&quot;</p>", markup);
    }

    @Test
    void charactersThatXmlCannotHoldAreReplaced() {
        assertEquals("a\ufffdb\tc\ufffd", Markup.escape("a\u0000b\tc\ud800"));
        assertEquals("\ud83d\ude00", Markup.escape("\ud83d\ude00"));
    }

    @Test
    void coordinatesAreShort() {
        assertEquals("3", Markup.number(3.04));
        assertEquals("-1.5", Markup.number(-1.5));
    }
}
