package org.benchtop.engine.linux;

import org.benchtop.spi.host.FileOperation;

/** A kernel interface that does operations for one loop and gives their slots back to their owners there. */
interface SlotEngine {
    /** Whether it can do such an operation on such a file. */
    boolean takes(LinuxFile file, FileOperation.Kind kind);

    /** Makes a file known; returns the number for its slots, or -1 where the descriptor is as good. */
    default int open(LinuxFile file) {
        return -1;
    }

    /** Forgets a file of {@link #open}; nothing of it is in flight. */
    default void close(int fileNumber) {}

    /** Makes a new slot known. */
    void add(FileSlot slot);

    /** Forgets a slot that is not in flight. */
    void remove(FileSlot slot);

    /** Starts the slot's request, at the latest when the loop's turn ends. */
    void push(FileSlot slot);
}
