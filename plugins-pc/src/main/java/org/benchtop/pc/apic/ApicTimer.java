package org.benchtop.pc.apic;

import org.benchtop.spi.event.Timer;

/**
 * The timer of a local APIC (Intel SDM vol. 3, 11.5.4): counts down at 1 GHz divided by 1 to 128, once or periodically,
 * or waits for a value of the time-stamp counter.
 *
 * <p>Nothing ticks: counts are computed from the time that every call passes. Thread-safe: registers come on the vCPU's
 * thread, expiry on the event loop's. A method that returns true wants its caller to deliver the interrupt.
 */
final class ApicTimer {
    static final int ONE_SHOT = 0;
    static final int PERIODIC = 1;
    static final int TSC_DEADLINE = 2;

    /** A guest cannot ask for more than 10,000 interrupts a second; counts are shown as programmed. */
    static final long MIN_PERIOD_NANOS = 100_000;

    private static final long NEVER = Long.MAX_VALUE;
    private static final long NANOS_PER_MILLI = 1_000_000;

    private final Timer timer;
    private int mode;
    private boolean masked = true;
    private int divide;
    private int initialCount;
    /** When the count was started; moves on by whole periods. */
    private long startNanos;

    private boolean counting;
    private long deadlineTsc;
    private long deadlineNanos = NEVER;

    ApicTimer(Timer timer) {
        this.timer = timer;
    }

    /** The divisor that the divide configuration register stands for. */
    private static int shift(int divide) {
        return (divide >> 1 & 4 | divide & 3) + 1 & 7;
    }

    private long wholeNanos() {
        return Integer.toUnsignedLong(initialCount) << shift(divide);
    }

    private long periodNanos() {
        return Math.max(MIN_PERIOD_NANOS, wholeNanos());
    }

    /** Accounts for what has expired up to now; true if an interrupt is due. */
    private boolean settle(long now) {
        if (mode == TSC_DEADLINE) {
            if (deadlineTsc == 0 || now < deadlineNanos) {
                return false;
            }
            deadlineTsc = 0;
            deadlineNanos = NEVER;
            return !masked;
        }
        if (!counting) {
            return false;
        }
        if (mode == ONE_SHOT) {
            if (now - startNanos < wholeNanos()) {
                return false;
            }
            counting = false;
            return !masked;
        }
        long period = periodNanos();
        long periods = (now - startNanos) / period;
        if (periods <= 0) {
            return false;
        }
        // However many have passed, the request register remembers one.
        startNanos += periods * period;
        return !masked;
    }

    private long nextNanos() {
        if (masked) {
            return NEVER;
        }
        if (mode == TSC_DEADLINE) {
            return deadlineNanos;
        }
        if (!counting) {
            return NEVER;
        }
        return startNanos + (mode == PERIODIC ? periodNanos() : wholeNanos());
    }

    /** The event loop's timer is armed while locked: arming by two threads must not be reordered. */
    private void arm() {
        long next = nextNanos();
        if (next == NEVER) {
            timer.cancel();
        } else {
            timer.armAt(next);
        }
    }

    /** The event loop's timer has fired. */
    synchronized boolean expired(long now) {
        boolean due = settle(now);
        long next = nextNanos();
        if (next != NEVER) {
            timer.armAt(next);
        }
        return due;
    }

    /** The timer's entry in the local vector table has changed. */
    synchronized boolean configure(int newMode, boolean newMasked, long now) {
        boolean due = settle(now);
        if (newMode != mode && (newMode == TSC_DEADLINE || mode == TSC_DEADLINE)) {
            counting = false;
            initialCount = 0;
            deadlineTsc = 0;
            deadlineNanos = NEVER;
        }
        mode = newMode;
        masked = newMasked;
        arm();
        return due;
    }

    /** A write to the initial count starts the timer, or stops it with 0. */
    synchronized void start(int count, long now) {
        if (mode == TSC_DEADLINE) {
            return;
        }
        initialCount = count;
        startNanos = now;
        counting = count != 0;
        arm();
    }

    synchronized boolean divide(int value, long now) {
        boolean due = settle(now);
        if (counting) {
            long left = Integer.toUnsignedLong(currentCount(now));
            divide = value;
            startNanos = now - (Integer.toUnsignedLong(initialCount) - left << shift(divide));
        } else {
            divide = value;
        }
        arm();
        return due;
    }

    /**
     * A write to the TSC deadline, ignored in other modes.
     *
     * @param value the deadline, 0 for none
     * @param tsc the counter now
     * @param tscKilohertz its frequency
     */
    synchronized void deadline(long value, long tsc, long tscKilohertz, long now) {
        if (mode != TSC_DEADLINE) {
            return;
        }
        deadlineTsc = value;
        deadlineNanos = value == 0 ? NEVER : nanosAt(value, tsc, tscKilohertz, now);
        arm();
    }

    private static long nanosAt(long value, long tsc, long tscKilohertz, long now) {
        long left = value - tsc;
        if (Long.compareUnsigned(value, tsc) <= 0) {
            return now;
        }
        long millis = Long.divideUnsigned(left, tscKilohertz);
        if (millis > NEVER / 4 / NANOS_PER_MILLI) {
            return NEVER;
        }
        long rest = left - millis * tscKilohertz;
        // Rounded up: the counter must have reached the deadline when the interrupt comes.
        return now + millis * NANOS_PER_MILLI + rest * NANOS_PER_MILLI / tscKilohertz + 1;
    }

    synchronized long deadline(long now) {
        return mode == TSC_DEADLINE && now < deadlineNanos ? deadlineTsc : 0;
    }

    synchronized int initialCount() {
        return initialCount;
    }

    synchronized int divide() {
        return divide;
    }

    synchronized int currentCount(long now) {
        if (!counting) {
            return 0;
        }
        long count = Integer.toUnsignedLong(initialCount);
        long passed = now - startNanos >> shift(divide);
        if (passed < count) {
            return (int) (count - passed);
        }
        return mode == PERIODIC ? (int) (count - passed % count) : 0;
    }

    synchronized void reset() {
        mode = ONE_SHOT;
        masked = true;
        divide = 0;
        initialCount = 0;
        counting = false;
        deadlineTsc = 0;
        deadlineNanos = NEVER;
        timer.cancel();
    }

    /**
     * Saved state; times are relative, because another machine's clock starts elsewhere.
     *
     * @param initialCount the register
     * @param divide the register
     * @param counting whether it counts
     * @param elapsedNanos how long it has been counting
     * @param deadlineTsc the register
     * @param deadlineLeftNanos how long until then, or the greatest number for never
     */
    record State(
            int initialCount,
            int divide,
            boolean counting,
            long elapsedNanos,
            long deadlineTsc,
            long deadlineLeftNanos) {}

    synchronized State save(long now) {
        return new State(
                initialCount,
                divide,
                counting,
                counting ? now - startNanos : 0,
                deadlineTsc,
                deadlineNanos == NEVER ? NEVER : deadlineNanos - now);
    }

    synchronized void restore(State state, int newMode, boolean newMasked, long now) {
        mode = newMode;
        masked = newMasked;
        initialCount = state.initialCount;
        divide = state.divide & 0xb;
        counting = state.counting && initialCount != 0 && mode != TSC_DEADLINE;
        startNanos = now - Math.max(0, state.elapsedNanos);
        deadlineTsc = mode == TSC_DEADLINE ? state.deadlineTsc : 0;
        deadlineNanos = deadlineTsc == 0 || state.deadlineLeftNanos == NEVER
                ? NEVER
                : now + Math.min(state.deadlineLeftNanos, NEVER / 2);
        arm();
    }

    synchronized void close() {
        timer.close();
    }
}
