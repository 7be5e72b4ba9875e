package org.benchtop.engine.linux;

import org.jspecify.annotations.Nullable;

/** A first-in first-out list linked through the slots themselves. Not thread-safe. */
final class SlotList {
    private @Nullable FileSlot oldest;
    private @Nullable FileSlot newest;

    boolean isEmpty() {
        return oldest == null;
    }

    void add(FileSlot slot) {
        slot.next = null;
        if (newest == null) {
            oldest = slot;
        } else {
            newest.next = slot;
        }
        newest = slot;
    }

    @Nullable
    FileSlot poll() {
        FileSlot slot = oldest;
        if (slot != null) {
            oldest = slot.next;
            slot.next = null;
            if (oldest == null) {
                newest = null;
            }
        }
        return slot;
    }
}
