package org.benchtop.notebook.render;

import com.github.weisj.jsvg.SVGDocument;
import com.github.weisj.jsvg.parser.LoaderContext;
import com.github.weisj.jsvg.parser.SVGLoader;
import com.github.weisj.jsvg.view.FloatSize;
import com.github.weisj.jsvg.view.ViewBox;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.image.BufferedImage;
import java.awt.image.DataBufferInt;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Optional;
import org.benchtop.bench.chart.ChartStyle;
import org.jspecify.annotations.Nullable;

/** Pictures as PNG, for readers that show no SVG, such as GitHub. */
final class Png {
    private static final System.Logger LOG = System.getLogger("org.benchtop.notebook");
    private static final int SCALE = 1;

    private static volatile boolean broken;

    private Png() {}

    /** A picture in Base64; empty where Java has no fonts or graphics. */
    static Optional<String> of(String svg) {
        if (broken) {
            return Optional.empty();
        }
        try {
            return Optional.of(Base64.getEncoder().encodeToString(draw(ChartStyle.light(svg))));
        } catch (IOException | RuntimeException | LinkageError e) {
            broken = true;
            LOG.log(Level.INFO, "pictures are shown as SVG only: " + e);
            return Optional.empty();
        }
    }

    /** Draws something small, because Java's graphics and fonts take long the first time. */
    static void warmUp() {
        of(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 40 20\"><text class=\"label\" x=\"2\" y=\"15\">x</text>"
                        + "<text class=\"head\" x=\"20\" y=\"15\">y</text></svg>");
    }

    private static byte[] draw(String svg) throws IOException {
        @Nullable
        SVGDocument document = new SVGLoader()
                .load(
                        new ByteArrayInputStream(svg.getBytes(StandardCharsets.UTF_8)),
                        null,
                        LoaderContext.createDefault());
        if (document == null) {
            throw new IOException("the picture is no SVG");
        }
        FloatSize size = document.size();
        BufferedImage image = new BufferedImage(
                Math.round(size.width) * SCALE, Math.round(size.height) * SCALE, BufferedImage.TYPE_INT_RGB);
        Graphics2D graphics = image.createGraphics();
        try {
            graphics.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
            graphics.setRenderingHint(RenderingHints.KEY_STROKE_CONTROL, RenderingHints.VALUE_STROKE_PURE);
            graphics.setRenderingHint(RenderingHints.KEY_TEXT_ANTIALIASING, RenderingHints.VALUE_TEXT_ANTIALIAS_ON);
            document.render(null, graphics, new ViewBox(0, 0, image.getWidth(), image.getHeight()));
        } finally {
            graphics.dispose();
        }
        int[] pixels = ((DataBufferInt) image.getRaster().getDataBuffer()).getData();
        return PngEncoder.encode(pixels, image.getWidth(), image.getHeight());
    }
}
