package org.benchtop.block.qcow2;

import java.lang.foreign.MemorySegment;

/** Zeroes and discards: changes of L2 entries only, where that is possible. Used under the lock of the tables. */
final class Qcow2Zeroes {
    private final Qcow2Tables tables;
    private final Qcow2Layout layout;

    Qcow2Zeroes(Qcow2Tables tables) {
        this.tables = tables;
        this.layout = tables.layout();
    }

    /**
     * Makes whole units of a run zero, or gives them back. {@code out.length} says how much is dealt with; with {@link
     * Qcow2Tables#NEEDS_DATA} that much has to be written as zeroes instead.
     */
    int change(long at, long end, boolean zeroes, boolean mayUnmap, Mapping out, Qcow2Job job) {
        if (tables.header().corrupt()) {
            return Qcow2Tables.FAILED;
        }
        int l1Index = layout.l1Index(at);
        int spanBits = layout.clusterBits + layout.l2Bits;
        long spanEnd = Math.min(end, l1Index + 1L << spanBits);
        boolean noTable = tables.l2TableOffset(l1Index) == 0;
        if (noTable && !tables.creatingTable(l1Index) && (!zeroes || at >= tables.backingBytes())) {
            Allocation busy = tables.allocating(layout.clusterOf(at), layout.clusterOf(spanEnd - 1) + 1);
            if (busy != null) {
                busy.waiters().add(job);
                return Qcow2Tables.WAIT;
            }
            out.length = spanEnd - at;
            return Qcow2Tables.READY;
        }
        int result = tables.ownTable(l1Index, job);
        if (result != Qcow2Tables.READY) {
            return result;
        }
        long table = tables.l2TableOffset(l1Index);
        if (!layout.aligned(table)) {
            tables.foundCorruption(
                    "L2 table at " + table + " (L1 entry " + l1Index + ") is not at a cluster's start", job.queue);
            return Qcow2Tables.FAILED;
        }
        long entryAt = table + (long) layout.l2Index(at) * layout.l2EntryBytes;
        long key = entryAt & -layout.sliceBytes;
        int slot = tables.slice(tables.l2(), key, job);
        if (slot < 0) {
            return slot;
        }
        long sliceEnd = layout.clusterStart(at)
                + ((key + layout.sliceBytes - entryAt) / layout.l2EntryBytes << layout.clusterBits);
        long limit = Math.min(spanEnd, sliceEnd);
        Allocation busy = tables.allocating(layout.clusterOf(at), layout.clusterOf(limit - 1) + 1);
        if (busy != null) {
            busy.waiters().add(job);
            return Qcow2Tables.WAIT;
        }
        MemorySegment memory = tables.l2().memory(slot);
        long base = tables.l2().base(slot) + (entryAt - key);
        long position = at;
        boolean changed = false;
        long diskEnd = tables.capabilities().sizeBytes();
        while (position < limit) {
            long clusterStart = layout.clusterStart(position);
            long clusterEnd = Math.min(clusterStart + layout.clusterBytes, diskEnd);
            boolean whole = position == clusterStart && limit >= clusterEnd;
            long next = whole ? clusterEnd : Math.min(clusterEnd, unitsEnd(limit, diskEnd));
            if (next <= position) {
                break;
            }
            int done = whole
                    ? changeCluster(memory, base, position, zeroes, mayUnmap)
                    : changeUnits(memory, base, position, next, zeroes, mayUnmap);
            if (done == Qcow2Tables.NEEDS_DATA) {
                if (position == at) {
                    out.length = next - at;
                    return Qcow2Tables.NEEDS_DATA;
                }
                break;
            }
            changed |= done == Qcow2Tables.ALLOCATED;
            position = next;
            base += layout.l2EntryBytes;
        }
        if (changed) {
            tables.l2().markDirty(slot);
        }
        out.length = position - at;
        return Qcow2Tables.READY;
    }

    private long unitsEnd(long limit, long diskEnd) {
        return limit == diskEnd ? limit : limit & -layout.unitBytes();
    }

    /** Changes one entry; {@link Qcow2Tables#ALLOCATED} stands for "changed". */
    private int changeCluster(MemorySegment memory, long base, long at, boolean zeroes, boolean mayUnmap) {
        long entry = memory.get(Qcow2Layout.LONG, base);
        long bitmap = layout.extended ? memory.get(Qcow2Layout.LONG, base + 8) : 0;
        boolean compressed = (entry & Qcow2Layout.COMPRESSED) != 0;
        boolean cluster = layout.hasCluster(entry);
        boolean zeroBelow = at >= tables.backingBytes();
        if (!compressed && !cluster) {
            boolean zeroAlready =
                    zeroBelow || (layout.extended ? bitmap == -1L << 32 : (entry & Qcow2Layout.ZERO) != 0);
            if (!zeroes || zeroAlready) {
                return Qcow2Tables.READY;
            }
        }
        if (tables.header().version < 3 && !zeroBelow) {
            // Without a zero flag the old data would give way to what is below.
            return zeroes ? Qcow2Tables.NEEDS_DATA : Qcow2Tables.READY;
        }
        boolean keep =
                zeroes && !mayUnmap && cluster && (entry & Qcow2Layout.COPIED) != 0 && tables.header().version >= 3;
        boolean needsFlag = tables.header().version >= 3 && (keep || !zeroBelow);
        long newEntry = keep ? entry & ~Qcow2Layout.ZERO : 0;
        long newBitmap = 0;
        if (needsFlag) {
            if (layout.extended) {
                newBitmap = -1L << 32;
            } else {
                newEntry |= Qcow2Layout.ZERO;
            }
        }
        if (newEntry == entry && newBitmap == bitmap) {
            return Qcow2Tables.READY;
        }
        if (!keep) {
            tables.unlink(entry);
        }
        memory.set(Qcow2Layout.LONG, base, newEntry);
        if (layout.extended) {
            memory.set(Qcow2Layout.LONG, base + 8, newBitmap);
        }
        return Qcow2Tables.ALLOCATED;
    }

    /** Changes some units of a cluster with extended L2 entries. */
    private int changeUnits(MemorySegment memory, long base, long from, long to, boolean zeroes, boolean mayUnmap) {
        long entry = memory.get(Qcow2Layout.LONG, base);
        if ((entry & Qcow2Layout.COMPRESSED) != 0) {
            return zeroes ? Qcow2Tables.NEEDS_DATA : Qcow2Tables.READY;
        }
        long bitmap = memory.get(Qcow2Layout.LONG, base + 8);
        if (!zeroes && !layout.hasCluster(entry)) {
            return Qcow2Tables.READY;
        }
        int first = (int) (layout.inCluster(from) >>> layout.unitBits);
        int last = (int) (layout.inCluster(to - 1) >>> layout.unitBits);
        long units = (1L << last - first + 1) - 1 << first;
        long newBitmap = bitmap & ~units | units << 32;
        if (newBitmap == bitmap) {
            return Qcow2Tables.READY;
        }
        boolean drop = (!zeroes || mayUnmap) && layout.hasCluster(entry) && (newBitmap & 0xffffffffL) == 0;
        if (drop) {
            tables.unlink(entry);
            memory.set(Qcow2Layout.LONG, base, 0L);
        }
        memory.set(Qcow2Layout.LONG, base + 8, newBitmap);
        return Qcow2Tables.ALLOCATED;
    }
}
