package org.benchtop.guests.rt;

import org.benchtop.guests.lang.Guest;

/**
 * Time from the time-stamp counter.
 *
 * <p>Its frequency comes from {@code tsc_khz=} on the command line, else from CPUID 0x40000010 or 0x15, else it is
 * measured against channel 2 of the interval timer (20 ms or more).
 */
public final class Tsc {
    private static final int PIT_HZ = 1_193_182;
    private static final int MAX_RUNS = 10;
    private static final int MAX_SAMPLES = 100_000;
    private static final int MIN_COUNTS = PIT_HZ / 50;
    private static final int PORT_B = 0x61;
    private static final int PIT_CHANNEL2 = 0x42;
    private static final int PIT_CONTROL = 0x43;
    private static long khz;
    private static long nanosPerTick32;
    private static long origin;
    private static long sampleDoubt;
    private static long sampleTime;
    private static int sampleCount;

    private Tsc() {}

    /** Ticks per millisecond. */
    public static long khz() {
        if (khz == 0) {
            khz = find();
            // 32 fractional bits.
            nanosPerTick32 = (1_000_000L << 32) / khz;
            origin = Guest.tsc();
        }
        return khz;
    }

    private static long find() {
        long given = Cmdline.number("tsc_khz", 0, 1_000, 100_000_000);
        if (given != 0) {
            return given;
        }
        if ((Guest.cpuid(1, 0, 2) & 0x8000_0000) != 0
                && Integer.compareUnsigned(Guest.cpuid(0x4000_0000, 0, 0), 0x4000_0010) >= 0
                && Guest.cpuid(0x4000_0010, 0, 0) > 100_000) {
            return Guest.cpuid(0x4000_0010, 0, 0);
        }
        if (Integer.compareUnsigned(Guest.cpuid(0, 0, 0), 0x15) >= 0) {
            long denominator = Integer.toUnsignedLong(Guest.cpuid(0x15, 0, 0));
            long numerator = Integer.toUnsignedLong(Guest.cpuid(0x15, 0, 1));
            long crystal = Integer.toUnsignedLong(Guest.cpuid(0x15, 0, 2));
            if (denominator != 0 && numerator != 0 && crystal != 0) {
                return crystal * numerator / denominator / 1000;
            }
        }
        return measure();
    }

    /**
     * Compares two readings of the timer, at least 20 ms apart, with the TSC around each.
     *
     * <p>What happens between the readings does not matter, so a host that is busy elsewhere does little harm; each
     * reading is the best-known one of several.
     */
    private static long measure() {
        Guest.out8(PORT_B, Guest.in8(PORT_B) & ~2 | 1);
        long bestTicks = 0;
        long bestCounts = 1;
        long bestDoubt = Long.MAX_VALUE;
        int run = 0;
        while (run < MAX_RUNS && bestDoubt > bestTicks / 500) {
            run++;
            // Mode 0: counts down once and sets OUT at the end, which would make a reading ambiguous.
            Guest.out8(PIT_CONTROL, 0xb0);
            Guest.out8(PIT_CHANNEL2, 0xff);
            Guest.out8(PIT_CHANNEL2, 0xff);
            sample();
            long firstDoubt = sampleDoubt;
            long firstTime = sampleTime;
            int firstCount = sampleCount;
            int samples = 0;
            do {
                sample();
                samples++;
                if (samples > MAX_SAMPLES) {
                    noClock();
                }
            } while (firstCount - sampleCount < MIN_COUNTS && (Guest.in8(PORT_B) & 0x20) == 0);
            boolean expired = (Guest.in8(PORT_B) & 0x20) != 0;
            long doubt = firstDoubt + sampleDoubt;
            if (!expired && firstCount > sampleCount && doubt < bestDoubt) {
                bestDoubt = doubt;
                bestTicks = sampleTime - firstTime;
                bestCounts = firstCount - sampleCount;
            }
        }
        if (bestTicks == 0) {
            noClock();
        }
        return bestTicks * PIT_HZ / bestCounts / 1000;
    }

    /** Reads the counter a few times and keeps the reading with the least time around it. */
    private static void sample() {
        sampleDoubt = Long.MAX_VALUE;
        for (int i = 0; i < 4; i++) {
            long before = Guest.tsc();
            Guest.out8(PIT_CONTROL, 0x80);
            long after = Guest.tsc();
            int count = Guest.in8(PIT_CHANNEL2) | Guest.in8(PIT_CHANNEL2) << 8;
            if (after - before < sampleDoubt) {
                sampleDoubt = after - before;
                sampleTime = before + (after - before) / 2;
                sampleCount = count;
            }
        }
    }

    private static void noClock() {
        Exit.fail(Exit.NO_DEVICE, "no clock to measure the TSC with: give tsc_khz= on the command line");
    }

    /** Nanoseconds since the clock was first used. */
    public static long nanos() {
        khz();
        return toNanos(Guest.tsc() - origin);
    }

    /** Converts a number of ticks. */
    public static long toNanos(long ticks) {
        return Math.unsignedMultiplyHigh(ticks, nanosPerTick32) << 32 | (ticks * nanosPerTick32) >>> 32;
    }

    /** Converts nanoseconds to ticks, up to about a year. */
    public static long fromNanos(long nanos) {
        return nanos / 1_000_000 * khz() + nanos % 1_000_000 * khz() / 1_000_000;
    }

    /** Spins. */
    public static void sleepNanos(long nanos) {
        long end = nanos() + nanos;
        while (nanos() < end) {
            Guest.pause();
        }
    }
}
