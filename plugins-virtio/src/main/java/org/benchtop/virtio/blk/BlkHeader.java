package org.benchtop.virtio.blk;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** The device-readable head of {@code struct virtio_blk_req} (VIRTIO 1.2, 5.2.6). */
final class BlkHeader {
    static final int SIZE = 16;

    static final int VIRTIO_BLK_T_IN = 0;
    static final int VIRTIO_BLK_T_OUT = 1;
    static final int VIRTIO_BLK_T_FLUSH = 4;
    static final int VIRTIO_BLK_T_GET_ID = 8;
    static final int VIRTIO_BLK_T_DISCARD = 11;
    static final int VIRTIO_BLK_T_WRITE_ZEROES = 13;

    static final byte VIRTIO_BLK_S_OK = 0;
    static final byte VIRTIO_BLK_S_IOERR = 1;
    static final byte VIRTIO_BLK_S_UNSUPP = 2;

    /** The length of the answer to {@code VIRTIO_BLK_T_GET_ID}. */
    static final int VIRTIO_BLK_ID_BYTES = 20;

    static final int SECTOR_SHIFT = 9;
    static final int SECTOR_SIZE = 1 << SECTOR_SHIFT;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final MemoryLayout LAYOUT =
            MemoryLayout.structLayout(INT.withName("type"), INT.withName("reserved"), LONG.withName("sector"));
    private static final VarHandle TYPE = INT.varHandle().withInvokeExactBehavior();
    private static final VarHandle SECTOR = LONG.varHandle().withInvokeExactBehavior();

    static {
        if (LAYOUT.byteSize() != SIZE) {
            throw new AssertionError("virtio_blk_req: header=" + LAYOUT.byteSize());
        }
    }

    private BlkHeader() {}

    static int type(MemorySegment segment, long offset) {
        return (int) TYPE.get(segment, offset);
    }

    static long sector(MemorySegment segment, long offset) {
        return (long) SECTOR.get(segment, offset + 8);
    }
}
