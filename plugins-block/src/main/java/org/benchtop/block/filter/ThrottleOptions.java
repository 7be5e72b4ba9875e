package org.benchtop.block.filter;

import java.util.Optional;
import java.util.stream.Stream;
import org.benchtop.spi.Option;

/** Options of {@code throttle}. */
public record ThrottleOptions(
        @Option(doc = "The drive that is slowed down.", ref = Option.Ref.DRIVE)
        String drive,

        @Option(doc = "Requests per second.", min = 1) Optional<Long> iops,

        @Option(doc = "Reads per second.", min = 1) Optional<Long> iopsRead,

        @Option(doc = "Writes, discards and write-zeroes per second.", min = 1)
        Optional<Long> iopsWrite,

        @Option(doc = "Bytes per second.", min = 512, unit = Option.Unit.BYTES)
        Optional<Long> bps,

        @Option(doc = "Bytes read per second.", min = 512, unit = Option.Unit.BYTES)
        Optional<Long> bpsRead,

        @Option(doc = "Bytes written per second.", min = 512, unit = Option.Unit.BYTES)
        Optional<Long> bpsWrite,

        @Option(
                doc = "How much an idle drive saves up, as a time at the full rate; after it requests go at once until"
                        + " that is used up.",
                value = "100ms",
                unit = Option.Unit.NANOSECONDS,
                min = 0,
                max = 3_600_000_000_000L)
        long burst) {

    public ThrottleOptions {
        if (Stream.of(iops, iopsRead, iopsWrite, bps, bpsRead, bpsWrite).allMatch(Optional::isEmpty)) {
            throw new IllegalArgumentException(
                    "throttle needs a limit: iops, iops-read, iops-write, bps, bps-read or bps-write");
        }
        if (iops.isPresent() && (iopsRead.isPresent() || iopsWrite.isPresent())) {
            throw new IllegalArgumentException("iops excludes iops-read and iops-write");
        }
        if (bps.isPresent() && (bpsRead.isPresent() || bpsWrite.isPresent())) {
            throw new IllegalArgumentException("bps excludes bps-read and bps-write");
        }
    }
}
