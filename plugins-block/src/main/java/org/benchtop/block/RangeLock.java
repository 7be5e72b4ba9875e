package org.benchtop.block;

import java.util.ArrayList;
import java.util.List;

/**
 * Keeps writes out of host blocks that a read-modify-write is working on. Ranges are granted in the order they were
 * asked for where they conflict. Thread-safe: queues of several loops share it.
 */
final class RangeLock {
    private final List<FileJob> held = new ArrayList<>();
    private final List<FileJob> waiting = new ArrayList<>();

    /** Takes the range of a job; false means that the job waits and its {@link FileJob#resumeLater} will be called. */
    synchronized boolean acquire(FileJob job) {
        if (conflicts(job, held, held.size()) || conflicts(job, waiting, waiting.size())) {
            waiting.add(job);
            return false;
        }
        held.add(job);
        return true;
    }

    /** Gives a range back and lets those go on that waited for it. */
    void release(FileJob job) {
        List<FileJob> granted = List.of();
        synchronized (this) {
            held.remove(job);
            int i = 0;
            while (i < waiting.size()) {
                FileJob next = waiting.get(i);
                if (conflicts(next, held, held.size()) || conflicts(next, waiting, i)) {
                    i++;
                    continue;
                }
                waiting.remove(i);
                held.add(next);
                if (granted.isEmpty()) {
                    granted = new ArrayList<>();
                }
                granted.add(next);
            }
        }
        for (int i = 0; i < granted.size(); i++) {
            granted.get(i).resumeLater();
        }
    }

    private static boolean conflicts(FileJob job, List<FileJob> others, int count) {
        for (int i = 0; i < count; i++) {
            FileJob other = others.get(i);
            if ((job.lockExclusive() || other.lockExclusive())
                    && job.lockStart() < other.lockEnd()
                    && other.lockStart() < job.lockEnd()) {
                return true;
            }
        }
        return false;
    }
}
