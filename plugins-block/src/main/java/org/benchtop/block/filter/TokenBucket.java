package org.benchtop.block.filter;

/**
 * A token bucket, kept as the time at which everything taken so far is paid for. Whoever comes when the debt is not yet
 * paid waits until it is; who comes after an idle time may use what was saved up, at most {@code burstNanos} of it. Not
 * thread-safe.
 */
final class TokenBucket {
    /** Debts end here, so that sums cannot overflow: 30 years. */
    private static final long MAX_COST_NANOS = 1_000_000_000_000_000_000L;

    private final double nanosPerUnit;
    private final long burstNanos;
    private long paidAtNanos;

    /**
     * A full bucket.
     *
     * @param unitsPerSecond what flows in, at least 1
     * @param burstNanos how long an idle bucket saves
     */
    TokenBucket(long unitsPerSecond, long burstNanos, long nowNanos) {
        this.nanosPerUnit = 1e9 / unitsPerSecond;
        this.burstNanos = burstNanos;
        this.paidAtNanos = nowNanos - burstNanos;
    }

    /** Takes units and returns when they may be used: {@code nowNanos} or later. */
    long take(long units, long nowNanos) {
        long start = Math.max(paidAtNanos, nowNanos - burstNanos);
        long cost = (long) Math.min(units * nanosPerUnit, MAX_COST_NANOS);
        paidAtNanos = Math.min(start + cost, nowNanos + MAX_COST_NANOS);
        return Math.max(start, nowNanos);
    }
}
