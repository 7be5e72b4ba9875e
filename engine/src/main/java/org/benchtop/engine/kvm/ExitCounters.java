package org.benchtop.engine.kvm;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.HashMap;
import java.util.Map;
import org.benchtop.spi.cpu.ExitCounts;

/** Exits of one vCPU by reason. One thread counts at a time, without an atomic instruction; any thread reads. */
final class ExitCounters {
    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(long[].class);
    private static final KvmExit[] EXITS = KvmExit.values();

    private final long[] counts = new long[EXITS.length];

    void count(KvmExit exit) {
        int index = exit.ordinal();
        ELEMENT.setOpaque(counts, index, (long) ELEMENT.getOpaque(counts, index) + 1);
    }

    /** A snapshot with the reasons that occurred. */
    ExitCounts snapshot() {
        long total = 0;
        Map<String, Long> byReason = new HashMap<>();
        for (KvmExit exit : EXITS) {
            long count = (long) ELEMENT.getOpaque(counts, exit.ordinal());
            if (count != 0) {
                byReason.put(exit.label(), count);
                total += count;
            }
        }
        return new ExitCounts(total, byReason);
    }
}
