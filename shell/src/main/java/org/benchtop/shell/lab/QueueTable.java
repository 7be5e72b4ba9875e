package org.benchtop.shell.lab;

import java.util.List;

/**
 * All queues of a machine or of one device.
 *
 * @param queues by device and index
 */
public record QueueTable(List<QueueState> queues) {
    public QueueTable {
        queues = List.copyOf(queues);
    }

    /** A queue of the only or of all devices by its place in {@link #queues}. */
    public QueueState get(int number) {
        return queues.get(number);
    }

    @Override
    public String toString() {
        return queues.isEmpty()
                ? "no queues"
                : String.join("\n", queues.stream().map(QueueState::toString).toList());
    }
}
