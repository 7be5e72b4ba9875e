package org.benchtop.xen;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** The vcpu_info of each vCPU: in the shared information page at first, then where the guest has registered it. */
final class VcpuInfos {
    /** The size of struct vcpu_info. */
    static final int SIZE = 64;
    /** How many the shared information page has room for. */
    static final int LEGACY = 32;

    private static final long UPCALL_PENDING = 0;
    private static final long SELECTOR = 8;
    private static final long TIME = 32;
    private static final long TIME_VERSION = TIME;
    private static final long TIME_TSC = TIME + 8;
    private static final long TIME_SYSTEM = TIME + 16;
    private static final long TIME_MULTIPLIER = TIME + 24;
    private static final long TIME_SHIFT = TIME + 28;

    private final MemorySegment shared;
    private final AtomicReferenceArray<@Nullable MemorySegment> infos;

    VcpuInfos(MemorySegment shared, int cpus) {
        this.shared = shared;
        this.infos = new AtomicReferenceArray<>(cpus);
        reset();
    }

    /** All back in the shared information page. */
    void reset() {
        for (int i = 0; i < infos.length(); i++) {
            infos.set(i, i < LEGACY ? shared.asSlice((long) i * SIZE, SIZE) : null);
        }
    }

    int count() {
        return infos.length();
    }

    /** Moves one; what was there is carried along. */
    void register(int vcpu, MemorySegment place) {
        MemorySegment old = infos.get(vcpu);
        if (old != null) {
            MemorySegment.copy(old, 0, place, 0, SIZE);
        }
        infos.set(vcpu, place);
    }

    /** Marks everything as pending, so that nothing gets lost with a move; returns whether the vCPU must be told. */
    boolean selectAll(int vcpu) {
        MemorySegment info = infos.get(vcpu);
        if (info == null) {
            return false;
        }
        Xen.LONGS.setVolatile(info, SELECTOR, -1L);
        return markPending(vcpu);
    }

    /** Sets a selector bit; returns whether the vCPU must be told. */
    boolean select(int vcpu, int selector) {
        MemorySegment info = infos.get(vcpu);
        if (info == null) {
            return false;
        }
        long bit = 1L << selector;
        long old = (long) Xen.LONGS.getAndBitwiseOr(info, SELECTOR, bit);
        return (old & bit) == 0 && markPending(vcpu);
    }

    /** Sets the upcall-pending flag; returns whether it was clear. */
    boolean markPending(int vcpu) {
        MemorySegment info = infos.get(vcpu);
        // The flag is one byte; its word is the smallest that can be changed atomically.
        return info != null && ((int) Xen.INTS.getAndBitwiseOr(info, UPCALL_PENDING, 1) & 0xff) == 0;
    }

    /** Whether the upcall-pending flag is set. */
    boolean upcallPending(int vcpu) {
        MemorySegment info = infos.get(vcpu);
        return info != null && ((int) Xen.INTS.getVolatile(info, UPCALL_PENDING) & 0xff) != 0;
    }

    /** Writes the time information (struct vcpu_time_info), with its version odd meanwhile. */
    void time(int vcpu, long tsc, long systemNanos, long tscKilohertz) {
        MemorySegment info = infos.get(vcpu);
        if (info != null) {
            writeTime(info, 0, tsc, systemNanos, tscKilohertz);
        }
    }

    /** Writes struct vcpu_time_info at its own place. */
    static void writeTimeAlone(MemorySegment place, long tsc, long systemNanos, long tscKilohertz) {
        writeTime(place, -TIME, tsc, systemNanos, tscKilohertz);
    }

    private static void writeTime(MemorySegment place, long base, long tsc, long systemNanos, long tscKilohertz) {
        int version = (int) Xen.INTS.getVolatile(place, base + TIME_VERSION) | 1;
        Xen.INTS.setVolatile(place, base + TIME_VERSION, version);
        // nanoseconds = (ticks << shift) * multiplier >> 32
        int shift = 0;
        long hertz = tscKilohertz * 1000;
        while (hertz > 2_000_000_000L) {
            hertz >>>= 1;
            shift--;
        }
        while (hertz <= 1_000_000_000L) {
            hertz <<= 1;
            shift++;
        }
        place.set(Xen.LONG, base + TIME_TSC, tsc);
        place.set(Xen.LONG, base + TIME_SYSTEM, systemNanos);
        place.set(Xen.INT, base + TIME_MULTIPLIER, (int) Long.divideUnsigned(1_000_000_000L << 32, hertz));
        place.set(Xen.INT, base + TIME_SHIFT, shift & 0xff);
        Xen.INTS.setVolatile(place, base + TIME_VERSION, version + 1);
    }
}
