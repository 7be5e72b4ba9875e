package org.benchtop.spi.block;

import org.benchtop.spi.CreateContext;
import org.benchtop.spi.time.Clock;

/** What a block backend is created with. */
public interface BlockContext extends CreateContext {
    /**
     * Another entry of {@code drives:}, for filters. The filter becomes its only user; the engine closes it after the
     * filter.
     */
    BlockBackend drive(String name);

    /**
     * The time for delays and timeouts of a backend. It is the host's, not the machine's: a machine that is being
     * paused waits for its requests.
     */
    default Clock clock() {
        return Clock.host();
    }
}
