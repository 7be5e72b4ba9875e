package org.benchtop.softcpu;

/** Watchpoints of a debugger. Pages that hold one are kept out of the TLB, so that others cost nothing. */
final class DebugHooks {
    /** First address, last address, and whether reads count, of each watchpoint. */
    private record Watch(long first, long last, boolean reads) {}

    private volatile Watch[] watches = {};

    boolean active() {
        return watches.length != 0;
    }

    boolean watches(long linearPage) {
        for (Watch watch : watches) {
            if (linearPage <= watch.last && linearPage + 4095 >= watch.first) {
                return true;
            }
        }
        return false;
    }

    void read(Cpu c, long linear, int size) {
        for (Watch watch : watches) {
            if (watch.reads && linear <= watch.last && linear + size - 1 >= watch.first) {
                c.vcpu.watchHit(linear, false);
            }
        }
    }

    void write(Cpu c, long linear, int size) {
        for (Watch watch : watches) {
            if (linear <= watch.last && linear + size - 1 >= watch.first) {
                c.vcpu.watchHit(linear, true);
            }
        }
    }

    /** Replaces all watchpoints: pairs of address and length. */
    void set(long[] ranges, boolean reads) {
        Watch[] next = new Watch[ranges.length / 2];
        for (int i = 0; i < next.length; i++) {
            next[i] = new Watch(ranges[2 * i], ranges[2 * i] + ranges[2 * i + 1] - 1, reads);
        }
        watches = next;
    }
}
