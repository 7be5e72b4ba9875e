package org.benchtop.guests.rt;

import org.benchtop.guests.lang.Guest;

/**
 * Time from the time-stamp counter.
 *
 * <p>Its frequency comes from {@code tsc_khz=} on the command line, else from CPUID 0x40000010 or 0x15, else it is
 * measured against channel 2 of the interval timer (100 ms).
 */
public final class Tsc {
    private static final int PIT_HZ = 1_193_182;
    private static final int PIT_TICKS = PIT_HZ / 50;
    private static final int RUNS = 5;
    private static final int MAX_READS = 10_000_000;
    private static final long MEASURED = Guest.reserve(8 * RUNS, 8);
    private static final int PORT_B = 0x61;
    private static final int PIT_CHANNEL2 = 0x42;
    private static final int PIT_CONTROL = 0x43;
    private static long khz;
    private static long nanosPerTick32;
    private static long origin;

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

    /** The median of five runs, because a host that is busy elsewhere makes single ones too long or too short. */
    private static long measure() {
        Guest.out8(PORT_B, Guest.in8(PORT_B) & ~2 | 1);
        for (int run = 0; run < RUNS; run++) {
            long value = measureOnce();
            int place = run;
            while (place > 0 && Guest.load64(MEASURED + 8L * (place - 1)) > value) {
                Guest.store64(MEASURED + 8L * place, Guest.load64(MEASURED + 8L * (place - 1)));
                place--;
            }
            Guest.store64(MEASURED + 8L * place, value);
        }
        return Guest.load64(MEASURED + 8L * (RUNS / 2));
    }

    private static long measureOnce() {
        Guest.out8(PIT_CONTROL, 0xb0);
        Guest.out8(PIT_CHANNEL2, PIT_TICKS);
        Guest.out8(PIT_CHANNEL2, PIT_TICKS >> 8);
        long begin = Guest.tsc();
        int reads = 0;
        while ((Guest.in8(PORT_B) & 0x20) == 0 && reads <= MAX_READS) {
            reads++;
        }
        long ticks = Guest.tsc() - begin;
        if (reads < 3 || reads > MAX_READS) {
            Exit.fail(Exit.NO_DEVICE, "no clock to measure the TSC with: give tsc_khz= on the command line");
        }
        return ticks * (PIT_HZ / 1000) / PIT_TICKS;
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
