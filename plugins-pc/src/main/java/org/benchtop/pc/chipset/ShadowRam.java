package org.benchtop.pc.chipset;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.benchtop.spi.bus.MmioDevice;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.memory.MemoryAccess;
import org.benchtop.spi.memory.MemoryMap;

/**
 * Shows RAM or the firmware ROM between 0xC0000 and 0xFFFFF, as the PAM registers say.
 *
 * <p>The ROM lies over RAM; a segment whose reads go to RAM is mapped over the ROM again. Where reads go to the ROM and
 * writes to RAM, the write comes here because ROM mappings are read-only.
 */
final class ShadowRam implements MmioDevice {
    static final long BASE = 0xc0000;
    static final long SIZE = 0x40000;
    /** PAM0 to PAM6. */
    static final int REGISTERS = 7;

    private static final int READ_ENABLE = 1;
    private static final int WRITE_ENABLE = 2;

    private final GuestMemory memory;
    private final MemoryMap map;
    private final List<Segment> segments = new ArrayList<>();

    private static final class Segment {
        final long base;
        final long size;
        final int register;
        final int shift;
        volatile int enables;
        Optional<MemoryMap.Mapping> mapping = Optional.empty();

        Segment(long base, long size, int register, int shift) {
            this.base = base;
            this.size = size;
            this.register = register;
            this.shift = shift;
        }
    }

    ShadowRam(GuestMemory memory, MemoryMap map) {
        this.memory = memory;
        this.map = map;
        for (int i = 0; i < 12; i++) {
            segments.add(new Segment(BASE + i * 0x4000L, 0x4000, 1 + i / 2, (i & 1) * 4));
        }
        segments.add(new Segment(0xf0000, 0x10000, 0, 4));
    }

    /** Takes the seven PAM registers. Not to be called by two threads at once. */
    void set(int[] pam) {
        for (Segment segment : segments) {
            int enables = pam[segment.register] >> segment.shift & (READ_ENABLE | WRITE_ENABLE);
            if (enables != segment.enables) {
                segment.enables = enables;
                apply(segment);
            }
        }
    }

    private void apply(Segment segment) {
        if ((segment.enables & READ_ENABLE) == 0) {
            segment.mapping.ifPresent(MemoryMap.Mapping::close);
            segment.mapping = Optional.empty();
            return;
        }
        MemoryAccess access = (segment.enables & WRITE_ENABLE) != 0 ? MemoryAccess.READ_WRITE : MemoryAccess.READ_ONLY;
        if (segment.mapping.isPresent()) {
            segment.mapping.get().access(access);
            return;
        }
        try {
            segment.mapping = Optional.of(map.map(
                    "shadow " + Long.toHexString(segment.base),
                    segment.base,
                    memory.slice(segment.base, segment.size),
                    access));
        } catch (GuestFault e) {
            // A machine with less than 1 MiB of RAM has nothing to show there.
            segment.mapping = Optional.empty();
        }
    }

    private int enables(long offset) {
        if (offset >= 0x30000) {
            return segments.getLast().enables;
        }
        return segments.get((int) (offset >> 14)).enables;
    }

    @Override
    public long read(long offset, int size) {
        return -1;
    }

    @Override
    public void write(long offset, int size, long value) {
        for (int i = 0; i < size; i++) {
            long at = offset + i;
            if (at < SIZE && (enables(at) & WRITE_ENABLE) != 0) {
                try {
                    memory.writeByte(BASE + at, (byte) (value >>> 8 * i));
                } catch (GuestFault e) {
                    return;
                }
                memory.written(BASE + at, 1);
            }
        }
    }

    /** Takes all mappings away. */
    void close() {
        set(new int[REGISTERS]);
    }
}
