package org.benchtop.scsi.hba;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.benchtop.spi.event.EventLoop;

/** Counts what an adapter has in flight on its loop, and lets other threads wait until nothing is. */
public final class Quiescence {
    private static final long RECHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    private final EventLoop loop;
    private final Runnable drain;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition quiet = lock.newCondition();
    private volatile int inFlight;

    /**
     * Nothing in flight.
     *
     * @param drain lets delayed requests go, on the loop
     */
    public Quiescence(EventLoop loop, Runnable drain) {
        this.loop = loop;
        this.drain = drain;
    }

    /** One more. On the loop. */
    public void started() {
        inFlight = inFlight + 1;
    }

    /** One less. On the loop. */
    public void ended() {
        int left = inFlight - 1;
        inFlight = left;
        if (left == 0) {
            lock.lock();
            try {
                quiet.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    /** How many. */
    public int inFlight() {
        return inFlight;
    }

    /**
     * Waits until nothing is in flight. Any thread that holds no lock; returns early on the loop, which must not wait.
     *
     * @return whether nothing is in flight now
     */
    public boolean await(long atMostNanos) {
        boolean interrupted = false;
        long deadline = System.nanoTime() + atMostNanos;
        while (inFlight > 0 && !loop.inLoop()) {
            // This also moves loops on that have no thread of their own.
            loop.call(drain);
            if (atMostNanos < Long.MAX_VALUE && System.nanoTime() - deadline >= 0) {
                break;
            }
            interrupted |= awaitChange();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return inFlight == 0;
    }

    /** Waits as long as it takes. */
    public void await() {
        boolean unused = await(Long.MAX_VALUE);
    }

    private boolean awaitChange() {
        lock.lock();
        try {
            if (inFlight > 0) {
                long unused = quiet.awaitNanos(RECHECK_NANOS);
            }
            return false;
        } catch (InterruptedException e) {
            return true;
        } finally {
            lock.unlock();
        }
    }
}
