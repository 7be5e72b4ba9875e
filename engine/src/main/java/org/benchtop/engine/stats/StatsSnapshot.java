package org.benchtop.engine.stats;

import java.util.Collections;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;

/**
 * A machine's counters at one moment.
 *
 * @param nanoTime {@link System#nanoTime} of the snapshot
 * @param entries by entry id
 */
public record StatsSnapshot(long nanoTime, SortedMap<String, Entry> entries) {
    public StatsSnapshot {
        entries = Collections.unmodifiableSortedMap(new TreeMap<>(entries));
    }

    /**
     * One entry's values.
     *
     * @param values counters and gauges by name
     * @param histograms latencies in nanoseconds by name
     */
    public record Entry(Map<String, Long> values, Map<String, Histogram> histograms) {
        public Entry {
            values = Collections.unmodifiableMap(new TreeMap<>(values));
            histograms = Collections.unmodifiableMap(new TreeMap<>(histograms));
        }

        /** A value, or 0 if there is none of that name. */
        public long value(String name) {
            return values.getOrDefault(name, 0L);
        }
    }

    /** A value of an entry, or 0. */
    public long value(String entry, String name) {
        Entry e = entries.get(entry);
        return e == null ? 0 : e.value(name);
    }

    /** What has happened since an earlier snapshot: differences of counters and histograms. */
    public StatsSnapshot since(StatsSnapshot earlier) {
        SortedMap<String, Entry> difference = new TreeMap<>();
        entries.forEach((id, now) -> {
            Entry before = earlier.entries.get(id);
            if (before == null) {
                difference.put(id, now);
                return;
            }
            Map<String, Long> values = new TreeMap<>();
            now.values.forEach((name, value) -> values.put(name, value - before.value(name)));
            Map<String, Histogram> histograms = new TreeMap<>();
            now.histograms.forEach((name, histogram) -> {
                Histogram copy = histogram.copy();
                Histogram old = before.histograms.get(name);
                if (old != null) {
                    copy.subtract(old);
                }
                histograms.put(name, copy);
            });
            difference.put(id, new Entry(values, histograms));
        });
        return new StatsSnapshot(nanoTime, difference);
    }
}
