package org.benchtop.engine.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.event.FdWatch;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.time.Clock;
import org.jspecify.annotations.Nullable;

/**
 * An event loop on a platform thread: epoll for descriptors and doorbells of the kernel, a timerfd, a lock-free list of
 * doorbells rung by threads, and completion sources.
 *
 * <p>A thread that wants the loop's attention publishes its work first and writes the wake-up eventfd only if the loop
 * has announced that it goes to sleep, so a busy loop is woken without system calls.
 */
public final class LinuxEventLoop implements EventLoop, AutoCloseable {
    private static final System.Logger LOG = System.getLogger("org.benchtop.engine.linux");
    private static final int MAX_EVENTS = 64;
    private static final int TASKS_PER_TURN = 256;
    private static final long MIN_POLL_NANOS = 4_000;

    private static final int AWAKE = 0;
    private static final int SLEEPING = 1;
    private static final int WAKING = 2;
    private static final int LENT = 3;
    private static final int SPINS_PER_YIELD = 64;

    private static final VarHandle STATE;
    private static final VarHandle RUNG;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            STATE = lookup.findVarHandle(LinuxEventLoop.class, "state", int.class);
            RUNG = lookup.findVarHandle(LinuxEventLoop.class, "rung", EventFdDoorbell.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final String name;
    private final long maxPollNanos;
    private final Thread thread;
    // Not a shared arena: passing a shared segment to a downcall costs two atomic operations each time.
    private final Arena arena = Arena.ofAuto();
    private final MemorySegment capture = LibC.newCapture(arena);
    private final MemorySegment eventBuffer = arena.allocate((long) MAX_EVENTS * EpollEvent.BYTES, 8);
    private final MemorySegment wakeValue = arena.allocate(8, 8);
    private final LoopRegistry registry;
    private final LoopTimers timers;
    private final LoopDescriptors descriptors;
    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final Set<EventFdDoorbell> doorbells = ConcurrentHashMap.newKeySet();

    /**
     * AWAKE, SLEEPING (may be waiting in the kernel), WAKING (somebody writes the wake-up eventfd) or LENT (asleep, and
     * {@link #borrower} runs in its place).
     */
    private volatile int state = AWAKE;

    private volatile @Nullable Thread borrower;
    /** A stack of the doorbells that were rung since the loop last looked. */
    private volatile @Nullable EventFdDoorbell rung;

    private volatile boolean closing;
    private volatile boolean ended;
    /** Wake-ups that the loop knows of: exactly so many writes to the eventfd have been or are being made. */
    private long wakeUps;

    private CompletionSource[] sources = {};
    private LoopWaiter waiter = this::epollWait;
    private @Nullable IoUring uring;
    private @Nullable NativeAio nativeAio;
    private long pollNanos;

    private LinuxEventLoop(String name, long maxPollNanos, LoopDescriptors descriptors) {
        this.name = name;
        this.descriptors = descriptors;
        this.maxPollNanos = maxPollNanos;
        wakeValue.set(ValueLayout.JAVA_LONG, 0, 1);
        registry = new LoopRegistry(descriptors.epoll());
        timers = new LoopTimers(this, descriptors.timer(), arena);
        registry.add(descriptors.wake(), EpollEvent.EPOLLIN | EpollEvent.EPOLLET, events -> {});
        registry.add(descriptors.timer(), EpollEvent.EPOLLIN | EpollEvent.EPOLLET, events -> timers.fired());
        thread = Thread.ofPlatform().name("benchtop-loop-" + name).daemon(true).unstarted(this::run);
    }

    /** Starts a loop that always sleeps at once when there is nothing to do. */
    public static LinuxEventLoop start(String name) {
        return start(name, 0);
    }

    /**
     * Starts a loop.
     *
     * @param maxPollNanos how long it may look for work without sleeping after it had some; it adapts below that and
     *     stops polling when that finds nothing. 0 for never: right where vCPUs need all cores.
     */
    public static LinuxEventLoop start(String name, long maxPollNanos) {
        LinuxHost.requireAvailable();
        LoopDescriptors descriptors = LoopDescriptors.open();
        boolean started = false;
        try {
            LinuxEventLoop loop = new LinuxEventLoop(name, maxPollNanos, descriptors);
            loop.thread.start();
            started = true;
            return loop;
        } finally {
            if (!started) {
                descriptors.close();
            }
        }
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public boolean inLoop() {
        Thread current = Thread.currentThread();
        return current == thread || current == borrower;
    }

    @Override
    public void execute(Runnable task) {
        if (closing && !inLoop()) {
            throw closedError("task");
        }
        tasks.add(task);
        wake();
        if (ended && tasks.remove(task)) {
            throw closedError("task");
        }
    }

    @Override
    public void call(Runnable task) {
        if (inLoop()) {
            task.run();
            return;
        }
        Call call = new Call(task);
        execute(call);
        call.await();
    }

    /**
     * {@inheritDoc}
     *
     * <p>Lends its turn while it sleeps, unless it has an io_uring: that takes requests from one thread only.
     */
    @Override
    public boolean tryRun(Runnable task) {
        if (state != SLEEPING || inLoop() || posted() || !STATE.compareAndSet(this, SLEEPING, LENT)) {
            return false;
        }
        // Looked at only now: what the loop's thread has written before it went to sleep is visible from here on.
        boolean lends = uring == null && !closing;
        boolean more = false;
        if (lends) {
            borrower = Thread.currentThread();
            runHandler(task, "lent turn");
            more = flushSources(false) || timers.wantTurn();
            borrower = null;
        }
        state = SLEEPING;
        // Whoever posted something meanwhile has found nobody to wake.
        if (more || uring != null || posted()) {
            wake();
        }
        return lends;
    }

    @Override
    public Doorbell doorbell(String name, Runnable onRing) {
        EventFdDoorbell doorbell = new EventFdDoorbell(this, name, onRing);
        doorbells.add(doorbell);
        return doorbell;
    }

    @Override
    public Timer timer(Clock clock, Runnable onExpiry) {
        return timers.create(clock, onExpiry);
    }

    /**
     * {@inheritDoc}
     *
     * <p>Nothing is waited for until {@link FdWatch#interest} says what, and nothing, not even a hang-up, is reported
     * while it names neither. A descriptor that cannot be waited for (a regular file) is always ready.
     */
    @Override
    public FdWatch watch(int fd, FdWatch.Handler handler) {
        return new LoopFdWatch(this, fd, handler);
    }

    /** Looks at all timers again, because a clock was stopped, started or set. Any thread. */
    public void clockChanged() {
        timers.clockChanged();
    }

    /** Ends the loop: runs the tasks that are queued, then frees the thread and every descriptor. Any thread. */
    @Override
    public void close() {
        closing = true;
        if (inLoop()) {
            return;
        }
        wake();
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    BenchtopException closedError(String what) {
        return BenchtopException.of(ErrorKind.INTERNAL, what + ": event loop " + name + " is closed");
    }

    int epollFd() {
        return descriptors.epoll();
    }

    LoopSource.Registration register(int fd, int events, LoopSource source) {
        return registry.add(fd, events, source);
    }

    /** Calls {@code watch} on every turn of the loop, which does not sleep meanwhile. */
    void alwaysReady(LoopFdWatch watch, boolean on) {
        registry.alwaysReady(watch, on);
        wake();
    }

    /** The loop's io_uring, made when it is first needed. Loop thread. */
    IoUring uring() {
        IoUring existing = uring;
        if (existing != null) {
            return existing;
        }
        if (Thread.currentThread() != thread) {
            throw BenchtopException.of(
                    ErrorKind.INTERNAL, "event loop " + name + ": an io_uring cannot be made in a lent turn");
        }
        IoUring made = new IoUring(this);
        addSource(made);
        waiter = made;
        uring = made;
        return made;
    }

    /** The loop's Linux AIO context, made when it is first needed. Loop thread. */
    NativeAio nativeAio() {
        NativeAio existing = nativeAio;
        if (existing != null) {
            return existing;
        }
        NativeAio made = new NativeAio(this);
        addSource(made);
        nativeAio = made;
        return made;
    }

    private void addSource(CompletionSource source) {
        sources = Arrays.copyOf(sources, sources.length + 1);
        sources[sources.length - 1] = source;
    }

    /** Puts a doorbell that was not pending on the list. Any thread. */
    void post(EventFdDoorbell doorbell) {
        EventFdDoorbell head;
        do {
            head = rung;
            doorbell.next = head;
        } while (!RUNG.compareAndSet(this, head, doorbell));
        wake();
    }

    void forget(EventFdDoorbell doorbell) {
        doorbells.remove(doorbell);
    }

    private void wake() {
        if (state == SLEEPING && STATE.compareAndSet(this, SLEEPING, WAKING)) {
            LibC.write(descriptors.wake(), wakeValue.address(), 8);
        }
    }

    /** Runs somebody's handler; what it throws is logged and does not end the loop. */
    void runHandler(Runnable handler, String what) {
        try {
            handler.run();
        } catch (Throwable failure) {
            handlerFailed(what, failure);
        }
    }

    void handlerFailed(String what, Throwable failure) {
        LOG.log(System.Logger.Level.ERROR, "event loop " + name + ": handler of " + what + " failed", failure);
    }

    private void run() {
        try {
            boolean more = true;
            while (!closing) {
                more = turn(!more);
            }
        } catch (Throwable failure) {
            LOG.log(System.Logger.Level.ERROR, "event loop " + name + " ends", failure);
        } finally {
            closing = true;
            ended = true;
            runTasks(Integer.MAX_VALUE);
            free();
        }
    }

    /** One round: waits if it may, then runs everything that is there. Returns whether there is more to do now. */
    private boolean turn(boolean mayWait) {
        int ready = mayWait ? waitForWork() : checked(epollWait(eventBuffer, MAX_EVENTS, false));
        for (int i = 0; i < ready; i++) {
            long offset = (long) i * EpollEvent.BYTES;
            registry.dispatch(EpollEvent.data(eventBuffer, offset), EpollEvent.events(eventBuffer, offset), this);
        }
        registry.runAlwaysReady();
        runRung();
        runTasks(TASKS_PER_TURN);
        boolean more = timers.runDue();
        more |= reapSources();
        more |= ready == MAX_EVENTS || posted();
        return flushSources(!more && maxPollNanos == 0) || more;
    }

    private boolean posted() {
        return rung != null || !tasks.isEmpty() || registry.hasAlwaysReady() || closing;
    }

    private int waitForWork() {
        long start = maxPollNanos > 0 ? System.nanoTime() : 0;
        long pollEnd = start + pollNanos;
        while (pollNanos > 0 && System.nanoTime() - pollEnd < 0) {
            int ready = checked(epollWait(eventBuffer, MAX_EVENTS, false));
            if (ready > 0 || reapSources() || posted() || flushSources(false)) {
                return ready;
            }
            Thread.onSpinWait();
        }
        state = SLEEPING;
        int ready = waiter.await(eventBuffer, MAX_EVENTS, !posted());
        if (takeTurnBack() == WAKING) {
            wakeUps++;
        }
        if (maxPollNanos > 0) {
            boolean pollingWouldHaveHelped = System.nanoTime() - start <= maxPollNanos;
            pollNanos = pollingWouldHaveHelped ? Math.clamp(pollNanos * 2, MIN_POLL_NANOS, maxPollNanos) : 0;
        }
        return checked(ready);
    }

    /** Becomes AWAKE, after the end of a turn that is lent; returns the state before. */
    private int takeTurnBack() {
        for (int spins = 1; ; spins++) {
            int before = state;
            if (before != LENT && STATE.compareAndSet(this, before, AWAKE)) {
                return before;
            }
            if (spins % SPINS_PER_YIELD == 0) {
                Thread.yield();
            } else {
                Thread.onSpinWait();
            }
        }
    }

    private boolean flushSources(boolean waitFollows) {
        boolean again = false;
        for (CompletionSource source : sources) {
            again |= source.flush(waitFollows);
        }
        return again;
    }

    private boolean reapSources() {
        boolean any = false;
        for (CompletionSource source : sources) {
            any |= source.reap();
        }
        return any;
    }

    private void runRung() {
        EventFdDoorbell newest = (EventFdDoorbell) RUNG.getAndSet(this, null);
        EventFdDoorbell oldest = null;
        while (newest != null) {
            EventFdDoorbell before = newest.next;
            newest.next = oldest;
            oldest = newest;
            newest = before;
        }
        while (oldest != null) {
            // As soon as it is not pending it may be rung again, and its link then belongs to the list.
            EventFdDoorbell after = oldest.next;
            oldest.next = null;
            oldest.firePending();
            oldest = after;
        }
    }

    private void runTasks(int most) {
        for (int i = 0; i < most; i++) {
            Runnable task = tasks.poll();
            if (task == null) {
                return;
            }
            runHandler(task, "task");
        }
    }

    int epollWait(MemorySegment events, int maxEvents, boolean block) {
        return LibC.epollWait(capture, descriptors.epoll(), events.address(), maxEvents, block ? -1 : 0);
    }

    private static int checked(int ready) {
        return ready == -Errno.EINTR ? 0 : Errno.checkedInt("epoll_wait", ready);
    }

    private void free() {
        for (CompletionSource source : sources) {
            source.close();
        }
        for (EventFdDoorbell doorbell : doorbells) {
            doorbell.close();
        }
        timers.close();
        registry.close();
        // A thread that has claimed a wake-up may not have written yet: its number of the eventfd must stay ours.
        long written = 0;
        while (written < wakeUps) {
            if (LibC.read(capture, descriptors.wake(), wakeValue.address(), 8) == 8) {
                written += wakeValue.get(ValueLayout.JAVA_LONG, 0);
            }
        }
        descriptors.close();
    }

    /** A task that somebody waits for. */
    private static final class Call implements Runnable {
        private final Runnable task;
        private final CountDownLatch done = new CountDownLatch(1);
        private @Nullable Throwable failure;

        Call(Runnable task) {
            this.task = task;
        }

        @Override
        public void run() {
            try {
                task.run();
            } catch (RuntimeException | Error e) {
                failure = e;
            } finally {
                done.countDown();
            }
        }

        /** Waits through interrupts, which would leave the task half done for the caller, and keeps them pending. */
        void await() {
            boolean interrupted = false;
            while (true) {
                try {
                    done.await();
                    break;
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
            Throwable thrown = failure;
            if (thrown instanceof Error error) {
                throw error;
            }
            if (thrown instanceof RuntimeException exception) {
                throw exception;
            }
        }
    }
}
