package org.benchtop.notebook.display;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.Base64;
import java.util.UUID;
import org.dflib.jjava.jupyter.kernel.display.DisplayData;
import org.dflib.jjava.jupyter.kernel.display.Renderer;
import org.dflib.jjava.jupyter.kernel.display.mime.MIMEType;
import org.jspecify.annotations.Nullable;

/**
 * What cells show and ask; imported statically into every notebook. Thread-safe: a thread's output goes to the cell that
 * started it.
 *
 * <p>Names and meanings follow IJava and JJava ({@code display}, {@code updateDisplay}, {@code render}). Outside of a
 * notebook the plain text is printed.
 */
public final class Jupyter {
    private static final Renderer RENDERER = new Renderer();
    private static volatile Attachment attachment =
            new Attachment(new Printing(), new Comms((type, content, metadata, buffers) -> {}));

    private Jupyter() {}

    /**
     * Who shows things and who carries comms.
     *
     * @param frontEnd shows and asks
     * @param comms the connections to it
     */
    public record Attachment(FrontEnd frontEnd, Comms comms) {}

    /** Makes a front end the one that shows things; returns the one before. */
    public static Attachment attach(Attachment to) {
        Attachment before = attachment;
        attachment = to;
        return before;
    }

    /** Where renderings of types are registered. */
    public static Renderer renderer() {
        return RENDERER;
    }

    /** Connections to objects of the front end, such as widgets. */
    public static Comms comms() {
        return attachment.comms();
    }

    /** Whether there is a notebook; otherwise text is printed. */
    public static boolean attached() {
        return !(attachment.frontEnd() instanceof Printing);
    }

    /**
     * Renders as a front end would show it.
     *
     * @param mimeTypes the wanted forms, such as {@code "image/svg+xml"}; without any, those that the type prefers
     */
    public static DisplayData render(@Nullable Object value, String... mimeTypes) {
        if (value == null) {
            return new DisplayData("null");
        }
        if (value instanceof DisplayData data) {
            return data;
        }
        // Registrations come from extensions of other threads too, and the renderer's maps are plain.
        synchronized (RENDERER) {
            return mimeTypes.length == 0 ? RENDERER.render(value) : RENDERER.renderAs(value, mimeTypes);
        }
    }

    /**
     * Shows something.
     *
     * @return an id for {@link #updateDisplay}
     */
    public static String display(@Nullable Object value, String... mimeTypes) {
        DisplayData data = new DisplayData();
        data.assign(render(value, mimeTypes));
        String id =
                data.hasDisplayId() ? data.getDisplayId() : UUID.randomUUID().toString();
        data.setDisplayId(id);
        attachment.frontEnd().show(data);
        return id;
    }

    /** Shows something in the place of what {@link #display} showed. */
    public static void updateDisplay(String id, @Nullable Object value, String... mimeTypes) {
        DisplayData data = new DisplayData();
        data.assign(render(value, mimeTypes));
        data.setDisplayId(id);
        attachment.frontEnd().update(data);
    }

    /** Removes what the cell has shown. */
    public static void clearOutput(boolean wait) {
        attachment.frontEnd().clear(wait);
    }

    /**
     * Asks the user.
     *
     * @throws IOException if the front end allows no questions, or the cell was interrupted
     */
    public static String input(String prompt) throws IOException {
        return ask(prompt, false);
    }

    /** Asks the user for something that must not be seen. */
    public static String password(String prompt) throws IOException {
        return ask(prompt, true);
    }

    private static String ask(String prompt, boolean password) throws IOException {
        try {
            return attachment.frontEnd().ask(prompt, password);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("waiting for input was interrupted");
        }
    }

    /**
     * Shows a bar that fills up.
     *
     * @param total how many steps there are; 0 if that is not known
     */
    public static Progress progress(String label, long total) {
        return new Progress(label, total);
    }

    /** HTML to be displayed or returned. */
    public static DisplayData html(String html) {
        return data(MIMEType.TEXT_HTML, html);
    }

    /** Markdown to be displayed or returned. */
    public static DisplayData markdown(String markdown) {
        return data(MIMEType.TEXT_MARKDOWN, markdown);
    }

    /** LaTeX to be displayed or returned. */
    public static DisplayData latex(String latex) {
        return data(MIMEType.TEXT_LATEX, latex);
    }

    /** An SVG picture to be displayed or returned. */
    public static DisplayData svg(String svg) {
        return data(MIMEType.IMAGE_SVG, svg);
    }

    /** A PNG picture to be displayed or returned. */
    public static DisplayData png(byte[] png) {
        return data(MIMEType.IMAGE_PNG, Base64.getEncoder().encodeToString(png));
    }

    private static DisplayData data(MIMEType type, String content) {
        DisplayData data = new DisplayData(type.equals(MIMEType.IMAGE_PNG) ? "(picture)" : content);
        data.putData(type, content);
        return data;
    }

    /** Where there is no notebook. */
    private static final class Printing implements FrontEnd {
        @Override
        public void show(DisplayData data) {
            System.out.println(data.getData(MIMEType.TEXT_PLAIN));
        }

        @Override
        public void update(DisplayData data) {
            show(data);
        }

        @Override
        public void clear(boolean wait) {}

        @Override
        public String ask(String prompt, boolean password) throws IOException {
            throw new IOException("only a notebook can ask for input here");
        }
    }
}
