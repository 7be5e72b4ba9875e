package org.benchtop.engine.memory;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.memory.MemoryRegion;

/** Places RAM around the hole below 4 GiB. */
public final class RamLayout {
    private static final long FOUR_GIB = 1L << 32;

    private RamLayout() {}

    /** The regions of {@code ram}: up to {@code holeBase}, and the rest from 4 GiB on. */
    public static List<MemoryRegion> around(MemorySegment ram, long holeBase) {
        List<MemoryRegion> regions = new ArrayList<>();
        long low = Math.min(ram.byteSize(), holeBase);
        regions.add(new MemoryRegion(0, ram.asSlice(0, low)));
        if (ram.byteSize() > low) {
            regions.add(new MemoryRegion(FOUR_GIB, ram.asSlice(low)));
        }
        return List.copyOf(regions);
    }
}
