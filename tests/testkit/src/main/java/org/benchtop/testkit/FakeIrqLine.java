package org.benchtop.testkit;

import org.benchtop.spi.irq.IrqLine;

/** A line on its own that remembers its level and counts edges. */
public final class FakeIrqLine implements IrqLine {
    private boolean asserted;
    private long raises;
    private long sets;

    @Override
    public synchronized void set(boolean level) {
        sets++;
        if (level && !asserted) {
            raises++;
        }
        asserted = level;
    }

    /** The level now. */
    public synchronized boolean asserted() {
        return asserted;
    }

    /** The number of rising edges. */
    public synchronized long raises() {
        return raises;
    }

    /** The number of calls, whether the level changed or not. */
    public synchronized long sets() {
        return sets;
    }
}
