package org.benchtop.shell.lab;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.benchtop.spi.BenchtopException;

/**
 * What happens in a machine from the moment that the stream was asked for. The guest is never held up: a stream that is
 * not read fast enough loses events and says how many ({@link #lost}). Close it, or the machine, to end it.
 *
 * <p>Thread-safe. Filters run on the machine's own threads; they return at once and do not call the machine.
 */
public final class EventStream implements AutoCloseable {
    private static final int CAPACITY = 1 << 16;

    private final EventHub hub;
    private final Predicate<VmEvent> filter;
    private final ArrayBlockingQueue<VmEvent> queue = new ArrayBlockingQueue<>(CAPACITY);
    private final AtomicLong lost = new AtomicLong();
    private volatile boolean closed;

    EventStream(EventHub hub, Predicate<VmEvent> filter) {
        this.hub = hub;
        this.filter = filter;
        hub.add(this);
    }

    void offer(VmEvent event) {
        boolean wanted;
        try {
            wanted = filter.test(event);
        } catch (RuntimeException e) {
            // A filter that fails must not end a vCPU: its stream ends instead.
            close();
            return;
        }
        if (wanted && !queue.offer(event)) {
            lost.incrementAndGet();
        }
    }

    /** A stream of those events that also pass a test; replaces this one, which is closed. */
    public EventStream filter(Predicate<? super VmEvent> test) {
        EventStream narrowed = new EventStream(hub, event -> filter.test(event) && test.test(event));
        queue.forEach(narrowed::offer);
        close();
        return narrowed;
    }

    /** A stream of the events of one kind, such as {@code VmEvent.BlockIo.class}; replaces this one. */
    public EventStream of(Class<? extends VmEvent> kind) {
        return filter(kind::isInstance);
    }

    /** The next event; empty if there was none in time or the stream is closed and drained. */
    public Optional<VmEvent> next(Duration timeout) throws InterruptedException {
        long deadline = System.nanoTime() + timeout.toNanos();
        while (true) {
            long left = deadline - System.nanoTime();
            VmEvent event =
                    closed ? queue.poll() : queue.poll(Math.min(Math.max(0, left), SLICE), TimeUnit.NANOSECONDS);
            if (event != null || closed || left <= 0) {
                return Optional.ofNullable(event);
            }
        }
    }

    private static final long SLICE = 50_000_000;

    /** Up to so many events, as they come; fewer if the time is up or the stream is closed. */
    public List<VmEvent> take(int count, Duration timeout) throws InterruptedException {
        if (count < 0) {
            throw BenchtopException.config("take: " + count + " events");
        }
        long deadline = System.nanoTime() + timeout.toNanos();
        List<VmEvent> taken = new ArrayList<>();
        while (taken.size() < count) {
            Optional<VmEvent> event = next(Duration.ofNanos(Math.max(0, deadline - System.nanoTime())));
            if (event.isEmpty()) {
                break;
            }
            taken.add(event.get());
        }
        return taken;
    }

    /** What has come so far and was not taken yet. Does not wait. */
    public List<VmEvent> drain() {
        List<VmEvent> taken = new ArrayList<>();
        queue.drainTo(taken);
        return taken;
    }

    /** Calls back for each event on a thread of its own until this stream is closed. */
    public EventStream forEach(Consumer<? super VmEvent> action) {
        Thread.ofVirtual().name("benchtop-events").start(() -> {
            try {
                while (true) {
                    Optional<VmEvent> event = next(Duration.ofSeconds(1));
                    if (event.isPresent()) {
                        action.accept(event.get());
                    } else if (closed) {
                        return;
                    }
                }
            } catch (InterruptedException e) {
                close();
            }
        });
        return this;
    }

    /** How many events were lost because nobody took them in time. */
    public long lost() {
        return lost.get();
    }

    /** Whether it has ended. */
    public boolean closed() {
        return closed;
    }

    @Override
    public void close() {
        closed = true;
        hub.remove(this);
    }

    @Override
    public String toString() {
        return "EventStream[" + queue.size() + " waiting" + (lost() > 0 ? ", " + lost() + " lost" : "")
                + (closed ? ", closed" : "") + "]";
    }
}
