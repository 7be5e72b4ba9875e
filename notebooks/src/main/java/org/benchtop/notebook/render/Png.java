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

    /** Draws something like a machine, because Java's graphics and fonts take long the first times. */
    static void warmUp() {
        StringBuilder svg = new StringBuilder("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 820 300\">");
        for (int i = 0; i < 12; i++) {
            int x = 10 + i % 4 * 200;
            int y = 10 + i / 4 * 90;
            svg.append("<rect class=\"panel\" x=\"" + x + "\" y=\"" + y
                    + "\" width=\"180\" height=\"60\" rx=\"8\"/><line class=\"axis\" x1=\"" + (x + 90) + "\" y1=\""
                    + (y + 60)
                    + "\" x2=\"" + (x + 90) + "\" y2=\"" + (y + 90) + "\"/><text class=\"head\" x=\"" + (x + 9)
                    + "\" y=\"" + (y + 20)
                    + "\">device " + i + "</text><text class=\"label\" x=\"" + (x + 90) + "\" y=\"" + (y + 40)
                    + "\" text-anchor=\"middle\">virtio-blk-pci</text>");
        }
        of(svg.append("</svg>").toString());
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
