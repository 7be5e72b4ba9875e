package org.benchtop.guests.rt;

import org.benchtop.guests.lang.Guest;

/** The CPU's own interrupt controller, in xAPIC mode at its reset address (Intel SDM, volume 3, chapter 12). */
public final class LocalApic {
    private static final long BASE = 0xfee0_0000L;
    private static final long ID = BASE + 0x20;
    private static final long TASK_PRIORITY = BASE + 0x80;
    private static final long SPURIOUS = BASE + 0xf0;
    private static final long COMMAND_LOW = BASE + 0x300;
    private static final long TIMER = BASE + 0x320;
    private static final long TIMER_INITIAL = BASE + 0x380;
    private static final long TIMER_DIVIDE = BASE + 0x3e0;
    private static final int ALL_BUT_SELF = 0xc_0000;
    private static final int ASSERT = 0x4000;
    private static final int INIT = 0x500;
    private static final int STARTUP = 0x600;
    private static final int PERIODIC = 0x2_0000;
    private static final int SOFTWARE_ENABLE = 0x100;
    private static final int MASKED = 0x1_0000;

    /** The vector by which CPUs wake each other. */
    public static final int WAKE_VECTOR = 0xf0;

    /** The vector of the periodic tick. */
    public static final int TICK_VECTOR = 0xef;

    private LocalApic() {}

    static void enable() {
        Guest.store32(SPURIOUS, SOFTWARE_ENABLE | 0xff);
        Guest.store32(TASK_PRIORITY, 0);
    }

    /** The APIC id of this CPU. */
    public static int id() {
        return Guest.load32(ID) >>> 24;
    }

    static void initOthers() {
        Guest.store32(COMMAND_LOW, ALL_BUT_SELF | ASSERT | INIT);
    }

    static void startOthers(int page) {
        Guest.store32(COMMAND_LOW, ALL_BUT_SELF | ASSERT | STARTUP | page);
    }

    static void wakeOthers() {
        Guest.store32(COMMAND_LOW, ALL_BUT_SELF | ASSERT | WAKE_VECTOR);
    }

    /** Starts a periodic interrupt on this CPU; the rate is the bus clock over {@code 128 * count}. */
    public static void startTicks(int count) {
        Guest.store32(TIMER_DIVIDE, 0xa);
        Guest.store32(TIMER, PERIODIC | TICK_VECTOR);
        Guest.store32(TIMER_INITIAL, count);
    }

    /** Stops the periodic interrupt. */
    public static void stopTicks() {
        Guest.store32(TIMER, MASKED);
        Guest.store32(TIMER_INITIAL, 0);
    }
}
