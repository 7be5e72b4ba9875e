package org.benchtop.testkit;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.event.FdWatch;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.time.Clock;
import org.jspecify.annotations.Nullable;

/**
 * An event loop without a thread: handlers run when the test calls {@link #runPending}, {@link #advance} or {@link
 * #call}, on the calling thread, which is then {@link #inLoop in the loop}.
 *
 * <p>Doorbells, tasks and timers may be used from any thread; at most one thread at a time is the loop. Ringing a
 * doorbell allocates nothing. A handler that throws makes the running method throw an {@link AssertionError} after
 * everything else that was pending has run.
 */
public final class FakeEventLoop implements EventLoop {
    private static final int MAX_ROUNDS = 1_000_000;

    private final String name;
    private final FakeClock clock;
    private final ReentrantLock loopLock = new ReentrantLock();
    private final Object queueLock = new Object();
    private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
    private final List<FakeDoorbell> doorbells = new ArrayList<>();
    private final List<FakeTimer> timers = new ArrayList<>();
    private final List<FakeWatch> watches = new ArrayList<>();
    private final List<Throwable> failures = new ArrayList<>();
    private boolean failuresReported = true;
    private boolean lendsTurn;

    public FakeEventLoop(String name, FakeClock clock) {
        this.name = name;
        this.clock = clock;
    }

    /** A loop named {@code main} with a clock of its own. */
    public FakeEventLoop() {
        this("main", new FakeClock());
    }

    /** The clock that {@link #advance} moves. */
    public FakeClock clock() {
        return clock;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public boolean inLoop() {
        return loopLock.isHeldByCurrentThread();
    }

    @Override
    public void execute(Runnable task) {
        synchronized (queueLock) {
            tasks.add(task);
        }
    }

    @Override
    public void call(Runnable task) {
        if (inLoop()) {
            task.run();
            return;
        }
        loopLock.lock();
        try {
            drain();
            task.run();
        } finally {
            loopLock.unlock();
        }
        reportFailures();
    }

    /** Chooses whether {@link #tryRun} runs tasks when nothing is pending; it does not unless changed. */
    public FakeEventLoop lendsTurn(boolean lends) {
        lendsTurn = lends;
        return this;
    }

    @Override
    public boolean tryRun(Runnable task) {
        if (!lendsTurn || inLoop() || !loopLock.tryLock()) {
            return false;
        }
        try {
            if (!idle()) {
                return false;
            }
            task.run();
            return true;
        } finally {
            loopLock.unlock();
        }
    }

    private boolean idle() {
        synchronized (queueLock) {
            for (int i = 0; i < doorbells.size(); i++) {
                if (doorbells.get(i).rung) {
                    return false;
                }
            }
            return tasks.isEmpty();
        }
    }

    /**
     * Runs rung doorbells, tasks and expired timers until nothing is left, including what they cause.
     *
     * @return the number of handlers that ran
     */
    public int runPending() {
        int ran;
        loopLock.lock();
        try {
            ran = drain();
        } finally {
            loopLock.unlock();
        }
        reportFailures();
        return ran;
    }

    /**
     * Moves the clock, stopping at every timer on the way so that handlers see the time they asked for.
     *
     * @param deltaNanos at least 0
     */
    public void advance(long deltaNanos) {
        long target = clock.nanoTime() + deltaNanos;
        loopLock.lock();
        try {
            drain();
            long next = nextDeadline(target);
            while (next <= target) {
                clock.advanceTo(next);
                if (drain() == 0) {
                    break;
                }
                next = nextDeadline(target);
            }
            clock.advanceTo(target);
            drain();
        } finally {
            loopLock.unlock();
        }
        reportFailures();
    }

    /** When the next timer of this loop's clock fires; {@link Long#MAX_VALUE} when none is armed. */
    public long nextDeadlineNanos() {
        return nextDeadline(Long.MAX_VALUE - 1);
    }

    /** The number of timers that are armed. */
    public int armedTimers() {
        synchronized (queueLock) {
            return (int) timers.stream().filter(timer -> timer.armed).count();
        }
    }

    /** The number of doorbells, timers and watches that are not closed: 0 when a device has cleaned up. */
    public int openHandles() {
        synchronized (queueLock) {
            return doorbells.size() + timers.size() + watches.size();
        }
    }

    /** Makes the watches of a descriptor ready, as far as they are interested, and runs them. */
    public void ready(int fd, boolean readable, boolean writable) {
        List<FakeWatch> copy;
        synchronized (queueLock) {
            copy = List.copyOf(watches);
        }
        for (FakeWatch watch : copy) {
            boolean read = readable && watch.readInterest;
            boolean write = writable && watch.writeInterest;
            if (watch.fd == fd && (read || write)) {
                call(() -> watch.handler.ready(read, write));
            }
        }
    }

    private long nextDeadline(long atMost) {
        synchronized (queueLock) {
            long next = Long.MAX_VALUE;
            for (FakeTimer timer : timers) {
                if (timer.armed && timer.clock == clock && timer.deadlineNanos <= atMost) {
                    next = Math.min(next, timer.deadlineNanos);
                }
            }
            return next;
        }
    }

    private int drain() {
        int ran = 0;
        for (Runnable handler = nextHandler(); handler != null; handler = nextHandler()) {
            if (++ran > MAX_ROUNDS) {
                throw new AssertionError("event loop " + name + " does not come to rest: a handler causes itself");
            }
            try {
                handler.run();
            } catch (Throwable t) {
                synchronized (queueLock) {
                    failures.add(t);
                    failuresReported = false;
                }
            }
        }
        return ran;
    }

    private @Nullable Runnable nextHandler() {
        synchronized (queueLock) {
            for (int i = 0; i < doorbells.size(); i++) {
                FakeDoorbell doorbell = doorbells.get(i);
                if (doorbell.rung) {
                    doorbell.rung = false;
                    return doorbell.handler;
                }
            }
            Runnable task = tasks.poll();
            if (task != null) {
                return task;
            }
            FakeTimer due = null;
            for (int i = 0; i < timers.size(); i++) {
                FakeTimer timer = timers.get(i);
                if (timer.armed
                        && timer.deadlineNanos <= timer.clock.nanoTime()
                        && (due == null || timer.deadlineNanos < due.deadlineNanos)) {
                    due = timer;
                }
            }
            if (due != null) {
                due.armed = false;
                return due.handler;
            }
            return null;
        }
    }

    private void reportFailures() {
        if (inLoop()) {
            return;
        }
        synchronized (queueLock) {
            if (failuresReported) {
                return;
            }
            failuresReported = true;
            AssertionError error = new AssertionError(
                    "a handler on loop " + name + " threw: " + failures.getLast(), failures.getLast());
            failures.clear();
            throw error;
        }
    }

    @Override
    public Doorbell doorbell(String doorbellName, Runnable onRing) {
        FakeDoorbell doorbell = new FakeDoorbell(doorbellName, onRing);
        synchronized (queueLock) {
            doorbells.add(doorbell);
        }
        return doorbell;
    }

    @Override
    public Timer timer(Clock timerClock, Runnable onExpiry) {
        FakeTimer timer = new FakeTimer(timerClock, onExpiry);
        synchronized (queueLock) {
            timers.add(timer);
        }
        return timer;
    }

    @Override
    public FdWatch watch(int fd, FdWatch.Handler handler) {
        FakeWatch watch = new FakeWatch(fd, handler);
        synchronized (queueLock) {
            watches.add(watch);
        }
        return watch;
    }

    @Override
    public String toString() {
        return "FakeEventLoop[" + name + "]";
    }

    private final class FakeDoorbell implements Doorbell {
        private final String doorbellName;
        private final Runnable handler;
        private boolean rung;
        private boolean closed;

        FakeDoorbell(String doorbellName, Runnable handler) {
            this.doorbellName = doorbellName;
            this.handler = handler;
        }

        @Override
        public void ring() {
            synchronized (queueLock) {
                rung = !closed;
            }
        }

        @Override
        public void close() {
            synchronized (queueLock) {
                closed = true;
                rung = false;
                doorbells.remove(this);
            }
        }

        @Override
        public String toString() {
            return "doorbell " + doorbellName + " of " + name;
        }
    }

    private final class FakeTimer implements Timer {
        private final Clock clock;
        private final Runnable handler;
        private boolean armed;
        private boolean closed;
        private long deadlineNanos;

        FakeTimer(Clock clock, Runnable handler) {
            this.clock = clock;
            this.handler = handler;
        }

        @Override
        public void armAt(long deadline) {
            synchronized (queueLock) {
                armed = !closed;
                deadlineNanos = deadline;
            }
        }

        @Override
        public void cancel() {
            synchronized (queueLock) {
                armed = false;
            }
        }

        @Override
        public void close() {
            synchronized (queueLock) {
                closed = true;
                armed = false;
                timers.remove(this);
            }
        }
    }

    private final class FakeWatch implements FdWatch {
        private final int fd;
        private final Handler handler;
        private boolean readInterest;
        private boolean writeInterest;

        FakeWatch(int fd, Handler handler) {
            this.fd = fd;
            this.handler = handler;
        }

        @Override
        public void interest(boolean readable, boolean writable) {
            synchronized (queueLock) {
                readInterest = readable;
                writeInterest = writable;
            }
        }

        @Override
        public void close() {
            synchronized (queueLock) {
                watches.remove(this);
            }
        }
    }
}
