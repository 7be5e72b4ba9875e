package org.benchtop.ide;

import java.util.concurrent.atomic.AtomicBoolean;
import org.benchtop.spi.irq.IrqLine;

/**
 * Keeps an interrupt line at the level that a controller wants, although several threads compute that level under its
 * lock and publish it after releasing the lock: whoever sets the line looks again afterwards, so the last level wins.
 */
public final class IrqOutput {
    private final IrqLine line;
    private final AtomicBoolean wanted = new AtomicBoolean();

    public IrqOutput(IrqLine line) {
        this.line = line;
    }

    /** Notes the level; called under the controller's lock. */
    public void want(boolean level) {
        wanted.set(level);
    }

    /** Brings the line to the wanted level; called without the lock. */
    public void publish() {
        boolean level;
        do {
            level = wanted.get();
            line.set(level);
        } while (level != wanted.get());
    }
}
