package org.benchtop.spi.time;

import org.benchtop.spi.event.Timer;

/**
 * Guest time that a CPU engine counts in instructions: the same guest with the same inputs sees the same times in every run.
 * Timers expire between two instructions, on the thread of the vCPU that executes.
 */
public interface VirtualTime extends Clock {
    /** A timer of this time. */
    Timer timer(Runnable onExpiry);
}
