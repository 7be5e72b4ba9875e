package org.benchtop.pc.chardev;

import java.time.Duration;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.stats.Stats;

/**
 * The way of guest output to whatever moves it on: a bounded queue. Thread-safe; {@link #put(byte)} allocates nothing.
 *
 * <p>Back-pressure: a full queue refuses, and the front end hears when there is room, so the guest is slowed down and
 * nothing is lost. A reader that takes nothing for the length of {@code patience} does not stall the guest any longer:
 * output is dropped and counted until the reader goes on, which then sees a line saying how much is missing. A queue
 * that is told that nobody is there drops everything at once.
 */
final class OutputQueue {
    private static final int CAPACITY_BYTES = 64 * 1024;
    private static final int MARKER_BYTES = 80;

    private final Object lock = new Object();
    private final FrontendLink link;
    private final ByteRing ring = new ByteRing(CAPACITY_BYTES);
    private final Duration patience;
    private final System.Logger logger;
    private final Counter outputBytes;
    private final Counter droppedBytes;
    private Runnable onData = () -> {};
    private Optional<Thread> watchdog = Optional.empty();
    private boolean nobody;
    private boolean refused;
    private boolean dropping;
    private long droppedNow;
    private boolean closed;

    /**
     * A queue.
     *
     * @param patience how long a stuck reader stalls the guest; zero for ever
     */
    OutputQueue(FrontendLink link, Duration patience, Stats stats, System.Logger logger) {
        this.link = link;
        this.patience = patience;
        this.logger = logger;
        outputBytes = stats.counter("output-bytes", "B");
        droppedBytes = stats.counter("dropped-bytes", "B");
    }

    /** Called after an empty queue has got data, on the writer's thread. */
    void onData(Runnable callback) {
        onData = callback;
    }

    boolean put(byte value) {
        boolean first;
        synchronized (lock) {
            if (nobody || dropping || closed) {
                drop(1);
                return true;
            }
            first = ring.count() == 0;
            if (!ring.offer(value)) {
                refuse();
                return false;
            }
            outputBytes.increment();
            lock.notifyAll();
        }
        if (first) {
            onData.run();
        }
        return true;
    }

    int put(byte[] buffer, int offset, int lengthBytes) {
        boolean first;
        int taken;
        synchronized (lock) {
            if (nobody || dropping || closed) {
                drop(lengthBytes);
                return lengthBytes;
            }
            first = ring.count() == 0;
            taken = ring.offer(buffer, offset, lengthBytes);
            outputBytes.add(taken);
            if (taken < lengthBytes) {
                refuse();
            }
            lock.notifyAll();
        }
        if (first && taken > 0) {
            onData.run();
        }
        return taken;
    }

    private void drop(int bytes) {
        droppedBytes.add(bytes);
        if (dropping) {
            droppedNow += bytes;
        }
    }

    private void refuse() {
        if (refused) {
            return;
        }
        refused = true;
        if (!patience.isZero() && watchdog.isEmpty()) {
            watchdog = Optional.of(Thread.ofVirtual().name("chardev patience").start(this::watch));
        }
    }

    /** Waits for the patience to be over; any progress ends it. */
    private void watch() {
        long deadline = System.nanoTime() + patience.toNanos();
        synchronized (lock) {
            try {
                while (refused && !closed) {
                    long left = deadline - System.nanoTime();
                    if (left <= 0) {
                        dropping = true;
                        droppedNow = 0;
                        refused = false;
                        break;
                    }
                    lock.wait(left / 1_000_000 + 1);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            watchdog = Optional.empty();
            if (!dropping) {
                return;
            }
        }
        logger.log(
                System.Logger.Level.WARNING,
                "the reader has taken nothing for {0} ms: dropping guest output until it goes on",
                patience.toMillis());
        link.notifyWritable();
    }

    /** Copies the oldest bytes without taking them; 0 if there are none. */
    int peek(byte[] destination) {
        synchronized (lock) {
            return ring.peek(destination, destination.length);
        }
    }

    /** Waits for data and copies the oldest bytes; -1 when told to stop or once the queue is closed and empty. */
    int awaitPeek(byte[] destination, BooleanSupplier stop) throws InterruptedException {
        synchronized (lock) {
            while (ring.count() == 0 && !closed && !stop.getAsBoolean()) {
                lock.wait();
            }
            return ring.count() == 0 || stop.getAsBoolean() ? -1 : ring.peek(destination, destination.length);
        }
    }

    /** Makes {@link #awaitPeek} ask again whether to stop. */
    void wake() {
        synchronized (lock) {
            lock.notifyAll();
        }
    }

    /** The oldest bytes have reached the reader. */
    void consumed(int bytes) {
        boolean tell;
        synchronized (lock) {
            ring.skip(Math.min(bytes, ring.count()));
            if (dropping && ring.free() >= MARKER_BYTES) {
                dropping = false;
                byte[] marker = ("\r\n[benchtop: " + droppedNow + " bytes of output dropped]\r\n")
                        .getBytes(java.nio.charset.StandardCharsets.US_ASCII);
                ring.offer(marker, 0, marker.length);
            }
            tell = refused && (ring.free() >= CAPACITY_BYTES / 4 || ring.count() == 0);
            if (tell) {
                refused = false;
            }
            lock.notifyAll();
        }
        if (tell) {
            link.notifyWritable();
        }
    }

    /** Whether there is a reader: without one, what is queued and what comes is dropped. */
    void nobody(boolean isNobody) {
        boolean tell;
        synchronized (lock) {
            nobody = isNobody;
            if (nobody) {
                droppedBytes.add(ring.count());
                ring.clear();
            }
            dropping = false;
            tell = refused;
            refused = false;
            lock.notifyAll();
        }
        if (tell) {
            link.notifyWritable();
        }
    }

    int queued() {
        synchronized (lock) {
            return ring.count();
        }
    }

    /** Takes no more; what is queued can still be consumed. */
    void close() {
        synchronized (lock) {
            closed = true;
            lock.notifyAll();
        }
    }

    /** Waits until everything is consumed; false if that takes longer than the timeout. */
    boolean awaitEmpty(Duration timeout) {
        long deadline = System.nanoTime() + timeout.toNanos();
        synchronized (lock) {
            while (ring.count() > 0) {
                long left = deadline - System.nanoTime();
                if (left <= 0) {
                    return false;
                }
                try {
                    lock.wait(left / 1_000_000 + 1);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    return false;
                }
            }
            return true;
        }
    }
}
