package org.benchtop.virtio.blk;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** {@code struct virtio_blk_discard_write_zeroes} (VIRTIO 1.2, 5.2.6). */
final class BlkRange {
    static final int SIZE = 16;
    static final int UNMAP = 1;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final MemoryLayout LAYOUT =
            MemoryLayout.structLayout(LONG.withName("sector"), INT.withName("num_sectors"), INT.withName("flags"));
    private static final VarHandle WORD = INT.varHandle().withInvokeExactBehavior();
    private static final VarHandle SECTOR = LONG.varHandle().withInvokeExactBehavior();

    static {
        if (LAYOUT.byteSize() != SIZE) {
            throw new AssertionError("virtio_blk_discard_write_zeroes: size=" + LAYOUT.byteSize());
        }
    }

    private BlkRange() {}

    static long sector(MemorySegment segment, long offset) {
        return (long) SECTOR.get(segment, offset);
    }

    static long sectors(MemorySegment segment, long offset) {
        return (int) WORD.get(segment, offset + 8) & 0xffff_ffffL;
    }

    static int flags(MemorySegment segment, long offset) {
        return (int) WORD.get(segment, offset + 12);
    }
}
