package org.benchtop.pc.legacy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.LocalDateTime;
import java.time.ZoneOffset;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class Mc146818Test {
    private static final long SECOND = 1_000_000_000L;
    private static final long MILLI = 1_000_000L;

    private final Mc146818 rtc = new Mc146818();
    private long now;
    private long wall = LocalDateTime.of(2026, 12, 31, 23, 58, 57).toEpochSecond(ZoneOffset.UTC) * SECOND;

    @BeforeEach
    void start() {
        pass(0);
        rtc.reset();
    }

    private void pass(long nanos) {
        now += nanos;
        wall += nanos;
        rtc.time(now, wall);
    }

    private int in(CmosRegister register) {
        rtc.time(now, wall);
        return rtc.read(register.offset());
    }

    private void out(CmosRegister register, int value) {
        rtc.time(now, wall);
        rtc.write(register.offset(), value);
    }

    private String shown() {
        return String.format(
                "%02x%02x-%02x-%02x %02x:%02x:%02x",
                in(CmosRegister.CENTURY),
                in(CmosRegister.YEAR),
                in(CmosRegister.MONTH),
                in(CmosRegister.DAY_OF_MONTH),
                in(CmosRegister.HOURS),
                in(CmosRegister.MINUTES),
                in(CmosRegister.SECONDS));
    }

    @Test
    void showsWallTimeInBcd() {
        assertEquals("2026-12-31 23:58:57", shown());
        assertEquals(5, in(CmosRegister.DAY_OF_WEEK), "a Thursday is day 5");
    }

    @Test
    void carriesIntoTheNewYear() {
        pass(63 * SECOND);

        assertEquals("2027-01-01 00:00:00", shown());
    }

    @Test
    void showsBinaryWhereAsked() {
        out(CmosRegister.REGISTER_B, Mc146818.B_DM | Mc146818.B_24H);

        assertEquals(58, in(CmosRegister.MINUTES));
        assertEquals(20, in(CmosRegister.CENTURY));
    }

    @Test
    void twelveHourModeMarksTheAfternoon() {
        out(CmosRegister.REGISTER_B, 0);
        assertEquals(0x91, in(CmosRegister.HOURS), "11 p.m.");

        pass(2 * 3600 * SECOND);

        assertEquals(0x01, in(CmosRegister.HOURS));
    }

    @Test
    void timeStandsStillWhileItIsSetAndRunsOnFromWhatWasWritten() {
        out(CmosRegister.REGISTER_B, Mc146818.B_SET | Mc146818.B_24H);
        pass(5 * SECOND);
        assertEquals("2026-12-31 23:58:57", shown());
        out(CmosRegister.CENTURY, 0x19);
        out(CmosRegister.YEAR, 0x99);
        out(CmosRegister.MONTH, 0x02);
        out(CmosRegister.DAY_OF_MONTH, 0x28);
        out(CmosRegister.HOURS, 0x23);
        out(CmosRegister.MINUTES, 0x59);
        out(CmosRegister.SECONDS, 0x58);
        out(CmosRegister.REGISTER_B, Mc146818.B_24H);

        pass(2 * SECOND);

        assertEquals("1999-03-01 00:00:00", shown());
    }

    @Test
    void impossibleDateDoesNotThrow() {
        out(CmosRegister.REGISTER_B, Mc146818.B_SET | Mc146818.B_DM | Mc146818.B_24H);
        for (CmosRegister register : CmosRegister.values()) {
            if (register.offset() < 0x0a) {
                out(register, 0xff);
            }
        }
        out(CmosRegister.CENTURY, 0xff);
        out(CmosRegister.REGISTER_B, Mc146818.B_DM | Mc146818.B_24H);
        pass(SECOND);

        assertTrue(in(CmosRegister.MONTH) >= 1 && in(CmosRegister.MONTH) <= 12);
    }

    @Test
    void updateInProgressShowsShortlyBeforeTheSecondTurns() {
        pass(SECOND - 3 * MILLI);
        assertEquals(0, in(CmosRegister.REGISTER_A) & Mc146818.A_UIP);

        pass(MILLI);
        assertEquals(Mc146818.A_UIP, in(CmosRegister.REGISTER_A) & Mc146818.A_UIP);
        pass(2 * MILLI);

        assertEquals(0, in(CmosRegister.REGISTER_A) & Mc146818.A_UIP);
        assertEquals(0x58, in(CmosRegister.SECONDS));
    }

    @Test
    void updateEndedInterruptComesWithTheSecond() {
        out(CmosRegister.REGISTER_B, Mc146818.B_UIE | Mc146818.B_24H);
        assertEquals(now + SECOND, rtc.nextEventNanos());
        pass(SECOND);

        assertTrue(rtc.interrupt());
        assertEquals(Mc146818.C_IRQF | Mc146818.C_UF, in(CmosRegister.REGISTER_C) & 0x90);
        assertFalse(rtc.interrupt(), "reading register C clears it");
    }

    @Test
    void settingTheClockDisablesUpdateInterrupts() {
        out(CmosRegister.REGISTER_B, Mc146818.B_UIE | Mc146818.B_24H);
        out(CmosRegister.REGISTER_B, Mc146818.B_SET | Mc146818.B_UIE | Mc146818.B_24H);
        pass(2 * SECOND);

        assertEquals(0, in(CmosRegister.REGISTER_B) & Mc146818.B_UIE);
        assertFalse(rtc.interrupt());
    }

    @Test
    void periodicInterruptHasTheRateOfRegisterA() {
        out(CmosRegister.REGISTER_A, 0x26);
        out(CmosRegister.REGISTER_B, Mc146818.B_PIE | Mc146818.B_24H);
        long period = rtc.nextEventNanos() - now;
        assertEquals(SECOND / 1024, period);

        pass(period);

        assertEquals(Mc146818.C_IRQF | Mc146818.C_PF, in(CmosRegister.REGISTER_C) & 0xc0);
        assertEquals(now + period, rtc.nextEventNanos());
    }

    @Test
    void fastestRatesAreThoseOfEightAndNine() {
        out(CmosRegister.REGISTER_B, Mc146818.B_PIE | Mc146818.B_24H);
        out(CmosRegister.REGISTER_A, 0x21);
        assertEquals(SECOND / 256, rtc.nextEventNanos() - now);
        out(CmosRegister.REGISTER_A, 0x22);
        assertEquals(SECOND / 128, rtc.nextEventNanos() - now);
        out(CmosRegister.REGISTER_A, 0x2f);
        assertEquals(SECOND / 2, rtc.nextEventNanos() - now);
    }

    @Test
    void missedPeriodsGiveOneInterrupt() {
        out(CmosRegister.REGISTER_B, Mc146818.B_PIE | Mc146818.B_24H);
        pass(SECOND + MILLI);
        assertTrue(rtc.interrupt());
        in(CmosRegister.REGISTER_C);

        assertFalse(rtc.interrupt());
    }

    @Test
    void alarmMatchesItsTimeOfDay() {
        out(CmosRegister.SECONDS_ALARM, 0x10);
        out(CmosRegister.MINUTES_ALARM, 0x59);
        out(CmosRegister.HOURS_ALARM, 0x23);
        out(CmosRegister.REGISTER_B, Mc146818.B_AIE | Mc146818.B_24H);
        assertEquals(now + 13 * SECOND, rtc.nextEventNanos());
        pass(12 * SECOND);
        assertFalse(rtc.interrupt());

        pass(SECOND);

        assertEquals(Mc146818.C_AF, in(CmosRegister.REGISTER_C) & Mc146818.C_AF);
        pass(3600 * SECOND);
        assertEquals(0, in(CmosRegister.REGISTER_C) & Mc146818.C_AF);
        assertEquals(now + (86400 - 3600) * SECOND, rtc.nextEventNanos());
    }

    @Test
    void alarmOnTheNextDayIsFound() {
        out(CmosRegister.SECONDS_ALARM, 0x00);
        out(CmosRegister.MINUTES_ALARM, 0x00);
        out(CmosRegister.HOURS_ALARM, 0x00);
        out(CmosRegister.REGISTER_B, Mc146818.B_AIE | Mc146818.B_24H);

        assertEquals(now + 63 * SECOND, rtc.nextEventNanos());
    }

    @Test
    void dontCareAlarmComesEverySecondMinuteOrHour() {
        out(CmosRegister.SECONDS_ALARM, 0xff);
        out(CmosRegister.MINUTES_ALARM, 0xff);
        out(CmosRegister.HOURS_ALARM, 0xc0);
        out(CmosRegister.REGISTER_B, Mc146818.B_AIE | Mc146818.B_24H);
        assertEquals(now + SECOND, rtc.nextEventNanos());

        out(CmosRegister.SECONDS_ALARM, 0x30);

        assertEquals(now + 33 * SECOND, rtc.nextEventNanos());
    }

    @Test
    void impossibleAlarmNeverComes() {
        out(CmosRegister.SECONDS_ALARM, 0x75);
        out(CmosRegister.REGISTER_B, Mc146818.B_AIE | Mc146818.B_24H);

        assertEquals(Long.MAX_VALUE, rtc.nextEventNanos());
    }

    @Test
    void releasedDividerStartsTheFirstSecondHalfwayThrough() {
        out(CmosRegister.REGISTER_A, 0x66);
        pass(7 * SECOND / 10);
        assertEquals("2026-12-31 23:58:57", shown());

        out(CmosRegister.REGISTER_A, 0x26);
        out(CmosRegister.REGISTER_B, Mc146818.B_UIE | Mc146818.B_24H);

        assertEquals(now + SECOND / 2, rtc.nextEventNanos());
    }

    @Test
    void memoryKeepsWhatIsWritten() {
        for (int i = 0x40; i < 0x58; i++) {
            rtc.write(i, i ^ 0xff);
        }
        rtc.reset();

        for (int i = 0x40; i < 0x58; i++) {
            assertEquals(i ^ 0xff, rtc.read(i));
        }
        assertEquals(0x80, in(CmosRegister.REGISTER_D));
    }
}
