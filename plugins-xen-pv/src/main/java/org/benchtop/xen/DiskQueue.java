package org.benchtop.xen;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.memory.GuestMemory;
import org.jspecify.annotations.Nullable;

/** One ring of a disk's frontend, while it is connected. Everything runs on its loop, except where it says otherwise. */
final class DiskQueue {
    /** Requests in one turn of the loop, so that a busy ring does not keep it from its other handlers. */
    private static final int TURN_REQUESTS = 1024;

    private static final long RECHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    /** What a queue is made of. */
    record Parts(
            BlkifAbi abi,
            SharedRing ring,
            int[] ringReferences,
            boolean persistent,
            GuestMemory memory,
            GrantTable grants,
            BlockQueue block,
            EventLoop loop,
            DiskLimits limits,
            DiskStats stats,
            Consumer<String> onFault) {}

    private final Parts parts;
    private final Doorbell doorbell;
    private final Runnable turn = this::turn;
    private final MemorySegment request;
    private final MemorySegment response = MemorySegment.ofArray(new byte[16]);
    private final DiskRequest[] slots;
    private final DiskRequest[] free;
    private int freeCount;
    private final PersistentGrants kept = new PersistentGrants();
    private volatile int inFlight;
    private @Nullable DiskRequest barrier;
    private boolean inTurn;
    private boolean selfRung;
    private boolean submitted;
    private volatile boolean paused;
    private volatile boolean faulted;
    private volatile boolean stopping;
    private volatile boolean stopped;
    private @Nullable Runnable onStopped;
    private volatile @Nullable EventChannel channel;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition quiet = lock.newCondition();

    DiskQueue(Parts parts, String name) {
        this.parts = parts;
        this.request = MemorySegment.ofArray(new byte[parts.abi.entryBytes]);
        this.slots = new DiskRequest[parts.ring.size()];
        this.free = new DiskRequest[slots.length];
        for (int i = 0; i < slots.length; i++) {
            slots[i] = new DiskRequest(this, parts);
            free[freeCount++] = slots[i];
        }
        this.doorbell = parts.loop.doorbell(name, turn);
    }

    /** Sets the end of the event channel. Before the first notification is looked at. */
    void channel(EventChannel value) {
        channel = value;
    }

    /** A notification of the guest, on the vCPU's thread: the turn is taken there where the loop lends it. */
    void notified() {
        parts.stats.notifications().increment();
        if (!parts.loop.tryRun(turn)) {
            doorbell.ring();
        }
    }

    /** Looks at the ring soon. Any thread. */
    void look() {
        doorbell.ring();
    }

    private void turn() {
        selfRung = false;
        if (stopped || faulted) {
            return;
        }
        inTurn = true;
        try {
            takeRequests();
        } finally {
            inTurn = false;
        }
        kick();
        show();
    }

    private void takeRequests() {
        int budget = TURN_REQUESTS;
        boolean more = !stopping && !paused;
        while (more) {
            int waiting = parts.ring.waiting();
            if (waiting < 0) {
                fault("its request index makes no sense");
                return;
            }
            while (waiting > 0 && barrier == null && budget > 0) {
                waiting--;
                budget--;
                start();
            }
            if (waiting > 0) {
                if (budget == 0) {
                    ringSelf();
                }
                return;
            }
            more = parts.ring.enableNotifications();
        }
    }

    private void start() {
        parts.ring.take(request);
        DiskRequest slot = free[--freeCount];
        inFlight = inFlight + 1;
        slot.start(request);
    }

    /**
     * Lets nothing follow a barrier until it is done.
     *
     * @return whether it may begin now, as nothing else is in flight; otherwise it is begun later
     */
    boolean mayBegin(DiskRequest slot) {
        barrier = slot;
        return inFlight == 1;
    }

    /** Something was submitted, and has to be kicked at the end of the burst. */
    void submitted() {
        submitted = true;
    }

    private void kick() {
        if (submitted) {
            submitted = false;
            parts.block.kick();
        }
    }

    /** A completion outside of a turn may have submitted more. */
    void afterCompletion() {
        if (!inTurn) {
            kick();
        }
    }

    PersistentGrants kept() {
        return kept;
    }

    /** Answers a request and takes its slot back. */
    void finished(DiskRequest slot, long id, int operation, int status) {
        if (status != BlkifAbi.OKAY) {
            parts.stats.errors().increment();
        }
        if (!faulted) {
            BlkifAbi.response(response, id, operation, status);
            parts.ring.respond(response, parts.abi.responseBytes);
        }
        free[freeCount++] = slot;
        int left = inFlight - 1;
        inFlight = left;
        DiskRequest waiting = barrier;
        if (waiting == slot) {
            barrier = null;
            ringSelf();
        } else if (waiting != null && left == 1) {
            waiting.begin();
            afterCompletion();
            return;
        }
        if (!inTurn) {
            if (left == 0) {
                show();
            } else {
                // More completions of this turn of the loop may follow: they share a publication and an interrupt.
                ringSelf();
            }
        }
        if (left == 0) {
            stopIfIdle();
            wakeWaiters();
        }
    }

    private void ringSelf() {
        if (!selfRung) {
            selfRung = true;
            doorbell.ring();
        }
    }

    private void show() {
        EventChannel end = channel;
        if (!faulted && parts.ring.show() && end != null) {
            parts.stats.interrupts().increment();
            end.signal();
        }
    }

    private void fault(String what) {
        faulted = true;
        parts.onFault.accept(what);
    }

    /** Takes no more requests, finishes those in flight, lets go of everything, then calls back on the loop. */
    void stop(Runnable callback) {
        if (stopped) {
            callback.run();
            return;
        }
        Runnable earlier = onStopped;
        onStopped = earlier == null
                ? callback
                : () -> {
                    earlier.run();
                    callback.run();
                };
        stopping = true;
        if (inFlight > 0) {
            parts.block.drain();
        }
        stopIfIdle();
    }

    private void stopIfIdle() {
        if (!stopping || stopped || inFlight > 0) {
            return;
        }
        show();
        stopped = true;
        EventChannel end = channel;
        if (end != null) {
            end.close();
        }
        doorbell.close();
        parts.block.close();
        kept.release(parts.grants);
        for (int reference : parts.ringReferences) {
            parts.grants.release(reference);
        }
        Runnable callback = onStopped;
        onStopped = null;
        if (callback != null) {
            callback.run();
        }
    }

    /** Takes no more requests until {@link #resume}, and returns when none is in flight. Not on a loop. */
    void pause() {
        paused = true;
        await();
    }

    void resume() {
        paused = false;
        look();
    }

    /** Stops and waits until that is done. Not on a loop. */
    void stopAndWait() {
        parts.loop.call(() -> stop(() -> {}));
        await();
    }

    private void await() {
        boolean interrupted = false;
        while (inFlight > 0 && !parts.loop.inLoop()) {
            // This also moves loops on that have no thread of their own.
            parts.loop.call(() -> {
                if (!stopped) {
                    parts.block.drain();
                }
            });
            lock.lock();
            try {
                if (inFlight > 0) {
                    long unused = quiet.awaitNanos(RECHECK_NANOS);
                }
            } catch (InterruptedException e) {
                interrupted = true;
            } finally {
                lock.unlock();
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void wakeWaiters() {
        lock.lock();
        try {
            quiet.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** For people. */
    String describe() {
        return parts.abi.text + " ring=" + parts.ring.size() + " in-flight=" + inFlight + " persistent-grants="
                + kept.count();
    }
}
