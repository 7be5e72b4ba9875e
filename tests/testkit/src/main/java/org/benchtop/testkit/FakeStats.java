package org.benchtop.testkit;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.stats.LatencyHistogram;
import org.benchtop.spi.stats.Stats;

/** Counters that tests can read back by name. */
public final class FakeStats implements Stats {
    private final Map<String, FakeCounter> counters = new ConcurrentHashMap<>();
    private final Map<String, FakeHistogram> histograms = new ConcurrentHashMap<>();
    private final Map<String, LongSupplier> gauges = new ConcurrentHashMap<>();

    @Override
    public Counter counter(String name, String unit) {
        return counters.computeIfAbsent(name, key -> new FakeCounter());
    }

    @Override
    public LatencyHistogram histogram(String name) {
        return histograms.computeIfAbsent(name, key -> new FakeHistogram());
    }

    @Override
    public void gauge(String name, String unit, LongSupplier value) {
        gauges.put(name, value);
    }

    /** The value of a counter or gauge; 0 if nobody asked for it yet. */
    public long value(String name) {
        FakeCounter counter = counters.get(name);
        if (counter != null) {
            return counter.value();
        }
        LongSupplier gauge = gauges.get(name);
        return gauge == null ? 0 : gauge.getAsLong();
    }

    /** How many durations a histogram has. */
    public long recorded(String histogram) {
        FakeHistogram found = histograms.get(histogram);
        return found == null ? 0 : found.count.sum();
    }

    /** The sum of the durations of a histogram. */
    public long recordedNanos(String histogram) {
        FakeHistogram found = histograms.get(histogram);
        return found == null ? 0 : found.sum.sum();
    }

    /** All counters and gauges by name. */
    public Map<String, Long> values() {
        Map<String, Long> all = new TreeMap<>();
        counters.forEach((name, counter) -> all.put(name, counter.value()));
        gauges.forEach((name, gauge) -> all.put(name, gauge.getAsLong()));
        return all;
    }

    private static final class FakeCounter implements Counter {
        private final LongAdder count = new LongAdder();

        @Override
        public void add(long delta) {
            if (delta < 0) {
                throw new AssertionError("counters only grow: " + delta);
            }
            count.add(delta);
        }

        @Override
        public long value() {
            return count.sum();
        }
    }

    private static final class FakeHistogram implements LatencyHistogram {
        private final LongAdder count = new LongAdder();
        private final LongAdder sum = new LongAdder();

        @Override
        public void record(long nanos) {
            count.increment();
            sum.add(Math.max(0, nanos));
        }
    }
}
