package org.benchtop.xen;

import java.util.Arrays;

/**
 * Grants that stay claimed from request to request, up to a limit: reference to frame, open addressing. Belongs to one event
 * loop; allocates nothing.
 */
final class PersistentGrants {
    /** What Linux's backend keeps for one ring: 96 segments for each of 11 requests. */
    static final int LIMIT = 1056;

    private static final int SLOTS = 4096;

    private final int[] references = new int[SLOTS];
    private final long[] frames = new long[SLOTS];
    private int count;

    private static int hash(int reference) {
        return reference * 0x9e37_79b1 >>> 20;
    }

    /** The frame of a reference; -1 if it is not kept. */
    long frame(int reference) {
        for (int at = hash(reference); references[at] != 0; at = at + 1 & SLOTS - 1) {
            if (references[at] == reference) {
                return frames[at];
            }
        }
        return -1;
    }

    /** Keeps a claimed reference; false if there are too many. */
    boolean keep(int reference, long frame) {
        if (count >= LIMIT) {
            return false;
        }
        int at = hash(reference);
        while (references[at] != 0) {
            at = at + 1 & SLOTS - 1;
        }
        references[at] = reference;
        frames[at] = frame;
        count++;
        return true;
    }

    int count() {
        return count;
    }

    /** Releases all. */
    void release(GrantTable grants) {
        for (int reference : references) {
            if (reference != 0) {
                grants.release(reference);
            }
        }
        Arrays.fill(references, 0);
        count = 0;
    }
}
