package org.benchtop.block.nbd;

/**
 * Remembers whether writes were acknowledged that no flush has made durable yet. If the connection is lost then, the
 * server may have lost them with its memory, so the next flush has to fail: once, as fsync does. Thread-safe.
 */
final class NbdDurability {
    private long acknowledged;
    private long durable;
    private boolean lost;

    /** A change was acknowledged without being durable. */
    synchronized void acknowledged() {
        acknowledged++;
    }

    /** What a flush that is sent now makes durable. */
    synchronized long flushing() {
        return acknowledged;
    }

    /** A flush has succeeded. */
    synchronized void flushed(long acknowledgedBefore) {
        durable = Math.max(durable, acknowledgedBefore);
    }

    synchronized void connectionLost() {
        if (acknowledged > durable) {
            lost = true;
            durable = acknowledged;
        }
    }

    /** Whether a flush must fail for what was lost; says so once. */
    synchronized boolean takeLoss() {
        boolean taken = lost;
        lost = false;
        return taken;
    }
}
