package org.benchtop.pc.legacy;

import java.time.LocalDateTime;

/** Translates between a date and the ten time cells of an MC146818A in BCD or binary, 12 or 24 hours. */
final class RtcCalendar {
    private static final int PM = 0x80;

    private final boolean binary;
    private final boolean hours24;

    RtcCalendar(boolean binary, boolean hours24) {
        this.binary = binary;
        this.hours24 = hours24;
    }

    int encode(int value) {
        return binary ? value : value / 10 << 4 | value % 10;
    }

    int decode(int cell) {
        return binary ? cell : (cell >> 4) * 10 + (cell & 0x0f);
    }

    int encodeHour(int hour) {
        if (hours24) {
            return encode(hour);
        }
        int twelve = hour % 12 == 0 ? 12 : hour % 12;
        return encode(twelve) | (hour >= 12 ? PM : 0);
    }

    int decodeHour(int cell) {
        if (hours24) {
            return decode(cell);
        }
        return decode(cell & ~PM) % 12 + ((cell & PM) != 0 ? 12 : 0);
    }

    /** The cell of a moment; the alarm cells are not time. */
    int cell(LocalDateTime time, CmosRegister register) {
        return switch (register) {
            case SECONDS -> encode(time.getSecond());
            case MINUTES -> encode(time.getMinute());
            case HOURS -> encodeHour(time.getHour());
            case DAY_OF_WEEK -> encode(time.getDayOfWeek().getValue() % 7 + 1);
            case DAY_OF_MONTH -> encode(time.getDayOfMonth());
            case MONTH -> encode(time.getMonthValue());
            case YEAR -> encode(Math.floorMod(time.getYear(), 100));
            case CENTURY -> encode(Math.floorMod(time.getYear() / 100, 100));
            default -> throw new IllegalArgumentException(register + " is not a time cell");
        };
    }

    /** The moment that cells show; values out of range carry over, so any cells make a moment. */
    LocalDateTime moment(int century, int year, int month, int day, int hour, int minute, int second) {
        return LocalDateTime.of(decode(century) * 100 + decode(year), 1, 1, 0, 0)
                .plusMonths(decode(month) - 1L)
                .plusDays(decode(day) - 1L)
                .plusHours(decodeHour(hour))
                .plusMinutes(decode(minute))
                .plusSeconds(decode(second));
    }
}
