package org.benchtop.pc.legacy;

import java.time.LocalDateTime;
import java.time.ZoneOffset;
import org.benchtop.spi.device.RegisterMap;

/**
 * The real-time clock MC146818A with 128 bytes of CMOS memory. It knows no bus, thread or clock: its owner passes the
 * machine's time and the wall time with every call. Not thread-safe.
 *
 * <p>Nothing ticks: the time shown and the flags are computed from the clocks when somebody looks, and {@link
 * #nextEventNanos} says when an enabled interrupt is due.
 */
final class Mc146818 implements RegisterMap.Handler<CmosRegister> {
    static final int CELLS = 128;

    static final int A_UIP = 0x80;
    static final int A_DIVIDER = 0x70;
    static final int A_RATE = 0x0f;
    static final int B_SET = 0x80;
    static final int B_PIE = 0x40;
    static final int B_AIE = 0x20;
    static final int B_UIE = 0x10;
    static final int B_DM = 0x04;
    static final int B_24H = 0x02;
    static final int C_IRQF = 0x80;
    static final int C_PF = 0x40;
    static final int C_AF = 0x20;
    static final int C_UF = 0x10;

    private static final int DIVIDER_32KHZ = 0x20;
    private static final int DIVIDER_RESET = 0x60;
    private static final long SECOND = 1_000_000_000L;
    private static final int CRYSTAL_HZ = 32_768;
    /** The update cycle takes 1984 µs with a 32 kHz crystal and is announced 244 µs before. */
    private static final long UPDATE_NANOS = 2_228_000;
    /** After the divider is released, the first update comes half a second later. */
    private static final long DIVIDER_RELEASE_NANOS = SECOND / 2;
    /** An alarm cell of 0xC0 or more matches everything. */
    private static final int DONT_CARE = 0xc0;

    private final RegisterMap<CmosRegister> map = new RegisterMap<>("MC146818A and CMOS", CmosRegister.class, this);
    private final byte[] cells = new byte[CELLS];
    private long now;
    /** Wall time in nanoseconds since 1970, at {@link #now}. */
    private long wall;
    /** What the guest has set the clock ahead of the wall clock. */
    private long offsetNanos;

    private int flags;
    /** Second of the clock up to which update and alarm flags are known. */
    private long seenSecond;

    private long periodBase;
    private long seenPeriods;

    Mc146818() {
        for (CmosRegister register : CmosRegister.values()) {
            cells[register.offset()] = (byte) register.resetValue();
        }
    }

    /** Sets the clocks' time, before anything else and again before every access. */
    void time(long nowNanos, long wallNanos) {
        now = nowNanos;
        wall = wallNanos;
        update();
    }

    /** Reset pin: interrupts and flags are off; time and memory are kept by the battery. */
    void reset() {
        cells[CmosRegister.REGISTER_B.offset()] &= (byte) (B_SET | 0x07);
        flags = 0;
        seenSecond = second();
        restartPeriods();
    }

    /** Sets a byte of memory as firmware or the factory would. */
    void preset(CmosRegister register, int value) {
        cells[register.offset()] = (byte) value;
    }

    RegisterMap<CmosRegister> registers() {
        return map;
    }

    int read(int index) {
        return index < CELLS && isNamed(index) ? (int) map.read(index, 1) : cells[index & CELLS - 1] & 0xff;
    }

    void write(int index, int value) {
        if (isNamed(index)) {
            map.write(index, 1, value);
        } else {
            cells[index & CELLS - 1] = (byte) value;
        }
    }

    private static final boolean[] NAMED = new boolean[CELLS];

    static {
        for (CmosRegister register : CmosRegister.values()) {
            NAMED[register.offset()] = true;
        }
    }

    private static boolean isNamed(int index) {
        return NAMED[index & CELLS - 1];
    }

    /** The interrupt output. */
    boolean interrupt() {
        return (flags & cells[CmosRegister.REGISTER_B.offset()] & (C_PF | C_AF | C_UF)) != 0;
    }

    // Time.

    private int b() {
        return cells[CmosRegister.REGISTER_B.offset()];
    }

    private int a() {
        return cells[CmosRegister.REGISTER_A.offset()];
    }

    private boolean running() {
        return (b() & B_SET) == 0 && (a() & A_DIVIDER) == DIVIDER_32KHZ;
    }

    private long clockNanos() {
        return wall + offsetNanos;
    }

    private long second() {
        return Math.floorDiv(clockNanos(), SECOND);
    }

    private RtcCalendar calendar() {
        return new RtcCalendar((b() & B_DM) != 0, (b() & B_24H) != 0);
    }

    private LocalDateTime shown() {
        return LocalDateTime.ofEpochSecond(second(), 0, ZoneOffset.UTC);
    }

    private int timeCell(CmosRegister register) {
        return running() ? calendar().cell(shown(), register) : cells[register.offset()] & 0xff;
    }

    /** Copies the running time into the cells, where it stands still while it is set. */
    private void freeze() {
        LocalDateTime time = shown();
        RtcCalendar calendar = calendar();
        for (CmosRegister register : CmosRegister.values()) {
            if (isTime(register)) {
                cells[register.offset()] = (byte) calendar.cell(time, register);
            }
        }
    }

    /** Lets the clock run on from the time in the cells, keeping the fraction of the second. */
    private void thaw(long fractionNanos) {
        LocalDateTime time = calendar()
                .moment(
                        cellOf(CmosRegister.CENTURY),
                        cellOf(CmosRegister.YEAR),
                        cellOf(CmosRegister.MONTH),
                        cellOf(CmosRegister.DAY_OF_MONTH),
                        cellOf(CmosRegister.HOURS),
                        cellOf(CmosRegister.MINUTES),
                        cellOf(CmosRegister.SECONDS));
        // Saturates for years beyond 2262, which a century cell can hold but nanoseconds cannot.
        long seconds = Math.min(time.toEpochSecond(ZoneOffset.UTC), Long.MAX_VALUE / SECOND / 2);
        seconds = Math.max(seconds, Long.MIN_VALUE / SECOND / 2);
        offsetNanos = seconds * SECOND + fractionNanos - wall;
        seenSecond = second();
    }

    private int cellOf(CmosRegister register) {
        return cells[register.offset()] & 0xff;
    }

    private static boolean isTime(CmosRegister register) {
        return switch (register) {
            case SECONDS, MINUTES, HOURS, DAY_OF_WEEK, DAY_OF_MONTH, MONTH, YEAR, CENTURY -> true;
            default -> false;
        };
    }

    // Flags.

    private void update() {
        if (running()) {
            long second = second();
            if (second > seenSecond) {
                flags |= C_UF;
                if (alarmBetween(seenSecond + 1, second)) {
                    flags |= C_AF;
                }
            }
            seenSecond = second;
        }
        long period = periodNanos();
        if (period > 0) {
            long passed = (now - periodBase) / period;
            if (passed > seenPeriods) {
                flags |= C_PF;
                seenPeriods = passed;
            }
        }
    }

    private long periodNanos() {
        int rate = a() & A_RATE;
        int divider = a() & A_DIVIDER;
        if (rate == 0 || divider >= DIVIDER_RESET) {
            return 0;
        }
        // With a 32 kHz crystal rates 1 and 2 are those of 8 and 9.
        int shift = rate <= 2 ? rate + 6 : rate - 1;
        return SECOND * (1L << shift) / CRYSTAL_HZ;
    }

    private void restartPeriods() {
        periodBase = now;
        seenPeriods = 0;
    }

    /** Whether the alarm matches a second of a range; more than a day matches whatever is a time of day. */
    private boolean alarmBetween(long from, long to) {
        long next = nextAlarm(from);
        return next >= 0 && next <= to;
    }

    /** The first second from {@code from} on that the alarm matches, within a day; -1 if it matches none. */
    private long nextAlarm(long from) {
        RtcCalendar calendar = calendar();
        int secondCell = cellOf(CmosRegister.SECONDS_ALARM);
        int minuteCell = cellOf(CmosRegister.MINUTES_ALARM);
        int hourCell = cellOf(CmosRegister.HOURS_ALARM);
        int second = secondCell >= DONT_CARE ? -1 : calendar.decode(secondCell);
        int minute = minuteCell >= DONT_CARE ? -1 : calendar.decode(minuteCell);
        int hour = hourCell >= DONT_CARE ? -1 : calendar.decodeHour(hourCell);
        if (second >= 60 || minute >= 60 || hour >= 24) {
            return -1;
        }
        long dayStart = Math.floorDiv(from, 86_400L) * 86_400L;
        int start = (int) (from - dayStart);
        for (int step = 0; step <= 24; step++) {
            int h = start / 3600 + step;
            if (hour >= 0 && h % 24 != hour) {
                continue;
            }
            int firstMinute = step == 0 ? start / 60 % 60 : 0;
            for (int m = firstMinute; m < 60; m++) {
                if (minute >= 0 && m != minute) {
                    continue;
                }
                int firstSecond = step == 0 && m == firstMinute ? start % 60 : 0;
                if (second < 0) {
                    return dayStart + h * 3600L + m * 60L + firstSecond;
                }
                if (second >= firstSecond) {
                    return dayStart + h * 3600L + m * 60L + second;
                }
            }
        }
        return -1;
    }

    /** The machine's time at which an enabled interrupt is due; {@link Long#MAX_VALUE} for none. */
    long nextEventNanos() {
        int enabled = b() & (B_PIE | B_AIE | B_UIE);
        if (enabled == 0 || interrupt()) {
            return Long.MAX_VALUE;
        }
        long next = Long.MAX_VALUE;
        if ((enabled & B_PIE) != 0 && periodNanos() > 0) {
            next = periodBase + (seenPeriods + 1) * periodNanos();
        }
        if (running()) {
            long toNextSecond = SECOND - Math.floorMod(clockNanos(), SECOND);
            if ((enabled & B_UIE) != 0) {
                next = Math.min(next, now + toNextSecond);
            }
            if ((enabled & B_AIE) != 0) {
                long alarm = nextAlarm(second() + 1);
                if (alarm >= 0) {
                    next = Math.min(next, now + toNextSecond + (alarm - second() - 1) * SECOND);
                }
            }
        }
        return next;
    }

    // Cells.

    @Override
    public long read(CmosRegister register) {
        if (register == CmosRegister.REGISTER_C) {
            int value = (int) peek(register);
            flags = 0;
            return value;
        }
        return peek(register);
    }

    @Override
    public long peek(CmosRegister register) {
        return switch (register) {
            case REGISTER_A -> a() & ~A_UIP | (updateInProgress() ? A_UIP : 0);
            case REGISTER_B -> b() & 0xff;
            case REGISTER_C -> flags | (interrupt() ? C_IRQF : 0);
            default -> isTime(register) ? timeCell(register) : cellOf(register);
        };
    }

    private boolean updateInProgress() {
        return running() && SECOND - Math.floorMod(clockNanos(), SECOND) <= UPDATE_NANOS;
    }

    @Override
    public void write(CmosRegister register, long value) {
        int v = (int) value;
        switch (register) {
            case REGISTER_A -> writeA(v);
            case REGISTER_B -> writeB(v);
            default -> {
                if (isTime(register) && running()) {
                    long fraction = Math.floorMod(clockNanos(), SECOND);
                    freeze();
                    cells[register.offset()] = (byte) v;
                    thaw(fraction);
                } else {
                    cells[register.offset()] = (byte) v;
                }
            }
        }
    }

    private void writeA(int value) {
        boolean wasRunning = running();
        boolean wasReset = (a() & A_DIVIDER) >= DIVIDER_RESET;
        if (wasRunning && (value & A_DIVIDER) != DIVIDER_32KHZ) {
            freeze();
        }
        int changed = (a() ^ value) & (A_DIVIDER | A_RATE);
        cells[CmosRegister.REGISTER_A.offset()] = (byte) (value & ~A_UIP);
        if (changed != 0) {
            restartPeriods();
        }
        if (!wasRunning && running()) {
            thaw(wasReset ? SECOND - DIVIDER_RELEASE_NANOS : Math.floorMod(clockNanos(), SECOND));
        }
    }

    private void writeB(int value) {
        boolean wasRunning = running();
        boolean formatChanges = ((b() ^ value) & (B_DM | B_24H)) != 0;
        if (wasRunning && (value & B_SET) != 0) {
            freeze();
        }
        // Setting SET clears UIE (MC146818A, register B).
        int stored = (value & B_SET) != 0 ? value & ~B_UIE : value;
        cells[CmosRegister.REGISTER_B.offset()] = (byte) stored;
        if (!wasRunning && running()) {
            thaw(Math.floorMod(clockNanos(), SECOND));
        } else if (formatChanges && running()) {
            seenSecond = second();
        }
    }

    /** Everything that survives a save. */
    record State(
            byte[] cells, long offsetNanos, int flags, long seenSecond, long periodBase, long seenPeriods, int index) {}

    State save(int index) {
        return new State(cells.clone(), offsetNanos, flags, seenSecond, periodBase, seenPeriods, index);
    }

    void restore(State state) {
        System.arraycopy(state.cells, 0, cells, 0, Math.min(CELLS, state.cells.length));
        offsetNanos = state.offsetNanos;
        flags = state.flags & (C_PF | C_AF | C_UF);
        seenSecond = state.seenSecond;
        periodBase = state.periodBase;
        seenPeriods = state.seenPeriods;
    }
}
