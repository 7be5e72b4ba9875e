package org.benchtop.engine;

import java.time.Instant;
import org.benchtop.spi.time.Clock;

/** Guest time: runs while the machine runs. Thread-safe. */
final class MachineClock implements Clock {
    private final Instant wallBase = Instant.now();
    private final long wallBaseNanos = System.nanoTime();

    /** Added to {@link System#nanoTime} while running; the frozen time itself while not. */
    private record Phase(boolean running, long offsetNanos) {}

    private volatile Phase phase = new Phase(false, 0);

    @Override
    public long nanoTime() {
        Phase p = phase;
        return p.running ? System.nanoTime() + p.offsetNanos : p.offsetNanos;
    }

    @Override
    public Instant wallTime() {
        return wallBase.plusNanos(System.nanoTime() - wallBaseNanos);
    }

    boolean running() {
        return phase.running;
    }

    synchronized void run() {
        Phase p = phase;
        if (!p.running) {
            phase = new Phase(true, p.offsetNanos - System.nanoTime());
        }
    }

    synchronized void freeze() {
        Phase p = phase;
        if (p.running) {
            phase = new Phase(false, System.nanoTime() + p.offsetNanos);
        }
    }
}
