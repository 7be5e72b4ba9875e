package org.benchtop.virtio.queue;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * {@code struct virtq_desc} (VIRTIO 1.2, 2.7.5).
 *
 * <p>Length, flags and next are read with one load, so that a driver which changes them meanwhile cannot make a check
 * and a use see different values.
 */
final class VirtqDesc {
    static final int SIZE = 16;
    static final int ALIGNMENT = 16;

    static final int VIRTQ_DESC_F_NEXT = 1;
    static final int VIRTQ_DESC_F_WRITE = 2;
    static final int VIRTQ_DESC_F_INDIRECT = 4;

    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final MemoryLayout LAYOUT = MemoryLayout.structLayout(
            LONG.withName("addr"),
            ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN).withName("len"),
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN).withName("flags"),
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN).withName("next"));
    private static final VarHandle WORD = LONG.varHandle().withInvokeExactBehavior();

    static {
        if (LAYOUT.byteSize() != SIZE) {
            throw new AssertionError("virtq_desc: size=" + LAYOUT.byteSize());
        }
    }

    private VirtqDesc() {}

    /** The buffer's guest physical address. */
    static long address(MemorySegment table, long offset) {
        return (long) WORD.get(table, offset);
    }

    /** Length, flags and next in one word. */
    static long rest(MemorySegment table, long offset) {
        return (long) WORD.get(table, offset + 8);
    }

    /** The buffer's length. */
    static long length(long rest) {
        return rest & 0xffff_ffffL;
    }

    /** The {@code VIRTQ_DESC_F_} bits. */
    static int flags(long rest) {
        return (int) (rest >>> 32) & 0xffff;
    }

    /** The index of the next descriptor. */
    static int next(long rest) {
        return (int) (rest >>> 48);
    }
}
