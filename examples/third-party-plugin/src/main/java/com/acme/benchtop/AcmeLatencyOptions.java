package com.acme.benchtop;

import org.benchtop.spi.Option;

/** Options of {@code acme-latency}. */
public record AcmeLatencyOptions(
        @Option(doc = "The drive beneath.", ref = Option.Ref.DRIVE) String drive,
        @Option(doc = "Added to each read.", unit = Option.Unit.NANOSECONDS, value = "1ms", min = 0, max = 60_000_000_000L)
        long read,
        @Option(doc = "Added to each write, discard and write-zeroes.", unit = Option.Unit.NANOSECONDS, value = "1ms", min = 0, max = 60_000_000_000L)
        long write,
        @Option(doc = "Added to each flush.", unit = Option.Unit.NANOSECONDS, value = "0", min = 0, max = 60_000_000_000L)
        long flush) {}
