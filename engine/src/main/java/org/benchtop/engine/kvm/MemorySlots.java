package org.benchtop.engine.kvm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;
import org.benchtop.engine.linux.Errno;
import org.benchtop.engine.linux.LibC;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.memory.MemoryAccess;

/**
 * The memory slots of a VM. Thread-safe.
 *
 * <p>KVM cannot change a slot but for its address: a slot that is replaced is gone for a moment. The vCPUs are kept out of
 * guest mode for that moment, so that none of them takes its own memory for a device.
 */
final class MemorySlots {
    static final long PAGE_BYTES = 4096;
    private static final int KVM_MEM_LOG_DIRTY_PAGES = 1;
    private static final int KVM_MEM_READONLY = 2;

    private record Slot(long gpa, MemorySegment memory, boolean readOnly) {
        boolean contains(long address) {
            return address >= gpa && address - gpa < memory.byteSize();
        }

        boolean same(Slot other) {
            return gpa == other.gpa
                    && readOnly == other.readOnly
                    && memory.address() == other.memory.address()
                    && memory.byteSize() == other.memory.byteSize();
        }

        @Override
        public String toString() {
            return "gpa=0x" + Long.toHexString(gpa) + " size=0x" + Long.toHexString(memory.byteSize());
        }
    }

    /** Keeps vCPUs out of guest mode until they find the change lock free. */
    @FunctionalInterface
    interface Hold {
        void holdVcpus();
    }

    private final int vmFd;
    private final int capacity;
    private final boolean readOnlyWorks;
    private final Hold hold;
    private final ReentrantLock changes = new ReentrantLock();
    private final Map<Integer, Slot> slots = new TreeMap<>();
    private boolean logging;
    private boolean closed;

    MemorySlots(int vmFd, int capacity, boolean readOnlyWorks, Hold hold) {
        this.vmFd = vmFd;
        this.capacity = capacity;
        this.readOnlyWorks = readOnlyWorks;
        this.hold = hold;
    }

    void map(int number, long gpa, MemorySegment memory, MemoryAccess access) {
        if (access == MemoryAccess.NONE) {
            unmap(number);
            return;
        }
        Slot slot = new Slot(gpa, memory, access == MemoryAccess.READ_ONLY);
        check(number, slot);
        changes.lock();
        try {
            Slot old = slots.get(number);
            if (old != null && old.same(slot)) {
                return;
            }
            if (old != null) {
                hold.holdVcpus();
                remove(number, old);
            }
            set(number, slot);
            slots.put(number, slot);
        } finally {
            changes.unlock();
        }
    }

    private void check(int number, Slot slot) {
        if (number < 0 || number >= capacity) {
            throw internal("memory slot " + number + " is outside 0–" + (capacity - 1));
        }
        if (slot.readOnly && !readOnlyWorks) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED, "this KVM has no read-only memory (KVM_CAP_READONLY_MEM): " + slot);
        }
        boolean aligned = (slot.gpa | slot.memory.address() | slot.memory.byteSize()) % PAGE_BYTES == 0;
        if (!aligned || slot.memory.byteSize() == 0 || !slot.memory.isNative()) {
            throw internal("memory slot " + number + " is not made of pages: " + slot + " address=0x"
                    + Long.toHexString(slot.memory.address()));
        }
    }

    private static BenchtopException internal(String message) {
        return BenchtopException.of(ErrorKind.INTERNAL, message);
    }

    void unmap(int number) {
        changes.lock();
        try {
            Slot old = slots.get(number);
            if (old != null) {
                remove(number, old);
            }
        } finally {
            changes.unlock();
        }
    }

    private void remove(int number, Slot old) {
        int result = setRegion(number, 0, old.gpa, 0, 0);
        if (result < 0) {
            throw Errno.exception("cannot remove memory slot " + number + ": " + old, result);
        }
        slots.remove(number);
    }

    private void set(int number, Slot slot) {
        int flags = slot.readOnly ? KVM_MEM_READONLY : logging ? KVM_MEM_LOG_DIRTY_PAGES : 0;
        long size = slot.memory.byteSize();
        int result = setRegion(number, flags, slot.gpa, size, slot.memory.address());
        if (result < 0) {
            throw Errno.exception("cannot map memory slot " + number + ": " + slot, result);
        }
    }

    private int setRegion(int number, int flags, long gpa, long sizeBytes, long address) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment region = arena.allocate(KvmUserspaceMemoryRegion.LAYOUT);
            KvmUserspaceMemoryRegion.slot(region, 0, number);
            KvmUserspaceMemoryRegion.flags(region, 0, flags);
            KvmUserspaceMemoryRegion.guestPhysAddr(region, 0, gpa);
            KvmUserspaceMemoryRegion.memorySize(region, 0, sizeBytes);
            KvmUserspaceMemoryRegion.userspaceAddr(region, 0, address);
            if (closed) {
                throw internal("memory slot " + number + " of a VM that is closed");
            }
            // SAFETY: the struct has the size in the request number; the memory behind it outlives the slot (contract
            // of CpuVm.mapMemory).
            return LibC.ioctl(vmFd, KvmIoctl.KVM_SET_USER_MEMORY_REGION, region.address());
        }
    }

    void logDirty(boolean enabled) {
        changes.lock();
        try {
            if (logging != enabled) {
                logging = enabled;
                slots.forEach((number, slot) -> {
                    if (!slot.readOnly) {
                        set(number, slot);
                    }
                });
            }
        } finally {
            changes.unlock();
        }
    }

    void collectDirty(int number, long[] bitmap) {
        changes.lock();
        try (Arena arena = Arena.ofConfined()) {
            Slot slot = slots.get(number);
            if (slot == null || slot.readOnly || !logging) {
                return;
            }
            int words = Math.toIntExact((slot.memory.byteSize() / PAGE_BYTES + Long.SIZE - 1) / Long.SIZE);
            if (bitmap.length < words) {
                throw internal("dirty bitmap of memory slot " + number + " is too short: words=" + bitmap.length
                        + " needed=" + words);
            }
            MemorySegment bits = arena.allocate(ValueLayout.JAVA_LONG, words);
            MemorySegment request = arena.allocate(KvmDirtyLog.LAYOUT);
            KvmDirtyLog.slot(request, 0, number);
            KvmDirtyLog.dirtyBitmap(request, 0, bits.address());
            // SAFETY: the bitmap has a bit per page of the slot, rounded up to 64, as the kernel fills it.
            Errno.checked("KVM_GET_DIRTY_LOG", LibC.ioctl(vmFd, KvmIoctl.KVM_GET_DIRTY_LOG, request.address()));
            for (int i = 0; i < words; i++) {
                bitmap[i] |= bits.getAtIndex(ValueLayout.JAVA_LONG, i);
            }
        } finally {
            changes.unlock();
        }
    }

    /** Later changes fail; the kernel drops the slots with the VM. */
    void close() {
        changes.lock();
        try {
            closed = true;
            slots.clear();
        } finally {
            changes.unlock();
        }
    }

    /** Waits until no change is under way. */
    void awaitChange() {
        changes.lock();
        changes.unlock();
    }

    /** The memory at an address up to the end of its slot, for diagnostics; empty if there is none any more. */
    Optional<MemorySegment> at(long gpa) {
        changes.lock();
        try {
            return slots.values().stream()
                    .filter(slot -> slot.contains(gpa) && slot.memory.scope().isAlive())
                    .map(slot -> slot.memory.asSlice(gpa - slot.gpa))
                    .findFirst();
        } finally {
            changes.unlock();
        }
    }
}
