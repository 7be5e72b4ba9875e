package org.benchtop.engine.linux;

import java.lang.foreign.MemorySegment;

/** How a loop waits for its epoll set. */
interface LoopWaiter {
    /**
     * Waits for ever ({@code block}) or not at all; returns the number of epoll events stored, or a negative errno. May
     * return 0 when there are some after all.
     */
    int await(MemorySegment events, int maxEvents, boolean block);
}
