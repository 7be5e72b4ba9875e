package org.benchtop.shell;

import java.io.PrintWriter;

/** Says what is going on when it takes longer than a second; silent where nobody watches. */
final class SlowNote implements AutoCloseable {
    private static final long PATIENCE_MILLIS = 1000;

    private final Thread thread;

    private SlowNote(Thread thread) {
        this.thread = thread;
    }

    /** Starts watching; closing ends it. */
    static SlowNote on(Terminal terminal, PrintWriter err, String what) {
        Thread thread = new Thread(
                () -> {
                    try {
                        Thread.sleep(PATIENCE_MILLIS);
                        err.println("benchtop: " + what + "…");
                        err.flush();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                },
                "benchtop-note");
        thread.setDaemon(true);
        if (terminal.err()) {
            thread.start();
        }
        return new SlowNote(thread);
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}
