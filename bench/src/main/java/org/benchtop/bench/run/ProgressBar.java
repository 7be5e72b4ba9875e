package org.benchtop.bench.run;

import java.io.PrintStream;
import java.time.Duration;
import java.util.Locale;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.measure.Metric;
import org.benchtop.bench.measure.MetricUnit;

/**
 * Shows how an experiment goes: one line that is redrawn on a terminal, a line for every run elsewhere.
 *
 * <p>The line is redrawn twice a second by its own thread while a run is going on.
 */
public final class ProgressBar implements RunListener {
    private static final int BAR_CELLS = 24;
    private static final long REDRAW_MILLIS = 500;
    private static final String CLEAR_LINE = "\r\u001b[K";

    private final PrintStream out;
    private final boolean terminal;
    private final int columns;
    private final Object lock = new Object();
    private int total;
    private int done;
    private int failed;
    private String doing = "";
    private long leftNanos;
    private long leftSetAt;
    private boolean ended;

    /**
     * Draws on a stream.
     *
     * @param terminal whether the stream is a terminal
     * @param columns its width
     */
    public ProgressBar(PrintStream out, boolean terminal, int columns) {
        this.out = out;
        this.terminal = terminal;
        this.columns = Math.max(40, columns);
        if (terminal) {
            Thread.ofVirtual().name("benchtop-progress").start(this::redraw);
        }
    }

    private void redraw() {
        synchronized (lock) {
            while (!ended) {
                if (!doing.isEmpty()) {
                    draw();
                }
                try {
                    lock.wait(REDRAW_MILLIS);
                } catch (InterruptedException e) {
                    return;
                }
            }
        }
    }

    @Override
    public void planned(int all, int alreadyDone) {
        synchronized (lock) {
            total = all;
            done = alreadyDone;
            if (alreadyDone > 0) {
                line("resuming: " + alreadyDone + " of " + all + " runs are done already");
            }
        }
    }

    @Override
    public void preparing(String what) {
        synchronized (lock) {
            doing = what;
            if (terminal) {
                draw();
            } else {
                line(what);
            }
        }
    }

    @Override
    public void started(int number, CaseSpec spec, RunKind kind, int block, Duration left) {
        synchronized (lock) {
            doing = switch (kind) {
                case JIT_WARMUP -> "warming up the JVM";
                case WARMUP -> "warm-up: " + spec.id();
                case MEASURED -> "repeat " + block + ": " + spec.id();
            };
            leftNanos = left.toNanos();
            leftSetAt = System.nanoTime();
            if (terminal) {
                draw();
            }
        }
    }

    @Override
    public void finished(int number, CaseSpec spec, RunRecord run) {
        synchronized (lock) {
            if (run.kind() == RunKind.JIT_WARMUP) {
                if (!run.failure().isEmpty()) {
                    line("warming up the JVM failed: " + run.failure());
                }
                return;
            }
            done++;
            if (!run.failure().isEmpty()) {
                failed++;
                line(doing + " failed: " + run.failure());
            } else if (!terminal) {
                line(String.format(
                        Locale.ROOT,
                        "[%d/%d] %s: %s, %s left",
                        done,
                        total,
                        doing,
                        figures(run),
                        time(Math.max(0, leftNanos - run.wallNanos()))));
            }
        }
    }

    private static String figures(RunRecord run) {
        return run.measurement()
                        .map(measurement -> {
                            StringBuilder text = new StringBuilder();
                            Metric.IOPS
                                    .value(measurement)
                                    .ifPresent(value -> text.append(MetricUnit.format(value))
                                            .append(" IOPS"));
                            Metric.CLAT_P50
                                    .value(measurement)
                                    .ifPresent(value -> text.append(", p50 ")
                                            .append(MetricUnit.format(value))
                                            .append(" µs"));
                            return text.toString();
                        })
                        .orElse("")
                + (run.flags().isEmpty() ? "" : " (disturbed)");
    }

    @Override
    public void notice(String text) {
        synchronized (lock) {
            line("note: " + text);
        }
    }

    @Override
    public void ended() {
        synchronized (lock) {
            if (ended) {
                return;
            }
            ended = true;
            if (terminal) {
                out.print(CLEAR_LINE);
                out.flush();
            }
            lock.notifyAll();
        }
    }

    private void line(String text) {
        if (terminal) {
            out.print(CLEAR_LINE);
        }
        out.println(text);
        out.flush();
    }

    private void draw() {
        int filled = total == 0 ? 0 : done * BAR_CELLS / total;
        StringBuilder bar = new StringBuilder("[");
        bar.append("█".repeat(filled)).append("·".repeat(BAR_CELLS - filled)).append("] ");
        bar.append(done).append('/').append(total);
        if (failed > 0) {
            bar.append(" (").append(failed).append(" failed)");
        }
        if (leftNanos > 0) {
            bar.append("  ")
                    .append(time(Math.max(0, leftNanos - (System.nanoTime() - leftSetAt))))
                    .append(" left");
        }
        bar.append("  ").append(doing);
        String text = bar.length() < columns ? bar.toString() : bar.substring(0, columns - 2) + "…";
        out.print(CLEAR_LINE + text);
        out.flush();
    }

    static String time(long nanos) {
        long seconds = Math.round(nanos / 1e9);
        return seconds >= 3600
                ? String.format(Locale.ROOT, "%d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60)
                : String.format(Locale.ROOT, "%d:%02d", seconds / 60, seconds % 60);
    }
}
