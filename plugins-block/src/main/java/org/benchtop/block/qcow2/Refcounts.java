package org.benchtop.block.qcow2;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.benchtop.spi.block.BlockStatus;

/**
 * The refcounts of an open image, and the search for free clusters. Guarded by the image's lock.
 *
 * <p>Every method that needs a table part that is not in memory lets a task wait for it and answers {@link
 * Qcow2Tables#WAIT}; nothing has been changed then, and the task tries again.
 */
final class Refcounts {
    private static final int ENTRIES_PER_SECTOR = Qcow2Layout.SECTOR / 8;

    private final Qcow2Tables tables;
    private final Qcow2Layout layout;
    private final SliceCache cache;
    private long[] table = new long[0];
    private boolean[] dirtySectors = new boolean[0];
    private boolean anyDirtySector;
    private boolean moved;
    private long freeIndex;
    private @org.jspecify.annotations.Nullable Creation creation;

    /** The length of the run that {@link #allocate} found. */
    private int allocatedClusters;

    Refcounts(Qcow2Tables tables, Qcow2Layout layout, SliceCache cache) {
        this.tables = tables;
        this.layout = layout;
        this.cache = cache;
    }

    /** Takes a table over that was read from the file. */
    void reset(long[] newTable) {
        table = newTable;
        dirtySectors = new boolean[sectors(newTable.length)];
        anyDirtySector = false;
        moved = false;
        freeIndex = 0;
        cache.clear();
    }

    private static int sectors(int entries) {
        return (entries + ENTRIES_PER_SECTOR - 1) / ENTRIES_PER_SECTOR;
    }

    long[] table() {
        return table;
    }

    boolean dirty() {
        return cache.dirtyCount() > 0 || anyDirtySector || moved;
    }

    int dirtySlices() {
        return cache.dirtyCount();
    }

    int allocatedClusters() {
        return allocatedClusters;
    }

    private int entriesPerSlice() {
        return layout.sliceBytes * 8 >>> layout.refcountOrder;
    }

    private long blockOffset(long cluster) {
        long index = cluster >>> layout.refcountBlockBits;
        return index < table.length ? table[(int) index] : 0;
    }

    private long sliceKey(long block, long cluster) {
        long inBlock = cluster & (1L << layout.refcountBlockBits) - 1;
        return block + inBlock / entriesPerSlice() * layout.sliceBytes;
    }

    /** The slot with a cluster's refcount; the caller knows that there is a block for it. */
    private int slot(long cluster, Task task) {
        long block = blockOffset(cluster);
        if (!layout.aligned(block)) {
            tables.foundCorruption("refcount block at " + block + " is not at a cluster's start", task.queue);
            return Qcow2Tables.FAILED;
        }
        return tables.slice(cache, sliceKey(block, cluster), task);
    }

    /** The refcount of a cluster, or {@link Qcow2Tables#WAIT} or {@link Qcow2Tables#FAILED}. */
    long get(long cluster, Task task) {
        if (blockOffset(cluster) == 0) {
            return 0;
        }
        int slot = slot(cluster, task);
        if (slot < 0) {
            return slot;
        }
        return layout.refcount(cache.memory(slot), cache.base(slot), cluster % entriesPerSlice());
    }

    /** Sets a refcount whose slice is in memory, as {@link #get} has just made sure. */
    void set(long cluster, long value) {
        int slot = cache.find(sliceKey(blockOffset(cluster), cluster));
        layout.refcount(cache.memory(slot), cache.base(slot), cluster % entriesPerSlice(), value);
        cache.markDirty(slot);
        if (value == 0) {
            freeIndex = Math.min(freeIndex, cluster);
        }
    }

    /**
     * Takes a run of up to {@code want} clusters.
     *
     * @return the index of the first one, or {@link Qcow2Tables#WAIT}, {@link Qcow2Tables#FAILED} or {@link
     *     Qcow2Tables#FULL}
     */
    long allocate(int want, Task task) {
        int perSlice = entriesPerSlice();
        long cluster = freeIndex;
        while (true) {
            if (cluster >= tables.maxClusters()) {
                return Qcow2Tables.FULL;
            }
            if (blockOffset(cluster) == 0) {
                long made = createBlock(cluster, task);
                if (made < 0) {
                    return made;
                }
                continue;
            }
            int slot = slot(cluster, task);
            if (slot < 0) {
                return slot;
            }
            MemorySegment memory = cache.memory(slot);
            long base = cache.base(slot);
            long limit = Math.min((cluster / perSlice + 1) * perSlice, tables.maxClusters());
            while (cluster < limit && layout.refcount(memory, base, cluster % perSlice) != 0) {
                cluster++;
            }
            if (cluster == limit) {
                freeIndex = cluster;
                continue;
            }
            int count = 0;
            while (count < want
                    && cluster + count < limit
                    && layout.refcount(memory, base, (cluster + count) % perSlice) == 0) {
                layout.refcount(memory, base, (cluster + count) % perSlice, 1);
                count++;
            }
            cache.markDirty(slot);
            freeIndex = cluster + count;
            allocatedClusters = count;
            return cluster;
        }
    }

    /** Takes one certain cluster if it is free and its refcount is in memory. */
    boolean allocateExactly(long cluster, Task task) {
        if (cluster >= tables.maxClusters() || blockOffset(cluster) == 0) {
            return false;
        }
        int slot = cache.find(sliceKey(blockOffset(cluster), cluster));
        if (slot == SliceCache.NONE || !cache.ready(slot)) {
            return false;
        }
        long index = cluster % entriesPerSlice();
        if (layout.refcount(cache.memory(slot), cache.base(slot), index) != 0) {
            return false;
        }
        layout.refcount(cache.memory(slot), cache.base(slot), index, 1);
        cache.markDirty(slot);
        return true;
    }

    /**
     * Makes the refcount block that a cluster needs. It takes the first cluster that it describes, which must be free,
     * as nothing has described it so far.
     */
    private long createBlock(long cluster, Task task) {
        if (creation != null) {
            creation.waiters.add(task);
            return Qcow2Tables.WAIT;
        }
        long index = cluster >>> layout.refcountBlockBits;
        if (index >= table.length) {
            return grow(index, task);
        }
        long first = index << layout.refcountBlockBits;
        long offset = first << layout.clusterBits;
        if (tables.takeFresh(first, 1)) {
            int slot = cache.claim(offset);
            if (slot == SliceCache.NONE) {
                return tables.waitForRoom(task);
            }
            blockReady(index, offset, slot);
            return Qcow2Tables.READY;
        }
        Creation made = new Creation(task.queue, index, offset);
        creation = made;
        made.waiters.add(task);
        task.queue.later(made);
        return Qcow2Tables.WAIT;
    }

    private void blockReady(long index, long offset, int slot) {
        for (long at = layout.sliceBytes; at < layout.clusterBytes; at += layout.sliceBytes) {
            cache.forget(offset + at);
        }
        cache.memory(slot).asSlice(cache.base(slot), layout.sliceBytes).fill((byte) 0);
        cache.loaded(slot);
        layout.refcount(cache.memory(slot), cache.base(slot), 0, 1);
        cache.markDirty(slot);
        table[(int) index] = offset;
        dirtySectors[(int) index / ENTRIES_PER_SECTOR] = true;
        anyDirtySector = true;
    }

    /**
     * Makes a larger table: behind everything that the present one describes, so surely in free clusters, with the
     * blocks that describe it and themselves.
     */
    private long grow(long neededIndex, Task task) {
        int perCluster = (int) (layout.clusterBytes / 8);
        long first = (long) table.length << layout.refcountBlockBits;
        long entries = Math.max(neededIndex + 1, table.length) * 3 / 2 + perCluster;
        entries = (entries + perCluster - 1) / perCluster * perCluster;
        if (entries * 8 > Math.max(Qcow2Header.MAX_REFCOUNT_TABLE_BYTES, layout.clusterBytes)) {
            return Qcow2Tables.FULL;
        }
        long tableClusters = entries / perCluster;
        long perBlock = 1L << layout.refcountBlockBits;
        long blocks = 1;
        while (blocks * perBlock < blocks + tableClusters) {
            blocks++;
        }
        if (first + blocks + tableClusters > tables.maxClusters()) {
            return Qcow2Tables.FULL;
        }
        Creation made = new Creation(task.queue, first, (int) blocks, (int) tableClusters);
        creation = made;
        made.waiters.add(task);
        task.queue.later(made);
        return Qcow2Tables.WAIT;
    }

    /** Writes a new block, or a new table with its blocks, to the file before anything refers to it. */
    private final class Creation extends Task {
        private final Fifo waiters = new Fifo();
        private final long index;
        private final long offset;
        private final int blocks;
        private final int tableClusters;
        private boolean written;

        /** A block. */
        Creation(Qcow2Queue queue, long index, long offset) {
            super(queue);
            this.index = index;
            this.offset = offset;
            this.blocks = 0;
            this.tableClusters = 0;
        }

        /** A table whose first block is that cluster. */
        Creation(Qcow2Queue queue, long firstCluster, int blocks, int tableClusters) {
            super(queue);
            this.index = firstCluster;
            this.offset = firstCluster << layout.clusterBits;
            this.blocks = blocks;
            this.tableClusters = tableClusters;
        }

        @Override
        void run() {
            if (!written) {
                if (blocks == 0) {
                    queue.zeroFile(offset, layout.clusterBytes, this::writeDone);
                } else {
                    long clusters = blocks;
                    MemorySegment content = tables.scratch(clusters << layout.clusterBits);
                    for (long i = 0; i < blocks + tableClusters; i++) {
                        layout.refcount(content, 0, i, 1);
                    }
                    queue.writeFile(offset, content, this::writeDone);
                }
                return;
            }
            synchronized (tables) {
                if (blocks == 0) {
                    int slot = cache.claim(offset);
                    if (slot == SliceCache.NONE) {
                        tables.waitForRoom(this);
                        return;
                    }
                    blockReady(index, offset, slot);
                } else {
                    tableReady();
                }
                creation = null;
                waiters.wake(queue, BlockStatus.OK);
            }
        }

        private void writeDone(BlockStatus status) {
            if (status == BlockStatus.OK) {
                written = true;
                queue.later(this);
                return;
            }
            synchronized (tables) {
                creation = null;
                waiters.wake(queue, status);
            }
        }

        private void tableReady() {
            long oldClusters = table.length * 8L >>> layout.clusterBits;
            int entries = (int) ((long) tableClusters * layout.clusterBytes / 8);
            long[] larger = Arrays.copyOf(table, entries);
            int firstBlock = table.length;
            for (int i = 0; i < blocks; i++) {
                larger[firstBlock + i] = offset + ((long) i << layout.clusterBits);
                for (long at = 0; at < layout.clusterBytes; at += layout.sliceBytes) {
                    cache.forget(larger[firstBlock + i] + at);
                }
            }
            table = larger;
            dirtySectors = new boolean[sectors(entries)];
            anyDirtySector = false;
            moved = true;
            tables.refcountTableMoves(offset + ((long) blocks << layout.clusterBits), tableClusters, oldClusters);
            tables.usedUpTo(index + blocks + tableClusters);
        }
    }

    /** Puts copies of what must be written into buffers: {@code first} before {@code second}. */
    void beginCommit(CommitBuffer first, CommitBuffer second, long tableOffset) {
        cache.beginCommit(first);
        if (moved) {
            long start = first.reserve(tableOffset, table.length * 8, SliceCache.NONE);
            for (int i = 0; i < table.length; i++) {
                first.memory().set(Qcow2Layout.LONG, start + i * 8L, table[i]);
            }
            Arrays.fill(dirtySectors, false);
        } else if (anyDirtySector) {
            for (int sector = 0; sector < dirtySectors.length; sector++) {
                if (dirtySectors[sector]) {
                    dirtySectors[sector] = false;
                    long at = (long) sector * Qcow2Layout.SECTOR;
                    long start = second.reserve(tableOffset + at, Qcow2Layout.SECTOR, SliceCache.NONE);
                    for (int i = 0; i < ENTRIES_PER_SECTOR; i++) {
                        int entry = sector * ENTRIES_PER_SECTOR + i;
                        second.memory().set(Qcow2Layout.LONG, start + i * 8L, entry < table.length ? table[entry] : 0);
                    }
                }
            }
        }
        anyDirtySector = false;
    }

    boolean tableMoved() {
        return moved;
    }

    void endCommit(CommitBuffer first, CommitBuffer second, boolean hadMoved, boolean ok, long tableOffset) {
        for (int i = 0; i < first.count(); i++) {
            if (first.slot(i) != SliceCache.NONE) {
                cache.committed(first.slot(i), ok);
            }
        }
        if (ok) {
            if (hadMoved && tableOffset == tables.refcountTableOffset()) {
                moved = false;
            }
            return;
        }
        for (int i = 0; i < second.count(); i++) {
            long at = second.offset(i) - tableOffset;
            if (at >= 0 && at / Qcow2Layout.SECTOR < dirtySectors.length) {
                dirtySectors[(int) (at / Qcow2Layout.SECTOR)] = true;
                anyDirtySector = true;
            }
        }
    }

    /** Forgets cached counts of clusters that are not a block any more. */
    void forgetBlock(long offset) {
        for (long at = 0; at < layout.clusterBytes; at += layout.sliceBytes) {
            cache.forget(offset + at);
        }
    }
}
