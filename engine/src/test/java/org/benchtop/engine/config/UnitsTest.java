package org.benchtop.engine.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class UnitsTest {
    @ParameterizedTest
    @CsvSource({
        "512, 512",
        "0x1000, 4096",
        "4k, 4096",
        "4KiB, 4096",
        "64M, 67108864",
        "512MiB, 536870912",
        "4GiB, 4294967296",
        "10GB, 10000000000",
        "1.5GiB, 1610612736",
        "1 MiB, 1048576",
        "1_024, 1024",
        "2T, 2199023255552",
        "0, 0",
        "7EiB, 8070450532247928832",
    })
    void sizesAreReadAsPeopleWriteThem(String text, long sizeBytes) {
        assertEquals(OptionalLong.of(sizeBytes), Units.parseSize(text));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "M", "-1", "1X", "1KiBB", "0.3", "1.0000001K", "8EiB", "1e3", "99999999999999999999", "0x"})
    void whatIsNotASizeIsRefused(String text) {
        assertTrue(Units.parseSize(text).isEmpty(), text);
    }

    @ParameterizedTest
    @CsvSource({
        "100us, 100000",
        "100µs, 100000",
        "2ms, 2000000",
        "15s, 15000000000",
        "1.5s, 1500000000",
        "2m, 120000000000",
        "1h, 3600000000000",
        "7ns, 7",
        "0, 0",
    })
    void durationsAreReadAsPeopleWriteThem(String text, long nanos) {
        assertEquals(OptionalLong.of(nanos), Units.parseNanos(text));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "5", "ms", "-1s", "0.5ns", "300000000d", "1 second"})
    void whatIsNotADurationIsRefused(String text) {
        assertTrue(Units.parseNanos(text).isEmpty(), text);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 512, 4096, 1 << 20, 3L << 30, 1L << 62, Long.MAX_VALUE})
    void formattedSizesReadBackTheSame(long sizeBytes) {
        assertEquals(OptionalLong.of(sizeBytes), Units.parseSize(Units.formatSize(sizeBytes)));
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 1_000, 1_500, 2_000_000, 15_000_000_000L, Long.MAX_VALUE})
    void formattedDurationsReadBackTheSame(long nanos) {
        assertEquals(OptionalLong.of(nanos), Units.parseNanos(Units.formatNanos(nanos)));
    }

    @Test
    void nearestNameToleratesOneTypingMistake() {
        assertEquals(1, Suggestions.distance("cach", "cache"));
        assertEquals(1, Suggestions.distance("cahce", "cache"));
        assertEquals(" (did you mean \"cache\"?)", Suggestions.hint("cahce", java.util.List.of("aio", "cache")));
        assertEquals(" (known: aio, cache)", Suggestions.hint("banana", java.util.List.of("aio", "cache")));
    }
}
