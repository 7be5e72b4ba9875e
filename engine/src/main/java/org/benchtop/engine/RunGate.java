package org.benchtop.engine;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Lets all vCPU threads of a machine through, holds them, or sends them home.
 *
 * <p>The fast path of {@link #enter} is one volatile read.
 */
final class RunGate {
    private enum Mode {
        OPEN,
        HELD,
        ENDED,
    }

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private int inside;
    private volatile Mode mode = Mode.HELD;

    /** A held gate for a number of vCPU threads. */
    RunGate(int vcpus) {
        this.inside = vcpus;
    }

    /** A vCPU thread asks to run; waits while held; false when it must end. */
    boolean enter() {
        if (mode == Mode.OPEN) {
            return true;
        }
        lock.lock();
        try {
            inside--;
            changed.signalAll();
            while (mode == Mode.HELD) {
                changed.awaitUninterruptibly();
            }
            inside++;
            return mode == Mode.OPEN;
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

    /** Holds the vCPUs from their next {@link #enter} on, without waiting for them. */
    void hold() {
        lock.lock();
        try {
            if (mode == Mode.OPEN) {
                mode = Mode.HELD;
            }
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
