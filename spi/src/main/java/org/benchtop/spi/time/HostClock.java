package org.benchtop.spi.time;

import java.time.Instant;

/** Nanoseconds since this class was loaded, and the host's wall clock. */
enum HostClock implements Clock {
    INSTANCE;

    private final long startNanos = System.nanoTime();

    @Override
    public long nanoTime() {
        return System.nanoTime() - startNanos;
    }

    @Override
    public Instant wallTime() {
        return Instant.now();
    }
}
