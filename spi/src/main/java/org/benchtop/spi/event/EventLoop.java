package org.benchtop.spi.event;

import org.benchtop.spi.time.Clock;

/**
 * One thread that waits for doorbells, timers, descriptors and I/O completions and runs what they ask for.
 *
 * <p>Handlers must not block. A handler that throws is reported and does not end the loop. The factory methods may be
 * called from any thread.
 */
public interface EventLoop {
    /** {@code main} or the name of the iothread. */
    String name();

    /** Whether the caller is on this loop's thread. */
    boolean inLoop();

    /** Runs a task on the loop after the handlers that are pending now. Any thread. For the control plane: allocates. */
    void execute(Runnable task);

    /**
     * Runs a task on the loop and waits for it; runs it at once when called on the loop. An exception of the task is
     * rethrown to the caller.
     */
    void call(Runnable task);

    /**
     * Runs a task on the calling thread as if it were the loop's, if the loop is idle and lends its turn; the caller is
     * {@link #inLoop in the loop} meanwhile. For work that a vCPU exit asks for, where waking the loop's thread would
     * cost more than the work. Never waits; allocates nothing.
     *
     * @return whether the task has run; a loop that never lends its turn always says no
     */
    default boolean tryRun(Runnable task) {
        return false;
    }

    /** A doorbell whose handler runs on this loop. */
    Doorbell doorbell(String name, Runnable onRing);

    /** A one-shot timer in the time of {@code clock}, whose handler runs on this loop. */
    Timer timer(Clock clock, Runnable onExpiry);

    /** Watches a host descriptor; the handler runs on this loop. */
    FdWatch watch(int fd, FdWatch.Handler handler);
}
