package org.benchtop.block.qcow2;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** Sizes that follow from a header, and the coding of table entries. Immutable. */
final class Qcow2Layout {
    static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    static final long COPIED = 1L << 63;
    static final long COMPRESSED = 1L << 62;
    static final long ZERO = 1;
    static final long OFFSET_MASK = 0x00fffffffffffe00L;

    /** The bits of an L1 entry that must be 0. */
    static final long L1_RESERVED = 0x7f000000000001ffL;
    /** The bits of a standard L2 entry that must be 0, besides the zero flag's bit. */
    static final long L2_RESERVED = 0x3f000000000001feL;
    /** The bits of a refcount table entry that must be 0. */
    static final long REFCOUNT_TABLE_RESERVED = 0x1ff;

    static final int SECTOR = 512;
    private static final int MAX_SLICE_BYTES = 4096;

    /** What a part of the disk is; the order does not matter. */
    enum Kind {
        /** Not in this image: backing file or zeroes. */
        UNALLOCATED,
        /** Reads as zeroes. */
        ZERO,
        /** In the data area. */
        DATA,
        /** Compressed. */
        COMPRESSED,
        /** An entry that must not exist. */
        INVALID,
    }

    final int clusterBits;
    final long clusterBytes;
    final boolean extended;
    final boolean dataFile;
    final int l2EntryBytes;
    final int l2Bits;
    /** Allocation is known for units of this many bytes: a cluster, or a subcluster with extended L2 entries. */
    final int unitBits;

    final int unitsPerCluster;
    final int refcountOrder;
    /** The base-2 logarithm of the number of refcounts in a block. */
    final int refcountBlockBits;

    final long maxRefcount;
    /** Tables are cached in parts of this size. */
    final int sliceBytes;

    final int compressedSizeShift;
    final long compressedOffsetMask;
    final long compressedSizeMask;

    Qcow2Layout(Qcow2Header header) {
        clusterBits = header.clusterBits;
        clusterBytes = header.clusterBytes();
        extended = header.extendedL2();
        dataFile = header.hasDataFile();
        l2EntryBytes = header.l2EntryBytes();
        l2Bits = header.l2Bits();
        unitBits = extended ? clusterBits - 5 : clusterBits;
        unitsPerCluster = extended ? 32 : 1;
        refcountOrder = header.refcountOrder;
        refcountBlockBits = clusterBits + 3 - refcountOrder;
        maxRefcount = refcountOrder == 6 ? Long.MAX_VALUE : (1L << (1 << refcountOrder)) - 1;
        sliceBytes = (int) Math.min(MAX_SLICE_BYTES, clusterBytes);
        compressedSizeShift = 62 - (clusterBits - 8);
        compressedSizeMask = (1L << clusterBits - 8) - 1;
        compressedOffsetMask = (1L << compressedSizeShift) - 1;
    }

    long clusterOf(long offset) {
        return offset >>> clusterBits;
    }

    long clusterStart(long offset) {
        return offset & -clusterBytes;
    }

    long inCluster(long offset) {
        return offset & clusterBytes - 1;
    }

    long unitBytes() {
        return 1L << unitBits;
    }

    long roundUpToCluster(long bytes) {
        return bytes + clusterBytes - 1 & -clusterBytes;
    }

    int l1Index(long offset) {
        return (int) (offset >>> clusterBits + l2Bits);
    }

    int l2Index(long offset) {
        return (int) (offset >>> clusterBits) & (1 << l2Bits) - 1;
    }

    /** Whether an offset from a table can be that of a cluster. */
    boolean aligned(long offset) {
        return (offset & clusterBytes - 1) == 0;
    }

    /** What unit {@code unit} of a cluster is. */
    Kind kind(long entry, long bitmap, int unit) {
        if ((entry & COMPRESSED) != 0) {
            return extended && bitmap != 0 ? Kind.INVALID : Kind.COMPRESSED;
        }
        long offset = entry & OFFSET_MASK;
        if (!aligned(offset)) {
            return Kind.INVALID;
        }
        boolean allocated = offset != 0 || dataFile && (entry & COPIED) != 0;
        if (!extended) {
            if ((entry & ZERO) != 0) {
                return Kind.ZERO;
            }
            return allocated ? Kind.DATA : Kind.UNALLOCATED;
        }
        boolean data = (bitmap >>> unit & 1) != 0;
        boolean zero = (bitmap >>> 32 + unit & 1) != 0;
        if (data && zero || data && !allocated) {
            return Kind.INVALID;
        }
        return zero ? Kind.ZERO : data ? Kind.DATA : Kind.UNALLOCATED;
    }

    /** Whether an entry has a cluster of its own in the data area, whatever it reads as. */
    boolean hasCluster(long entry) {
        return (entry & COMPRESSED) == 0 && ((entry & OFFSET_MASK) != 0 || dataFile && (entry & COPIED) != 0);
    }

    /** Where the data of a compressed cluster starts. */
    long compressedOffset(long entry) {
        return entry & compressedOffsetMask;
    }

    /** How many bytes from {@link #compressedOffset} on may hold compressed data. */
    int compressedBytes(long entry) {
        long sectors = (entry >>> compressedSizeShift & compressedSizeMask) + 1;
        return (int) (sectors * SECTOR - (compressedOffset(entry) & SECTOR - 1));
    }

    /** The entry of a compressed cluster. */
    long compressedEntry(long offset, int bytes) {
        long sectors = ((offset + bytes - 1) / SECTOR) - offset / SECTOR;
        return COMPRESSED | sectors << compressedSizeShift | offset;
    }

    /** A refcount out of a block or a slice of it. */
    long refcount(MemorySegment block, long base, long index) {
        return switch (refcountOrder) {
            case 6 -> block.get(LONG, base + index * 8);
            case 5 -> block.get(INT, base + index * 4) & 0xffffffffL;
            case 4 -> block.get(SHORT, base + index * 2) & 0xffffL;
            case 3 -> block.get(ValueLayout.JAVA_BYTE, base + index) & 0xffL;
            default -> {
                int perByte = 8 >>> refcountOrder;
                int shift = (int) (index % perByte) << refcountOrder;
                yield block.get(ValueLayout.JAVA_BYTE, base + index / perByte) >>> shift & maxRefcount;
            }
        };
    }

    /** Sets a refcount in a block or a slice of it. */
    void refcount(MemorySegment block, long base, long index, long value) {
        switch (refcountOrder) {
            case 6 -> block.set(LONG, base + index * 8, value);
            case 5 -> block.set(INT, base + index * 4, (int) value);
            case 4 -> block.set(SHORT, base + index * 2, (short) value);
            case 3 -> block.set(ValueLayout.JAVA_BYTE, base + index, (byte) value);
            default -> {
                int perByte = 8 >>> refcountOrder;
                int shift = (int) (index % perByte) << refcountOrder;
                long at = base + index / perByte;
                int old = block.get(ValueLayout.JAVA_BYTE, at);
                block.set(
                        ValueLayout.JAVA_BYTE, at, (byte) (old & ~((int) maxRefcount << shift) | (int) value << shift));
            }
        }
    }
}
