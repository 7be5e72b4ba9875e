package org.benchtop.pc.common;

import java.util.concurrent.atomic.AtomicBoolean;
import org.benchtop.spi.irq.IrqLine;

/**
 * Keeps an interrupt line at the level that a device wants, although several threads compute that level under the
 * device's lock and publish it after releasing the lock.
 *
 * <p>Whoever sets the line looks again afterwards, so the last level wins whatever the order of the publishers; the line
 * may glitch, which hardware may too. Allocates nothing.
 */
public final class IrqOutput {
    private final IrqLine line;
    private final AtomicBoolean wanted = new AtomicBoolean();

    public IrqOutput(IrqLine line) {
        this.line = line;
    }

    /** Notes the level; called under the device's lock. Returns whether {@link #publish} has something to do. */
    public boolean want(boolean level) {
        return wanted.getAndSet(level) != level;
    }

    /** Brings the line to the wanted level; called without the device's lock. */
    public void publish() {
        boolean level;
        do {
            level = wanted.get();
            line.set(level);
        } while (level != wanted.get());
    }

    /** Lets the line drop and come back to the wanted level: an edge for edge-triggered inputs. */
    public void publishAfterGap() {
        line.set(false);
        publish();
    }

    /** The wanted level. */
    public boolean level() {
        return wanted.get();
    }
}
