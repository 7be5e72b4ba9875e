package org.benchtop.spi.stats;

/** Collects durations. {@link #record} may be called from any thread and allocates nothing. */
public interface LatencyHistogram {
    /** Adds one duration; negative ones count as 0, those above an hour as an hour. */
    void record(long nanos);
}
