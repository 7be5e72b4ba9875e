package org.benchtop.shell.image;

import java.io.PrintWriter;
import java.util.Locale;

/** The line {@code (12.34/100%)} that is written over itself. */
final class Progress {
    private static final long INTERVAL_NANOS = 100_000_000;

    private final PrintWriter out;
    private final boolean on;
    private final long total;
    private long nextNanos = System.nanoTime();

    Progress(PrintWriter out, boolean on, long total) {
        this.out = out;
        this.on = on;
        this.total = Math.max(1, total);
    }

    void at(long done) {
        long now = System.nanoTime();
        if (on && now - nextNanos >= 0) {
            nextNanos = now + INTERVAL_NANOS;
            print(done);
        }
    }

    void finish() {
        if (on) {
            print(total);
            out.println();
        }
    }

    private void print(long done) {
        out.printf(Locale.ROOT, "    (%.2f/100%%)\r", 100.0 * done / total);
        out.flush();
    }
}
