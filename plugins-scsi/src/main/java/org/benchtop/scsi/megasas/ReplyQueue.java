package org.benchtop.scsi.megasas;

import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;

/** The ring of contexts in which a driver finds its completed frames. Used on the adapter's event loop. */
final class ReplyQueue {
    private final GuestMemory memory;
    private final int entries;
    private final long ring;
    private final long producer;
    private final boolean wide;
    private int next;

    /** What is saved. */
    record State(int entries, long ring, long producer, boolean wide, int next) {}

    /**
     * A ring.
     *
     * @param wide whether contexts have 64 bits
     */
    ReplyQueue(GuestMemory memory, State state) {
        this.memory = memory;
        this.entries = state.entries;
        this.ring = state.ring;
        this.producer = state.producer;
        this.wide = state.wide;
        this.next = state.next;
    }

    State save() {
        return new State(entries, ring, producer, wide, next);
    }

    /** Adds a context and moves the producer index. */
    void post(long context) throws GuestFault {
        if (wide) {
            memory.writeLong(ring + 8L * next, context);
            memory.written(ring + 8L * next, 8);
        } else {
            memory.writeInt(ring + 4L * next, (int) context);
            memory.written(ring + 4L * next, 4);
        }
        next = (next + 1) % entries;
        java.lang.invoke.VarHandle.releaseFence();
        memory.writeInt(producer, next);
        memory.written(producer, 4);
    }
}
