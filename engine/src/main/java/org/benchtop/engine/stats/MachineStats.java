package org.benchtop.engine.stats;

import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;

/** All counters of a machine, by entry id. Thread-safe. */
public final class MachineStats {
    private final ConcurrentSkipListMap<String, EntryStats> entries = new ConcurrentSkipListMap<>();

    /** The counters of one entry, created on first use. */
    public EntryStats entry(String id) {
        return entries.computeIfAbsent(id, EntryStats::new);
    }

    /** Every entry's values now. */
    public StatsSnapshot snapshot() {
        java.util.TreeMap<String, StatsSnapshot.Entry> map = new java.util.TreeMap<>();
        for (Map.Entry<String, EntryStats> e : entries.entrySet()) {
            map.put(e.getKey(), e.getValue().snapshot());
        }
        return new StatsSnapshot(System.nanoTime(), map);
    }
}
