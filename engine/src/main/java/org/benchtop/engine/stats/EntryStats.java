package org.benchtop.engine.stats;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;
import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.stats.LatencyHistogram;
import org.benchtop.spi.stats.Stats;

/** The counters of one entry. */
public final class EntryStats implements Stats {
    private static final long LONGEST_NANOS = TimeUnit.HOURS.toNanos(1);

    private final String id;
    private final Map<String, AtomicCounter> counters = new ConcurrentHashMap<>();
    private final Map<String, HdrLatency> histograms = new ConcurrentHashMap<>();
    private final Map<String, LongSupplier> gauges = new ConcurrentHashMap<>();

    private final List<Supplier<Map<String, Long>>> families = new CopyOnWriteArrayList<>();

    EntryStats(String id) {
        this.id = id;
    }

    /** The entry. */
    public String id() {
        return id;
    }

    @Override
    public Counter counter(String name, String unit) {
        return counters.computeIfAbsent(name, n -> new AtomicCounter());
    }

    @Override
    public LatencyHistogram histogram(String name) {
        return histograms.computeIfAbsent(name, n -> new HdrLatency());
    }

    @Override
    public void gauge(String name, String unit, LongSupplier value) {
        gauges.put(name, value);
    }

    /** Values whose names are not known beforehand, such as exits by reason. */
    public void family(Supplier<Map<String, Long>> family) {
        families.add(family);
    }

    StatsSnapshot.Entry snapshot() {
        Map<String, Long> values = new TreeMap<>();
        families.forEach(family -> values.putAll(family.get()));
        counters.forEach((name, counter) -> values.put(name, counter.value()));
        gauges.forEach((name, gauge) -> values.put(name, gauge.getAsLong()));
        Map<String, Histogram> latencies = new TreeMap<>();
        histograms.forEach((name, histogram) -> latencies.put(name, histogram.histogram.copy()));
        return new StatsSnapshot.Entry(values, latencies);
    }

    /** One atomic add; a LongAdder would allocate under contention. */
    private static final class AtomicCounter implements Counter {
        private static final VarHandle VALUE;

        static {
            try {
                VALUE = MethodHandles.lookup().findVarHandle(AtomicCounter.class, "value", long.class);
            } catch (ReflectiveOperationException e) {
                throw new ExceptionInInitializerError(e);
            }
        }

        @SuppressWarnings("unused")
        private long value;

        @Override
        public void add(long delta) {
            long before = (long) VALUE.getAndAdd(this, delta);
            assert before + delta >= before : "counter overflow";
        }

        @Override
        public long value() {
            return (long) VALUE.getVolatile(this);
        }
    }

    private static final class HdrLatency implements LatencyHistogram {
        private final ConcurrentHistogram histogram = new ConcurrentHistogram(1, LONGEST_NANOS, 3);

        @Override
        public void record(long nanos) {
            histogram.recordValue(Math.clamp(nanos, 0, LONGEST_NANOS));
        }
    }
}
