package org.benchtop.softcpu;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.benchtop.spi.memory.MemoryAccess;
import org.jspecify.annotations.Nullable;

/** The memory slots of a VM. Look-ups are lock-free on an immutable snapshot. */
final class PhysicalMemory {
    /** Keeps the segment, so that automatically managed memory stays. */
    static final class Slot {
        final int number;
        final long gpa;
        final long sizeBytes;
        final long host;
        final boolean writable;
        final MemorySegment memory;
        /** Pages written since the last look; null while nobody logs. */
        volatile long @Nullable [] dirty;

        Slot(int number, long gpa, MemorySegment memory, boolean writable) {
            this.number = number;
            this.gpa = gpa;
            this.memory = memory;
            this.sizeBytes = memory.byteSize();
            this.host = memory.address();
            this.writable = writable;
        }

        synchronized void markDirty(long gpaInSlot) {
            long[] bitmap = dirty;
            if (bitmap != null) {
                int page = (int) (gpaInSlot - gpa >>> 12);
                bitmap[page >> 6] |= 1L << page;
            }
        }

        synchronized void drainDirty(long[] into) {
            long[] bitmap = dirty;
            if (bitmap == null) {
                return;
            }
            for (int i = 0; i < bitmap.length && i < into.length; i++) {
                into[i] |= bitmap[i];
                bitmap[i] = 0;
            }
        }

        synchronized void log(boolean enabled) {
            dirty = enabled ? new long[(int) ((sizeBytes >>> 12) + 63 >>> 6)] : null;
        }
    }

    private volatile Slot[] slots = {};
    private volatile boolean logging;

    /** The slot at an address, or null where there is no memory. */
    @Nullable
    Slot at(long gpa) {
        Slot[] all = slots;
        int low = 0;
        int high = all.length - 1;
        while (low <= high) {
            int mid = low + high >>> 1;
            Slot slot = all[mid];
            if (gpa < slot.gpa) {
                high = mid - 1;
            } else if (gpa >= slot.gpa + slot.sizeBytes) {
                low = mid + 1;
            } else {
                return slot;
            }
        }
        return null;
    }

    /** The slot that a host page belongs to, or null. */
    @Nullable
    Slot ofHost(long host) {
        for (Slot slot : slots) {
            if (host >= slot.host && host < slot.host + slot.sizeBytes) {
                return slot;
            }
        }
        return null;
    }

    synchronized void map(int number, long gpa, MemorySegment memory, MemoryAccess access) {
        List<Slot> next = without(number);
        if (access != MemoryAccess.NONE) {
            Slot slot = new Slot(number, gpa, memory, access == MemoryAccess.READ_WRITE);
            slot.log(logging);
            next.add(slot);
        }
        publish(next);
    }

    synchronized void unmap(int number) {
        publish(without(number));
    }

    private List<Slot> without(int number) {
        List<Slot> next = new ArrayList<>();
        for (Slot slot : slots) {
            if (slot.number != number) {
                next.add(slot);
            }
        }
        return next;
    }

    private void publish(List<Slot> next) {
        next.sort(Comparator.comparingLong(slot -> slot.gpa));
        slots = next.toArray(new Slot[0]);
    }

    synchronized void logDirty(boolean enabled) {
        logging = enabled;
        for (Slot slot : slots) {
            slot.log(enabled);
        }
    }

    boolean logging() {
        return logging;
    }

    synchronized void collectDirty(int number, long[] bitmap) {
        for (Slot slot : slots) {
            if (slot.number == number) {
                slot.drainDirty(bitmap);
            }
        }
    }
}
