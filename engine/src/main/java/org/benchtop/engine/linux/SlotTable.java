package org.benchtop.engine.linux;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Numbers the slots that the kernel gives back by number. Not thread-safe. */
final class SlotTable {
    private @Nullable FileSlot[] slots = new FileSlot[64];
    private int[] free = new int[64];
    private int freeCount;
    private int used;

    void add(FileSlot slot) {
        int index = freeCount > 0 ? free[--freeCount] : used++;
        if (index == slots.length) {
            slots = Arrays.copyOf(slots, index * 2);
        }
        slots[index] = slot;
        slot.index = index;
    }

    FileSlot at(int index) {
        FileSlot slot = slots[index];
        if (slot == null) {
            throw new IllegalStateException("the kernel completed a request that is not in flight: index=" + index);
        }
        return slot;
    }

    void remove(FileSlot slot) {
        slots[slot.index] = null;
        if (freeCount == free.length) {
            free = Arrays.copyOf(free, freeCount * 2);
        }
        free[freeCount++] = slot.index;
        slot.index = -1;
    }
}
