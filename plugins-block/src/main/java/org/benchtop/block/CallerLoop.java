package org.benchtop.block;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.event.FdWatch;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.time.Clock;

/**
 * An event loop that runs on the thread that waits for something: how the control plane, which has no loop, does I/O
 * over backends, which need one.
 *
 * <p>Belongs to the thread that made it; other threads may only {@link #execute}, {@link #call}, ring and arm.
 */
public final class CallerLoop implements EventLoop {
    private static final long MAX_WAIT_NANOS = 100_000_000;

    private final String name;
    private final Thread owner = Thread.currentThread();
    private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
    private final List<CallerTimer> timers = new ArrayList<>();

    public CallerLoop(String name) {
        this.name = name;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public boolean inLoop() {
        return Thread.currentThread() == owner;
    }

    @Override
    public synchronized void execute(Runnable task) {
        tasks.add(task);
        notifyAll();
    }

    @Override
    public void call(Runnable task) {
        if (!inLoop()) {
            throw BenchtopException.of(ErrorKind.INTERNAL, name + ": call from another thread than the owner");
        }
        task.run();
    }

    /** Runs what comes until a condition holds. */
    public void runUntil(BooleanSupplier condition) {
        boolean interrupted = false;
        while (!condition.getAsBoolean()) {
            Runnable task = null;
            synchronized (this) {
                task = next();
                if (task == null) {
                    try {
                        wait(waitMillis());
                    } catch (InterruptedException e) {
                        // Requests in flight use our buffers, so there is no leaving before they are done.
                        interrupted = true;
                    }
                }
            }
            if (task != null) {
                task.run();
            }
        }
        if (interrupted) {
            owner.interrupt();
        }
    }

    private @org.jspecify.annotations.Nullable Runnable next() {
        Runnable task = tasks.poll();
        if (task != null) {
            return task;
        }
        for (CallerTimer timer : timers) {
            if (timer.armed && timer.deadlineNanos <= timer.clock.nanoTime()) {
                timer.armed = false;
                return timer.handler;
            }
        }
        return null;
    }

    private long waitMillis() {
        long nanos = MAX_WAIT_NANOS;
        for (CallerTimer timer : timers) {
            if (timer.armed) {
                nanos = Math.min(nanos, timer.deadlineNanos - timer.clock.nanoTime());
            }
        }
        return Math.max(1, nanos / 1_000_000);
    }

    @Override
    public Doorbell doorbell(String doorbellName, Runnable onRing) {
        return new Doorbell() {
            private boolean rung;
            private boolean closed;

            @Override
            public void ring() {
                synchronized (CallerLoop.this) {
                    if (!rung && !closed) {
                        rung = true;
                        execute(this::run);
                    }
                }
            }

            private void run() {
                synchronized (CallerLoop.this) {
                    rung = false;
                    if (closed) {
                        return;
                    }
                }
                onRing.run();
            }

            @Override
            public void close() {
                synchronized (CallerLoop.this) {
                    closed = true;
                }
            }
        };
    }

    @Override
    public Timer timer(Clock clock, Runnable onExpiry) {
        CallerTimer timer = new CallerTimer(clock, onExpiry);
        synchronized (this) {
            timers.add(timer);
        }
        return timer;
    }

    @Override
    public FdWatch watch(int fd, FdWatch.Handler handler) {
        throw BenchtopException.of(ErrorKind.UNSUPPORTED, name + ": this loop cannot watch descriptors");
    }

    private final class CallerTimer implements Timer {
        private final Clock clock;
        private final Runnable handler;
        private boolean armed;
        private long deadlineNanos;

        CallerTimer(Clock clock, Runnable handler) {
            this.clock = clock;
            this.handler = handler;
        }

        @Override
        public void armAt(long deadline) {
            synchronized (CallerLoop.this) {
                armed = true;
                deadlineNanos = deadline;
                CallerLoop.this.notifyAll();
            }
        }

        @Override
        public void cancel() {
            synchronized (CallerLoop.this) {
                armed = false;
            }
        }

        @Override
        public void close() {
            synchronized (CallerLoop.this) {
                armed = false;
                timers.remove(this);
            }
        }
    }
}
