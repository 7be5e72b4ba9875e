package org.benchtop.pc.legacy;

import org.benchtop.spi.Option;

/** Options of {@code rtc}. */
public record RtcOptions(
        @Option(
                doc = "Whether the clock shows universal time, as Linux wants, or the host's local time.",
                value = "utc")
        Base base) {
    /** What the clock shows. */
    public enum Base {
        /** Universal time. */
        UTC,
        /** Local time of the host. */
        LOCALTIME,
    }
}
