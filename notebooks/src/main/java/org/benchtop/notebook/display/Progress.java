package org.benchtop.notebook.display;

import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.benchtop.bench.chart.Markup;
import org.dflib.jjava.jupyter.kernel.display.DisplayData;
import org.dflib.jjava.jupyter.kernel.display.mime.MIMEType;

/**
 * A bar under a cell that fills up, redrawn at most ten times a second. Thread-safe.
 *
 * <p>{@code try (var bar = progress("runs", 100)) { for (…) { …; bar.step(); } }}
 */
public final class Progress implements AutoCloseable {
    private static final long REDRAW_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final int TEXT_WIDTH = 30;

    private final String label;
    private final long total;
    private final long startNanos = System.nanoTime();
    private final String display;
    private long done;
    private long drawnNanos = startNanos;
    private boolean closed;

    Progress(String label, long total) {
        this.label = label;
        this.total = Math.max(0, total);
        this.display = Jupyter.display(data());
    }

    /** One more step is done. */
    public void step() {
        step(1);
    }

    /** More steps are done. */
    public void step(long steps) {
        synchronized (this) {
            done += steps;
        }
        redraw(false);
    }

    /** So many steps are done in all. */
    public void at(long steps) {
        synchronized (this) {
            done = steps;
        }
        redraw(false);
    }

    /** How many steps are done. */
    public synchronized long done() {
        return done;
    }

    private void redraw(boolean last) {
        DisplayData data;
        synchronized (this) {
            long now = System.nanoTime();
            if (closed || !last && now - drawnNanos < REDRAW_NANOS) {
                return;
            }
            drawnNanos = now;
            closed = last;
            data = data();
        }
        Jupyter.updateDisplay(display, data);
    }

    private synchronized DisplayData data() {
        String state = state();
        double share = total == 0 ? 0 : Math.clamp(done / (double) total, 0, 1);
        int filled = (int) Math.round(share * TEXT_WIDTH);
        DisplayData data =
                new DisplayData(label + " [" + "#".repeat(filled) + "-".repeat(TEXT_WIDTH - filled) + "] " + state);
        Markup html = new Markup().open("div", "class", "benchtop-progress").content(label + " ");
        if (total == 0 && !closed) {
            html.open("progress", "style", "width: 20em; vertical-align: middle")
                    .close("progress");
        } else {
            html.open(
                            "progress",
                            "style",
                            "width: 20em; vertical-align: middle",
                            "value",
                            String.format(Locale.ROOT, "%.4f", total == 0 ? 1 : share),
                            "max",
                            "1")
                    .close("progress");
        }
        data.putData(MIMEType.TEXT_HTML, html.content(" " + state).close("div").toString());
        return data;
    }

    private String state() {
        long elapsed = System.nanoTime() - startNanos;
        String counted = total == 0 ? Long.toString(done) : done + " of " + total;
        if (closed) {
            return counted + " in " + duration(elapsed);
        }
        if (total == 0 || done == 0 || done >= total) {
            return counted;
        }
        return counted + ", " + duration((long) ((double) elapsed / done * (total - done))) + " left";
    }

    private static String duration(long nanos) {
        long seconds = TimeUnit.NANOSECONDS.toSeconds(nanos);
        return seconds < 100
                ? String.format(Locale.ROOT, "%.1f s", nanos / 1e9)
                : String.format(Locale.ROOT, "%d min %02d s", seconds / 60, seconds % 60);
    }

    /** Draws the bar a last time, as far as it got. */
    @Override
    public void close() {
        redraw(true);
    }
}
