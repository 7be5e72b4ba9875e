package org.benchtop.testkit;

import java.time.Instant;
import java.util.concurrent.atomic.AtomicLong;
import org.benchtop.spi.time.Clock;

/** A clock that stands still until the test moves it. Starts at 0; its wall time starts at a fixed instant. */
public final class FakeClock implements Clock {
    /** The wall time at {@code nanoTime() == 0}. */
    public static final Instant EPOCH = Instant.parse("2026-03-04T05:06:07Z");

    private final AtomicLong nanos = new AtomicLong();

    @Override
    public long nanoTime() {
        return nanos.get();
    }

    @Override
    public Instant wallTime() {
        return EPOCH.plusNanos(nanos.get());
    }

    /**
     * Moves the clock without running timers; {@link FakeEventLoop#advance} moves it and runs them in order.
     *
     * @param deltaNanos at least 0
     */
    public void advance(long deltaNanos) {
        if (deltaNanos < 0) {
            throw new IllegalArgumentException("time does not run backwards: " + deltaNanos);
        }
        nanos.addAndGet(deltaNanos);
    }

    /** Moves the clock to a time that is not in the past. */
    public void advanceTo(long timeNanos) {
        nanos.accumulateAndGet(timeNanos, Math::max);
    }
}
