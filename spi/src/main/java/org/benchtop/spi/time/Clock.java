package org.benchtop.spi.time;

import java.time.Instant;

/** A machine's time: it stands still while the machine is paused, and may be counted in instructions. Thread-safe. */
public interface Clock {
    /** Nanoseconds since the machine started. */
    long nanoTime();

    /** The wall clock that the guest's RTC shows. */
    Instant wallTime();

    /** The host's monotonic time, which goes on while machines are paused. */
    static Clock host() {
        return HostClock.INSTANCE;
    }
}
