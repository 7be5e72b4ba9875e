package org.benchtop.softcpu;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLongArray;
import org.benchtop.spi.cpu.ExitCounts;

/** How often a processor turned to something outside of itself. Counted by its thread, read by any. */
final class SoftExits {
    static final int PIO_IN = 0;
    static final int PIO_OUT = 1;
    static final int MMIO_READ = 2;
    static final int MMIO_WRITE = 3;
    static final int HLT = 4;
    static final int KICK = 5;
    static final int INTERRUPT = 6;
    static final int DEBUG = 7;
    static final int SHUTDOWN = 8;
    static final int FAILED = 9;
    static final int HYPERCALL = 10;
    private static final String[] NAMES = {
        "pio-in",
        "pio-out",
        "mmio-read",
        "mmio-write",
        "hlt",
        "kick",
        "interrupt",
        "debug",
        "shutdown",
        "failed",
        "hypercall",
    };

    private final AtomicLongArray counts = new AtomicLongArray(NAMES.length);

    void count(int reason) {
        counts.setOpaque(reason, counts.getPlain(reason) + 1);
    }

    ExitCounts snapshot() {
        Map<String, Long> byReason = new LinkedHashMap<>();
        long total = 0;
        for (int i = 0; i < NAMES.length; i++) {
            long n = counts.getOpaque(i);
            total += n;
            if (n != 0) {
                byReason.put(NAMES[i], n);
            }
        }
        return new ExitCounts(total, byReason);
    }
}
