package org.benchtop.engine.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.time.Clock;
import org.jspecify.annotations.Nullable;

/**
 * The timers of one loop on one timerfd: a binary heap per clock, because clocks may stand still or run at their own
 * pace.
 *
 * <p>Any thread may arm a timer; when that makes the earliest deadline earlier it programs the timerfd itself, so the
 * loop sleeps on until something is due. A later deadline does not touch the timerfd: it then fires for nothing once.
 * A monitor guards the state because, unlike a {@code ReentrantLock}, it allocates nothing when contended.
 */
final class LoopTimers {
    private static final int ITIMERSPEC_BYTES = 32;
    private static final long NANOS_PER_SECOND = 1_000_000_000L;
    private static final long NEVER = Long.MAX_VALUE;
    /** A clock that lags behind real time is not asked again sooner than this. */
    private static final long MIN_RETRY_NANOS = 50_000;
    /** A clock that stands still is asked ever more rarely, down to this; {@link #clockChanged} asks at once. */
    private static final long MAX_RETRY_NANOS = 1_000_000_000L;

    private final LinuxEventLoop loop;
    private final Object lock = new Object();
    private final List<ClockHeap> heaps = new ArrayList<>();
    private final MemorySegment capture;
    private final MemorySegment spec;
    private final int fd;
    /** When the timerfd goes off, in the time of System.nanoTime; NEVER if it is not set. */
    private long programmedNanos = NEVER;

    private volatile boolean reprogram;
    private int pass;
    private boolean closed;

    LoopTimers(LinuxEventLoop loop, int fd, Arena arena) {
        this.loop = loop;
        this.capture = LibC.newCapture(arena);
        this.spec = arena.allocate(ITIMERSPEC_BYTES, 8);
        this.fd = fd;
    }

    Timer create(Clock clock, Runnable onExpiry) {
        synchronized (lock) {
            for (ClockHeap heap : heaps) {
                if (heap.clock == clock) {
                    return new LoopTimer(heap, onExpiry);
                }
            }
            ClockHeap heap = new ClockHeap(clock);
            heaps.add(heap);
            return new LoopTimer(heap, onExpiry);
        }
    }

    /** The timerfd went off: what is due runs at the next {@link #runDue}. Loop thread. */
    void fired() {
        synchronized (lock) {
            programmedNanos = NEVER;
            reprogram = true;
        }
    }

    /** Whether {@link #runDue} has something to do. Loop thread, or who has borrowed its turn. */
    boolean wantTurn() {
        return reprogram;
    }

    /** A clock was stopped, started or set: deadlines are computed anew. Any thread. */
    void clockChanged() {
        synchronized (lock) {
            for (ClockHeap heap : heaps) {
                heap.forgetPace();
            }
            program();
        }
    }

    /**
     * Runs the handlers that are due, then sets the timerfd for the next ones. Cheap when nothing has changed. Loop
     * thread. Returns whether some became due meanwhile, so that the caller comes back without waiting.
     */
    boolean runDue() {
        if (!reprogram) {
            return false;
        }
        synchronized (lock) {
            pass++;
        }
        LoopTimer due = nextDue();
        while (due != null) {
            loop.runHandler(due.onExpiry, "timer");
            due = nextDue();
        }
        synchronized (lock) {
            return program();
        }
    }

    private @Nullable LoopTimer nextDue() {
        synchronized (lock) {
            for (ClockHeap heap : heaps) {
                if (heap.size > 0) {
                    LoopTimer top = heap.timers[0];
                    if (top.armedPass != pass && top.deadlineNanos <= heap.clock.nanoTime()) {
                        heap.remove(top);
                        return top;
                    }
                }
            }
            return null;
        }
    }

    /** Sets the timerfd if the earliest deadline is earlier than what it is set for; true if that is now. Locked. */
    private boolean program() {
        reprogram = false;
        long real = System.nanoTime();
        long earliest = NEVER;
        for (ClockHeap heap : heaps) {
            earliest = Math.min(earliest, heap.delayNanos(real));
        }
        if (earliest == 0 && loop.inLoop()) {
            reprogram = true;
            return true;
        }
        if (earliest != NEVER && !closed) {
            long target = real + earliest < 0 ? NEVER - 1 : real + earliest;
            if (target < programmedNanos) {
                programmedNanos = target;
                long delay = Math.max(1, earliest);
                spec.set(ValueLayout.JAVA_LONG, 16, delay / NANOS_PER_SECOND);
                spec.set(ValueLayout.JAVA_LONG, 24, delay % NANOS_PER_SECOND);
                LibC.timerfdSettime(capture, fd, 0, spec.address());
            }
        }
        return false;
    }

    /** No timer fires any more, and the timerfd is not used any more. */
    void close() {
        synchronized (lock) {
            closed = true;
            heaps.clear();
        }
    }

    /** A binary heap by deadline of the armed timers of one clock; each timer knows its place. */
    private static final class ClockHeap {
        private final Clock clock;
        private LoopTimer[] timers = new LoopTimer[8];
        private int size;
        /** What the clock and real time were when it was last decided to wait, and for how long. */
        private long plannedClockNanos;

        private long plannedRealNanos;
        private long plannedNanos;
        private long retryNanos;

        ClockHeap(Clock clock) {
            this.clock = clock;
        }

        /** Real time until the first deadline if the clock keeps pace with real time; more if it was seen to lag. */
        long delayNanos(long real) {
            if (size == 0) {
                return NEVER;
            }
            long now = clock.nanoTime();
            long deadline = timers[0].deadlineNanos;
            if (deadline <= now) {
                forgetPace();
                return 0;
            }
            long left = deadline - now < 0 ? NEVER - 1 : deadline - now;
            long waited = real - plannedRealNanos;
            if (waited < plannedNanos && retryNanos > 0) {
                return Math.max(left, plannedNanos - waited);
            }
            if (waited >= plannedNanos && now - plannedClockNanos < plannedNanos) {
                boolean stands = now == plannedClockNanos;
                retryNanos = stands ? Math.clamp(retryNanos * 2, MIN_RETRY_NANOS, MAX_RETRY_NANOS) : MIN_RETRY_NANOS;
            } else {
                retryNanos = 0;
            }
            plannedClockNanos = now;
            plannedRealNanos = real;
            plannedNanos = Math.max(left, retryNanos);
            return plannedNanos;
        }

        void forgetPace() {
            retryNanos = 0;
            plannedNanos = 0;
        }

        void add(LoopTimer timer) {
            if (size == timers.length) {
                timers = Arrays.copyOf(timers, size * 2);
            }
            siftUp(size++, timer);
        }

        void remove(LoopTimer timer) {
            int index = timer.index;
            timer.index = -1;
            LoopTimer last = timers[--size];
            if (index != size) {
                siftDown(index, last);
                if (timers[index] == last) {
                    siftUp(index, last);
                }
            }
        }

        private void siftUp(int start, LoopTimer timer) {
            int index = start;
            while (index > 0) {
                LoopTimer parent = timers[(index - 1) >>> 1];
                if (parent.deadlineNanos <= timer.deadlineNanos) {
                    break;
                }
                place(index, parent);
                index = (index - 1) >>> 1;
            }
            place(index, timer);
        }

        private void siftDown(int start, LoopTimer timer) {
            int index = start;
            int child = 2 * index + 1;
            while (child < size) {
                if (child + 1 < size && timers[child + 1].deadlineNanos < timers[child].deadlineNanos) {
                    child++;
                }
                if (timer.deadlineNanos <= timers[child].deadlineNanos) {
                    break;
                }
                place(index, timers[child]);
                index = child;
                child = 2 * index + 1;
            }
            place(index, timer);
        }

        private void place(int index, LoopTimer timer) {
            timers[index] = timer;
            timer.index = index;
        }
    }

    /** One timer; its state belongs to the lock. */
    private final class LoopTimer implements Timer {
        private final ClockHeap heap;
        private final Runnable onExpiry;
        private long deadlineNanos;
        private int index = -1;
        private int armedPass;
        private boolean freed;

        LoopTimer(ClockHeap heap, Runnable onExpiry) {
            this.heap = heap;
            this.onExpiry = onExpiry;
        }

        @Override
        public void armAt(long deadlineNanos) {
            boolean inLoop = loop.inLoop();
            synchronized (lock) {
                if (closed || freed) {
                    return;
                }
                if (index >= 0) {
                    heap.remove(this);
                }
                this.deadlineNanos = deadlineNanos;
                armedPass = inLoop ? pass : pass - 1;
                heap.add(this);
                if (index == 0) {
                    if (inLoop) {
                        reprogram = true;
                    } else {
                        program();
                    }
                }
            }
        }

        @Override
        public void cancel() {
            synchronized (lock) {
                if (index >= 0 && !closed) {
                    heap.remove(this);
                }
            }
        }

        @Override
        public void close() {
            synchronized (lock) {
                cancel();
                freed = true;
            }
        }
    }
}
