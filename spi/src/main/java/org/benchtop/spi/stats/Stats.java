package org.benchtop.spi.stats;

/** The named counters of one machine entry. Asking twice for a name gives the same object. Thread-safe. */
public interface Stats {
    /** A counter of events. */
    default Counter counter(String name) {
        return counter(name, "");
    }

    /**
     * A counter.
     *
     * @param name lower kebab case, such as {@code read-bytes}
     * @param unit {@code B}, {@code ns}, or empty for events
     */
    Counter counter(String name, String unit);

    /** A latency histogram in nanoseconds. */
    LatencyHistogram histogram(String name);

    /** A value that is read when somebody looks. */
    void gauge(String name, String unit, java.util.function.LongSupplier value);
}
