package org.benchtop.engine.linux;

import java.time.Instant;
import org.benchtop.spi.time.Clock;

/** A clock that a test moves. */
final class ManualClock implements Clock {
    private volatile long nanos;

    void set(long nanos) {
        this.nanos = nanos;
    }

    @Override
    public long nanoTime() {
        return nanos;
    }

    @Override
    public Instant wallTime() {
        return Instant.EPOCH.plusNanos(nanos);
    }
}
