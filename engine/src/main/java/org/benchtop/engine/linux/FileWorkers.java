package org.benchtop.engine.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The threads that do a file's operations, started as they are needed.
 *
 * <p>Slots wait in an intrusive list under a monitor, which unlike {@code java.util.concurrent} locks allocates nothing
 * when it is contended or waited on.
 */
final class FileWorkers {
    private final String name;
    private final int maxThreads;
    private final Object lock = new Object();
    private final List<Thread> threads = new ArrayList<>();
    private final SlotList waiting = new SlotList();
    private int queued;
    private int idle;
    private boolean closed;

    FileWorkers(String name, int maxThreads) {
        this.name = name;
        this.maxThreads = maxThreads;
    }

    /** Lets a worker execute the slot's operation and return the slot to its queue. */
    void submit(FileSlot slot) {
        synchronized (lock) {
            waiting.add(slot);
            queued++;
            if (queued <= idle) {
                lock.notify();
            } else if (threads.size() < maxThreads && !closed) {
                threads.add(Thread.ofPlatform()
                        .name("benchtop-io-" + name + "-" + threads.size())
                        .daemon(true)
                        .start(this::work));
            }
        }
    }

    private void work() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment capture = LibC.newCapture(arena);
            for (FileSlot slot = take(); slot != null; slot = take()) {
                slot.execute(capture);
                slot.owner.done(slot);
            }
        }
    }

    /** The next slot, waiting for one; null when the file is closed and nothing is left. */
    private @Nullable FileSlot take() {
        synchronized (lock) {
            FileSlot slot = waiting.poll();
            while (slot == null) {
                if (closed) {
                    return null;
                }
                idle++;
                try {
                    lock.wait();
                } catch (InterruptedException e) {
                    // Nobody has a reason to interrupt a worker; whether to end is said by closed.
                } finally {
                    idle--;
                }
                slot = waiting.poll();
            }
            queued--;
            return slot;
        }
    }

    /** Finishes what is queued and ends the threads. */
    void close() {
        synchronized (lock) {
            closed = true;
            lock.notifyAll();
        }
        boolean interrupted = false;
        for (Thread thread : threads) {
            while (thread.isAlive()) {
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
