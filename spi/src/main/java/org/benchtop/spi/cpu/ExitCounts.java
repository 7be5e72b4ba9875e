package org.benchtop.spi.cpu;

import java.util.Map;

/**
 * How often a vCPU left guest mode.
 *
 * @param total all exits
 * @param byReason by the engine's reason names, such as {@code pio-out}, {@code mmio-write}, {@code hlt}, {@code kick}
 */
public record ExitCounts(long total, Map<String, Long> byReason) {
    public ExitCounts {
        byReason = Map.copyOf(byReason);
    }
}
