package org.benchtop.engine;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Lets all vCPU threads of a machine through, holds them, or sends them home.
 *
 * <p>The fast path of {@link #enter} is one volatile read.
 */
final class RunGate {
    private static final int NOBODY = -1;

    private enum Mode {
        OPEN,
        HELD,
        ENDED,
    }

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private int inside;
    /** The vCPU that may pass once although the gate is held, or {@link #NOBODY}. */
    private int passer = NOBODY;

    private volatile Mode mode = Mode.HELD;

    /** A held gate for a number of vCPU threads. */
    RunGate(int vcpus) {
        this.inside = vcpus;
    }

    /** A vCPU thread asks to run; waits while held; false when it must end. */
    boolean enter(int vcpu) {
        if (mode == Mode.OPEN) {
            return true;
        }
        lock.lock();
        try {
            inside--;
            changed.signalAll();
            while (mode == Mode.HELD && passer != vcpu) {
                changed.awaitUninterruptibly();
            }
            inside++;
            passer = NOBODY;
            return mode != Mode.ENDED;
        } finally {
            lock.unlock();
        }
    }

    /** A vCPU thread ends. */
    void left() {
        lock.lock();
        try {
            inside--;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    void open() {
        lock.lock();
        try {
            if (mode != Mode.ENDED) {
                mode = Mode.OPEN;
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Holds the vCPUs from their next {@link #enter} on, without waiting for them; false if they were held before. */
    boolean hold() {
        lock.lock();
        try {
            boolean wasOpen = mode == Mode.OPEN;
            if (wasOpen) {
                mode = Mode.HELD;
            }
            return wasOpen;
        } finally {
            lock.unlock();
        }
    }

    /** Ends the threads at their next {@link #enter}. */
    void end() {
        lock.lock();
        try {
            mode = Mode.ENDED;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Lets one vCPU through a held gate once and waits until it is back; all vCPUs are quiet before.
     *
     * @return false if it was still running when the time was up
     */
    boolean pass(int vcpu, long timeoutNanos) throws InterruptedException {
        lock.lock();
        try {
            passer = vcpu;
            changed.signalAll();
            long left = timeoutNanos;
            while (mode == Mode.HELD && (passer != NOBODY || inside > 0)) {
                if (left <= 0) {
                    passer = NOBODY;
                    return inside == 0;
                }
                left = changed.awaitNanos(left);
            }
            return true;
        } finally {
            passer = NOBODY;
            lock.unlock();
        }
    }

    boolean isOpen() {
        return mode == Mode.OPEN;
    }

    /** Waits until no thread is past the gate; they have been kicked. */
    void awaitQuiet() {
        lock.lock();
        try {
            while (inside > 0) {
                changed.awaitUninterruptibly();
            }
        } finally {
            lock.unlock();
        }
    }
}
