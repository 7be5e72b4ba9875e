package org.benchtop.block.qcow2;

import org.benchtop.spi.block.BlockStatus;

/**
 * Something that goes on later: when a table is loaded, an allocation is finished, or simply after the present handler.
 *
 * <p>In at most one list at a time. Runs on its queue's loop, without the image's lock.
 */
abstract class Task {
    /** Where it runs. */
    Qcow2Queue queue;

    /** How what it waited for has ended. */
    BlockStatus wakeStatus = BlockStatus.OK;

    private @org.jspecify.annotations.Nullable Task next;

    Task(Qcow2Queue queue) {
        this.queue = queue;
    }

    abstract void run();

    /** A first-in first-out list of tasks, linked through them. */
    static final class Fifo {
        private @org.jspecify.annotations.Nullable Task head;
        private @org.jspecify.annotations.Nullable Task tail;

        boolean isEmpty() {
            return head == null;
        }

        /** The first one of a list that is not empty. */
        Task first() {
            return java.util.Objects.requireNonNull(head);
        }

        void add(Task task) {
            if (tail == null) {
                head = task;
            } else {
                tail.next = task;
            }
            tail = task;
        }

        @org.jspecify.annotations.Nullable
        Task poll() {
            Task task = head;
            if (task != null) {
                head = task.next;
                task.next = null;
                if (head == null) {
                    tail = null;
                }
            }
            return task;
        }

        /** Moves all tasks of another list to the end of this one. */
        void addAll(Fifo other) {
            for (Task task = other.poll(); task != null; task = other.poll()) {
                add(task);
            }
        }

        /** Lets all go on, each on its queue; {@code current} is the queue whose loop this is. */
        void wake(Qcow2Queue current, BlockStatus status) {
            for (Task task = poll(); task != null; task = poll()) {
                task.wakeStatus = status;
                if (task.queue == current) {
                    current.later(task);
                } else {
                    task.queue.runFromElsewhere(task);
                }
            }
        }
    }
}
