package org.benchtop.block.qcow2;

import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.benchtop.block.BlockAccess;
import org.benchtop.block.ImageFile;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.image.Image;
import org.jspecify.annotations.Nullable;

/**
 * The tables of an open image in memory, and every decision about clusters.
 *
 * <p>One lock, this object's, guards all of it; it is held for look-ups and changes in memory only, never during I/O. Data
 * moves between the caller's buffers and the file in place. Tables reach the disk by {@link Commit}.
 */
final class Qcow2Tables {
    /** Answers of methods that may have to wait; all but the first two are negative. */
    static final int READY = 0;

    static final int ALLOCATED = 1;
    static final int WAIT = -1;
    static final int FAILED = -2;
    static final int FULL = -3;
    static final int NEEDS_DATA = -4;

    private static final System.Logger LOG = System.getLogger("org.benchtop.block.qcow2");
    private static final int MAX_SEGMENTS = 1024;
    private static final long MAX_TRANSFER_BYTES = 1 << 30;
    private static final int L1_PER_SECTOR = Qcow2Layout.SECTOR / 8;
    private static final int MAX_DIRTY_SLICES = 256;
    private static final long MAX_PENDING_FREES = 4096;
    private static final int MAX_RUN_CLUSTERS = 1 << 16;

    private final ImageFile file;
    private final @Nullable ImageFile dataFile;
    private final @Nullable Image backing;
    private final Qcow2Settings settings;
    private volatile BlockCapabilities capabilities;
    private final Qcow2Layout layout;
    private final Codec codec;
    private final SliceCache l2;
    private final SliceCache refcountCache;
    private final Refcounts refcounts;
    private final PendingFrees frees = new PendingFrees();
    private final Commit commit = new Commit(this);
    private final Qcow2Zeroes zeroes;
    private final List<Qcow2Queue> queues = new ArrayList<>();
    private final List<Allocation> allocations = new ArrayList<>();
    private final List<TableCreation> tableCreations = new ArrayList<>();
    private LongSet tables = new LongSet();
    private Qcow2Header header;
    private long[] l1 = new long[0];
    private boolean[] l1DirtySectors = new boolean[0];
    private boolean l1Dirty;
    private boolean headerDirty;
    private boolean brokenTables;
    private boolean closing;
    private long generation = 2;
    private long freshFrom;
    private long compressedTail;
    private volatile long compressedEpoch;
    private volatile long backingBytes;
    private @Nullable Allocation lastAllocation;

    Qcow2Tables(
            ImageFile file,
            @Nullable ImageFile dataFile,
            @Nullable Image backing,
            Qcow2Header header,
            Qcow2Settings settings) {
        this.file = file;
        this.dataFile = dataFile;
        this.backing = backing;
        this.settings = settings;
        this.header = header;
        this.layout = new Qcow2Layout(header);
        this.zeroes = new Qcow2Zeroes(this);
        this.codec = new Codec(header.compression);
        this.capabilities = capabilitiesNow();
        this.backingBytes = backing == null ? 0 : backing.capabilities().sizeBytes();
        long l2Needed = Math.max(1, header.l1EntriesFor(header.sizeBytes)) * layout.clusterBytes;
        this.l2 = new SliceCache(layout.sliceBytes, Math.min(l2Needed, settings.l2CacheBytes()));
        this.refcountCache = new SliceCache(layout.sliceBytes, settings.refcountCacheBytes());
        this.refcounts = new Refcounts(this, layout, refcountCache);
        try (BlockAccess access = new BlockAccess(file.path().toString(), file.backend())) {
            loadTables(access);
        } catch (RuntimeException e) {
            closeMemory();
            throw e;
        }
    }

    private BlockCapabilities capabilitiesNow() {
        BlockCapabilities below = file.backend().capabilities();
        return new BlockCapabilities(
                header.sizeBytes + 511 & -512,
                512,
                Math.max(512, below.physicalBlockSizeBytes()),
                !settings.writable(),
                settings.writable() && settings.unmap() && dataFile == null,
                true,
                below.cacheMode(),
                Math.min(MAX_SEGMENTS, below.maxSegments() - 24),
                Math.min(MAX_TRANSFER_BYTES, below.maxTransferBytes()));
    }

    /** Reads the L1 and the refcount table; sizes have been checked against the header's limits. */
    private void loadTables(BlockAccess access) {
        long stored = file.storedBytes();
        l1 = readTable(access, "L1 table", header.l1Offset, header.l1Entries, stored);
        l1DirtySectors = new boolean[(l1.length + L1_PER_SECTOR - 1) / L1_PER_SECTOR];
        l1Dirty = false;
        long refcountEntries = (long) header.refcountTableClusters << layout.clusterBits - 3;
        refcounts.reset(readTable(access, "refcount table", header.refcountTableOffset, (int) refcountEntries, stored));
        freshFrom = file.grows() && dataFile == null ? layout.roundUpToCluster(stored) : Long.MAX_VALUE;
        compressedTail = 0;
        l2.clear();
        frees.clear();
        tables = new LongSet();
        if (settings.writable()) {
            collectTables();
        }
    }

    private long[] readTable(BlockAccess access, String what, long offset, int entries, long stored) {
        long bytes = (long) entries * 8;
        if (offset > stored || bytes > stored - offset + layout.clusterBytes) {
            throw Qcow2Header.image(
                    file.path(),
                    what + " at " + offset + "+" + bytes + " reaches beyond the file's " + stored
                            + " bytes: the image is truncated");
        }
        long[] table = new long[entries];
        if (entries == 0) {
            return table;
        }
        try (Arena arena = Arena.ofConfined()) {
            int chunk = (int) Math.min(bytes + 511 & -512, 1 << 20);
            MemorySegment buffer = arena.allocate(chunk, 4096);
            for (long at = 0; at < bytes; at += chunk) {
                int length = (int) Math.min(chunk, bytes + 511 - at & -512);
                access.read(offset + at, buffer.asSlice(0, length));
                for (int i = 0; i < length / 8 && at / 8 + i < entries; i++) {
                    table[(int) (at / 8) + i] = buffer.get(Qcow2Layout.LONG, i * 8L);
                }
            }
        }
        return table;
    }

    /** Remembers where tables are, so that no data is ever written over one. */
    private void collectTables() {
        tables.add(0);
        addRange(header.l1Offset, (long) header.l1Entries * 8);
        addRange(header.refcountTableOffset, (long) header.refcountTableClusters << layout.clusterBits);
        if (header.snapshotCount > 0) {
            addRange(header.snapshotsOffset, 1);
        }
        for (long entry : refcounts.table()) {
            addUnique(entry & ~Qcow2Layout.REFCOUNT_TABLE_RESERVED);
        }
        for (long entry : l1) {
            addUnique(entry & Qcow2Layout.OFFSET_MASK);
        }
    }

    private void addRange(long offset, long bytes) {
        for (long at = 0; at < bytes; at += layout.clusterBytes) {
            addUnique(offset + at);
        }
    }

    private void addTable(long offset, long bytes) {
        for (long at = 0; at < bytes; at += layout.clusterBytes) {
            tables.add(layout.clusterOf(offset + at));
        }
    }

    /** Two tables in one cluster are a fault that makes every change to one of them destroy the other. */
    private void addUnique(long offset) {
        if (offset != 0 && !tables.add(layout.clusterOf(offset))) {
            brokenTables = true;
        }
    }

    boolean overlappingTables() {
        return brokenTables;
    }

    ImageFile file() {
        return file;
    }

    @Nullable
    ImageFile dataFile() {
        return dataFile;
    }

    @Nullable
    BlockBackend backingBackend() {
        return backing;
    }

    Qcow2Layout layout() {
        return layout;
    }

    Qcow2Header header() {
        return header;
    }

    SliceCache l2() {
        return l2;
    }

    Qcow2Zeroes zeroes() {
        return zeroes;
    }

    Codec codec() {
        return codec;
    }

    PendingFrees frees() {
        return frees;
    }

    /**
     * The memory that tables and buffers of this image and of the qcow2 images below it take now. Any thread; buffers of
     * queues are those of a moment ago.
     */
    long memoryBytes() {
        long below = backing instanceof Qcow2Image image ? image.memoryBytes() : 0;
        synchronized (this) {
            long buffers = 0;
            for (Qcow2Queue queue : queues) {
                buffers += queue.memoryBytes();
            }
            return l2.memoryBytes()
                    + refcountCache.memoryBytes()
                    + commit.memoryBytes()
                    + tables.memoryBytes()
                    + (l1.length + refcounts.table().length) * 8L
                    + buffers
                    + below;
        }
    }

    /** Where what is below ends; 0 without anything below. */
    long backingBytes() {
        return backingBytes;
    }

    long compressedEpoch() {
        return compressedEpoch;
    }

    long generation() {
        return generation;
    }

    long refcountTableOffset() {
        return header.refcountTableOffset;
    }

    boolean flushesBetween() {
        return file.backend().capabilities().cacheMode().writeCache();
    }

    /** Whether zeroes have to be written, because entries cannot say it. */
    boolean zeroesNeedData() {
        return dataFile != null || header.version < 3 && backing != null;
    }

    long maxClusters() {
        return Math.min(file.backend().capabilities().sizeBytes(), 1L << 56) >>> layout.clusterBits;
    }

    MemorySegment scratch(long bytes) {
        return Arena.ofAuto().allocate(bytes, 4096);
    }

    // Look-ups. All under the lock.

    /** The slot of a table part that is in memory; otherwise the task goes on when it is. */
    int slice(SliceCache cache, long key, Task task) {
        int slot = cache.find(key);
        if (slot != SliceCache.NONE) {
            if (cache.ready(slot)) {
                return slot;
            }
            cache.waiters(slot).add(task);
            return WAIT;
        }
        slot = cache.claim(key);
        if (slot == SliceCache.NONE) {
            return waitForRoom(task);
        }
        cache.waiters(slot).add(task);
        task.queue.later(new Load(task.queue, cache, slot));
        return WAIT;
    }

    /** The task goes on when the caches have room again. */
    int waitForRoom(Task task) {
        commit.joinAny(task);
        return WAIT;
    }

    private final class Load extends Task implements org.benchtop.spi.block.BlockCompletion {
        private final SliceCache cache;
        private final int slot;
        private final BlockRequest.Read read = new BlockRequest.Read();

        Load(Qcow2Queue queue, SliceCache cache, int slot) {
            super(queue);
            this.cache = cache;
            this.slot = slot;
        }

        @Override
        void run() {
            read.buffer().add(cache.memory(slot), cache.base(slot), cache.sliceBytes());
            queue.submitFile(read.at(cache.key(slot)), this);
        }

        @Override
        public void completed(BlockRequest request, BlockStatus status) {
            synchronized (Qcow2Tables.this) {
                if (status == BlockStatus.OK) {
                    cache.loaded(slot);
                } else {
                    cache.loadFailed(slot);
                }
                cache.waiters(slot).wake(queue, status == BlockStatus.OK ? status : BlockStatus.IO_ERROR);
            }
            queue.finishHandler();
        }
    }

    /**
     * Where the bytes of a range are in the data area, if they are data within one unit whose table is in memory; -1 if
     * that takes more to find out.
     */
    long dataAt(long at, long length) {
        long table = l1[layout.l1Index(at)] & Qcow2Layout.OFFSET_MASK;
        long unitBytes = layout.unitBytes();
        if (table == 0 || !layout.aligned(table) || (at & unitBytes - 1) + length > unitBytes) {
            return -1;
        }
        long entryAt = table + (long) layout.l2Index(at) * layout.l2EntryBytes;
        long key = entryAt & -layout.sliceBytes;
        int slot = l2.find(key);
        if (slot == SliceCache.NONE || !l2.ready(slot)) {
            return -1;
        }
        MemorySegment memory = l2.memory(slot);
        long base = l2.base(slot) + (entryAt - key);
        long entry = memory.get(Qcow2Layout.LONG, base);
        long bitmap = layout.extended ? memory.get(Qcow2Layout.LONG, base + 8) : 0;
        int unit = layout.extended ? (int) (layout.inCluster(at) >>> layout.unitBits) : 0;
        return layout.kind(entry, bitmap, unit) == Qcow2Layout.Kind.DATA
                ? (entry & Qcow2Layout.OFFSET_MASK) + layout.inCluster(at)
                : -1;
    }

    /** What the bytes at a position are. */
    int map(long at, long length, Mapping out, Task task) {
        int l1Index = layout.l1Index(at);
        long l1Entry = l1[l1Index];
        long table = l1Entry & Qcow2Layout.OFFSET_MASK;
        int spanBits = layout.clusterBits + layout.l2Bits;
        if (table == 0) {
            out.kind = Qcow2Layout.Kind.UNALLOCATED;
            out.length = Math.min(length, (l1Index + 1L << spanBits) - at);
            out.entry = 0;
            out.bitmap = 0;
            out.copied = false;
            return READY;
        }
        if (!layout.aligned(table)) {
            foundCorruption(
                    "L2 table at " + table + " (L1 entry " + l1Index + ") is not at a cluster's start", task.queue);
            return FAILED;
        }
        int entryBytes = layout.l2EntryBytes;
        long entryAt = table + (long) layout.l2Index(at) * entryBytes;
        long key = entryAt & -layout.sliceBytes;
        int slot = slice(l2, key, task);
        if (slot < 0) {
            return slot;
        }
        MemorySegment memory = l2.memory(slot);
        long base = l2.base(slot) + (entryAt - key);
        int left = (int) ((key + layout.sliceBytes - entryAt) / entryBytes);
        boolean extended = layout.extended;
        long entry = memory.get(Qcow2Layout.LONG, base);
        long bitmap = extended ? memory.get(Qcow2Layout.LONG, base + 8) : 0;
        int unit = extended ? (int) (layout.inCluster(at) >>> layout.unitBits) : 0;
        Qcow2Layout.Kind kind = layout.kind(entry, bitmap, unit);
        if (kind == Qcow2Layout.Kind.INVALID) {
            foundCorruption(
                    "L2 entry 0x" + Long.toHexString(entry) + " at " + entryAt + " for offset " + at + " is not valid",
                    task.queue);
            return FAILED;
        }
        out.kind = kind;
        out.entry = entry;
        out.bitmap = bitmap;
        out.copied = (entry & Qcow2Layout.COPIED) != 0 && layout.hasCluster(entry);
        out.host = (entry & Qcow2Layout.OFFSET_MASK) + layout.inCluster(at);
        long unitBytes = layout.unitBytes();
        long end = (at & -unitBytes) + unitBytes;
        long limit = at + length;
        long currentEntry = entry;
        long currentBitmap = bitmap;
        int index = 0;
        while (end < limit) {
            if (++unit == layout.unitsPerCluster) {
                unit = 0;
                if (++index == left || kind == Qcow2Layout.Kind.COMPRESSED) {
                    break;
                }
                currentEntry = memory.get(Qcow2Layout.LONG, base + (long) index * entryBytes);
                currentBitmap = extended ? memory.get(Qcow2Layout.LONG, base + (long) index * entryBytes + 8) : 0;
                if (kind == Qcow2Layout.Kind.DATA
                        && ((currentEntry & Qcow2Layout.OFFSET_MASK)
                                        != (entry & Qcow2Layout.OFFSET_MASK) + index * layout.clusterBytes
                                || ((currentEntry ^ entry) & Qcow2Layout.COPIED) != 0)) {
                    break;
                }
            }
            if (layout.kind(currentEntry, currentBitmap, unit) != kind) {
                break;
            }
            end += unitBytes;
        }
        out.length = Math.min(end, limit) - at;
        return READY;
    }

    @Nullable
    Allocation allocating(long firstCluster, long endCluster) {
        for (int i = 0; i < allocations.size(); i++) {
            Allocation other = allocations.get(i);
            if (other.firstCluster() < endCluster && firstCluster < other.firstCluster() + other.clusters()) {
                return other;
            }
        }
        return null;
    }

    /** Whether a write to the cluster at a position is under way. */
    boolean allocating(long at) {
        long cluster = layout.clusterOf(at);
        return allocating(cluster, cluster + 1) != null;
    }

    // Writing. All under the lock.

    /**
     * Where the bytes at a position can be written: {@link #READY} if in place, {@link #ALLOCATED} if {@link
     * #lastAllocation} has to be carried out.
     */
    int mapWrite(long at, long end, Mapping out, Qcow2Job job) {
        if (header.corrupt()) {
            return FAILED;
        }
        int result = map(at, end - at, out, job);
        if (result != READY) {
            return result;
        }
        if (out.kind == Qcow2Layout.Kind.DATA && out.copied) {
            if (dataFile == null && touchesTable(out.host, out.length)) {
                foundCorruption("data of offset " + at + " is in a metadata cluster at " + out.host, job.queue);
                return FAILED;
            }
            return READY;
        }
        long cluster = layout.clusterOf(at);
        Allocation busy = allocating(cluster, cluster + 1);
        if (busy != null) {
            busy.waiters().add(job);
            return WAIT;
        }
        int l1Index = layout.l1Index(at);
        result = ownTable(l1Index, job);
        if (result != READY) {
            return result;
        }
        long table = l1[l1Index] & Qcow2Layout.OFFSET_MASK;
        long entryAt = table + (long) layout.l2Index(at) * layout.l2EntryBytes;
        long key = entryAt & -layout.sliceBytes;
        int slot = slice(l2, key, job);
        if (slot < 0) {
            return slot;
        }
        MemorySegment memory = l2.memory(slot);
        long base = l2.base(slot) + (entryAt - key);
        int left = (int) ((key + layout.sliceBytes - entryAt) / layout.l2EntryBytes);
        long first = memory.get(Qcow2Layout.LONG, base);
        boolean fill = layout.hasCluster(first) && (first & Qcow2Layout.COPIED) != 0;
        int count = 1;
        long host = first & Qcow2Layout.OFFSET_MASK;
        if (!fill) {
            long wanted = Math.min(layout.clusterOf(end - 1) + 1 - cluster, Math.min(left, MAX_RUN_CLUSTERS));
            while (count < wanted) {
                long entry = memory.get(Qcow2Layout.LONG, base + (long) count * layout.l2EntryBytes);
                if (layout.hasCluster(entry) && (entry & Qcow2Layout.COPIED) != 0
                        || allocating(cluster + count, cluster + count + 1) != null) {
                    break;
                }
                count++;
            }
            if (dataFile != null) {
                host = layout.clusterStart(at);
            } else {
                long found = refcounts.allocate(count, job);
                if (found < 0) {
                    return (int) found;
                }
                count = refcounts.allocatedClusters();
                if (anyTable(found, count)) {
                    foundCorruption("a free cluster at " + (found << layout.clusterBits) + " is in use", job.queue);
                    return FAILED;
                }
                host = found << layout.clusterBits;
            }
        } else if (dataFile == null && touchesTable(host, layout.clusterBytes)) {
            foundCorruption("data of offset " + at + " is in a metadata cluster at " + host, job.queue);
            return FAILED;
        }
        boolean fresh = !fill && dataFile == null && takeFresh(host >>> layout.clusterBits, count);
        long writeEnd = Math.min(end, cluster + count << layout.clusterBits);
        Allocation allocation = job.queue.allocation().set(cluster, count, host, !fill, at, writeEnd);
        long lastBase = base + (long) (count - 1) * layout.l2EntryBytes;
        margins(allocation, at, writeEnd, fill, fresh, memory, base, lastBase);
        allocations.add(allocation);
        lastAllocation = allocation;
        return ALLOCATED;
    }

    Allocation lastAllocation() {
        Allocation last = lastAllocation;
        if (last == null) {
            throw new IllegalStateException("no allocation");
        }
        return last;
    }

    /** Decides what has to be copied around the written range. */
    private void margins(
            Allocation allocation,
            long from,
            long to,
            boolean fill,
            boolean fresh,
            MemorySegment memory,
            long firstBase,
            long lastBase) {
        long unit = layout.unitBytes();
        long first = memory.get(Qcow2Layout.LONG, firstBase);
        long firstBitmap = layout.extended ? memory.get(Qcow2Layout.LONG, firstBase + 8) : 0;
        long last = memory.get(Qcow2Layout.LONG, lastBase);
        long lastBitmap = layout.extended ? memory.get(Qcow2Layout.LONG, lastBase + 8) : 0;
        boolean wholeFirst = !fill && holdsData(first, firstBitmap);
        long headStart = wholeFirst ? layout.clusterStart(from) : from & -unit;
        int headUnit = (int) (layout.inCluster(from) >>> layout.unitBits);
        Qcow2Layout.Kind headKind = layout.kind(first, firstBitmap, layout.extended ? headUnit : 0);
        if (headStart < from && !(fill && headKind == Qcow2Layout.Kind.DATA)) {
            boolean zero = !wholeFirst && readsZero(headKind, headStart);
            if (!(zero && fresh)) {
                allocation.head(headStart, zero);
            }
        }
        boolean wholeLast = !fill && holdsData(last, lastBitmap);
        long tailEnd = wholeLast ? layout.roundUpToCluster(to) : to + unit - 1 & -unit;
        int tailUnit = (int) (layout.inCluster(to - 1) >>> layout.unitBits);
        Qcow2Layout.Kind tailKind = layout.kind(last, lastBitmap, layout.extended ? tailUnit : 0);
        if (tailEnd > to && !(fill && tailKind == Qcow2Layout.Kind.DATA)) {
            boolean zero = !wholeLast && readsZero(tailKind, to);
            if (!(zero && fresh)) {
                allocation.tail(tailEnd, zero);
            }
        }
    }

    /** Whether a cluster that is replaced has data that the new one must have too, beyond single units. */
    private boolean holdsData(long entry, long bitmap) {
        return (entry & Qcow2Layout.COMPRESSED) != 0
                || layout.extended && layout.hasCluster(entry) && (bitmap & 0xffffffffL) != 0
                || !layout.extended && layout.hasCluster(entry) && (entry & Qcow2Layout.ZERO) == 0;
    }

    private boolean readsZero(Qcow2Layout.Kind kind, long from) {
        return kind == Qcow2Layout.Kind.ZERO || kind == Qcow2Layout.Kind.UNALLOCATED && from >= backingBytes;
    }

    private boolean touchesTable(long host, long length) {
        long end = layout.clusterOf(host + length - 1) + 1;
        return anyTable(layout.clusterOf(host), end - layout.clusterOf(host));
    }

    private boolean anyTable(long cluster, long count) {
        for (long i = 0; i < count; i++) {
            if (tables.contains(cluster + i)) {
                return true;
            }
        }
        return false;
    }

    /** Whether clusters were never written, so that they read as zeroes; they are not fresh any more afterwards. */
    boolean takeFresh(long cluster, long count) {
        long start = cluster << layout.clusterBits;
        boolean fresh = start >= freshFrom;
        usedUpTo(cluster + count);
        return fresh;
    }

    void usedUpTo(long cluster) {
        if (freshFrom != Long.MAX_VALUE) {
            freshFrom = Math.max(freshFrom, cluster << layout.clusterBits);
        }
    }

    /** Makes sure that there is an L2 table and that it belongs to the present state only. */
    int ownTable(int l1Index, Task task) {
        long entry = l1[l1Index];
        long old = entry & Qcow2Layout.OFFSET_MASK;
        if (old != 0 && (entry & Qcow2Layout.COPIED) != 0) {
            return READY;
        }
        TableCreation underWay = tableCreation(l1Index);
        if (underWay != null) {
            underWay.waiters.add(task);
            return WAIT;
        }
        long found = refcounts.allocate(1, task);
        if (found < 0) {
            return (int) found;
        }
        if (anyTable(found, 1)) {
            foundCorruption("a free cluster at " + (found << layout.clusterBits) + " is in use", task.queue);
            return FAILED;
        }
        long offset = found << layout.clusterBits;
        boolean fresh = takeFresh(found, 1);
        if (old == 0 && fresh) {
            tableReady(l1Index, 0, offset);
            return READY;
        }
        TableCreation creation = new TableCreation(task.queue, l1Index, old, offset);
        tableCreations.add(creation);
        creation.waiters.add(task);
        task.queue.later(creation);
        return WAIT;
    }

    private void tableReady(int l1Index, long old, long offset) {
        for (long at = 0; at < layout.clusterBytes; at += layout.sliceBytes) {
            l2.forget(offset + at);
        }
        l1[l1Index] = offset | Qcow2Layout.COPIED;
        l1DirtySectors[l1Index / L1_PER_SECTOR] = true;
        l1Dirty = true;
        tables.add(layout.clusterOf(offset));
        if (old != 0) {
            frees.add(layout.clusterOf(old), 1, generation);
        }
    }

    /** Writes a new L2 table, empty or the copy of a shared one, before the L1 table refers to it. */
    private final class TableCreation extends Task {
        private final Fifo waiters = new Fifo();
        private final int l1Index;
        private final long old;
        private final long offset;
        private @Nullable MemorySegment content;

        TableCreation(Qcow2Queue queue, int l1Index, long old, long offset) {
            super(queue);
            this.l1Index = l1Index;
            this.old = old;
            this.offset = offset;
        }

        @Override
        void run() {
            if (old == 0) {
                queue.zeroFile(offset, layout.clusterBytes, this::written);
                return;
            }
            MemorySegment buffer = queue.borrowBuffer(this);
            if (buffer == null) {
                return;
            }
            content = buffer;
            MemorySegment copy = buffer.asSlice(0, layout.clusterBytes);
            queue.readFile(old, copy, status -> {
                if (status == BlockStatus.OK) {
                    queue.writeFile(offset, copy, this::written);
                } else {
                    written(status);
                }
            });
        }

        private void written(BlockStatus status) {
            MemorySegment buffer = content;
            if (buffer != null) {
                queue.returnBuffer(buffer);
            }
            synchronized (Qcow2Tables.this) {
                tableCreations.remove(this);
                if (status == BlockStatus.OK) {
                    tableReady(l1Index, old, offset);
                } else {
                    frees.add(layout.clusterOf(offset), 1, generation);
                }
                waiters.wake(queue, status);
            }
        }
    }

    /** Lets the L2 table refer to clusters that are filled. */
    int link(Allocation allocation) {
        long at = allocation.firstCluster() << layout.clusterBits;
        long table = l1[layout.l1Index(at)] & Qcow2Layout.OFFSET_MASK;
        long entryAt = table + (long) layout.l2Index(at) * layout.l2EntryBytes;
        long key = entryAt & -layout.sliceBytes;
        int slot = slice(l2, key, allocation);
        if (slot < 0) {
            return slot;
        }
        MemorySegment memory = l2.memory(slot);
        long base = l2.base(slot) + (entryAt - key);
        for (int i = 0; i < allocation.clusters(); i++) {
            long old = memory.get(Qcow2Layout.LONG, base);
            if (allocation.newCluster()) {
                unlink(old);
            }
            if (allocation.compressedEntry() != 0) {
                memory.set(Qcow2Layout.LONG, base, allocation.compressedEntry());
                if (layout.extended) {
                    memory.set(Qcow2Layout.LONG, base + 8, 0L);
                }
            } else {
                long host = allocation.host() + i * layout.clusterBytes;
                memory.set(Qcow2Layout.LONG, base, host | Qcow2Layout.COPIED);
                if (layout.extended) {
                    linkUnits(allocation, memory, base, at + i * layout.clusterBytes);
                }
            }
            base += layout.l2EntryBytes;
        }
        l2.markDirty(slot);
        return READY;
    }

    private void linkUnits(Allocation allocation, MemorySegment memory, long base, long clusterStart) {
        long from = Math.max(allocation.copyStart(), clusterStart) - clusterStart;
        long to = Math.min(allocation.copyEnd(), clusterStart + layout.clusterBytes) - clusterStart;
        int first = (int) (from >>> layout.unitBits);
        int last = (int) (to - 1 >>> layout.unitBits);
        long units = (1L << last - first + 1) - 1 << first;
        long bitmap = memory.get(Qcow2Layout.LONG, base + 8);
        memory.set(Qcow2Layout.LONG, base + 8, (bitmap | units) & ~(units << 32));
    }

    /** A reference to what an entry names goes away. */
    void unlink(long entry) {
        if ((entry & Qcow2Layout.COMPRESSED) != 0) {
            long offset = layout.compressedOffset(entry);
            long first = layout.clusterOf(offset);
            long last = layout.clusterOf(offset + layout.compressedBytes(entry) - 1);
            compressedEpoch++;
            for (long cluster = first; cluster <= last; cluster++) {
                frees.add(cluster, 1, generation);
            }
        } else if (layout.hasCluster(entry) && dataFile == null) {
            frees.add(layout.clusterOf(entry & Qcow2Layout.OFFSET_MASK), 1, generation);
        }
    }

    void endAllocation(Allocation allocation, boolean ok) {
        allocations.remove(allocation);
        if (!ok && allocation.newCluster() && dataFile == null && allocation.host() != 0) {
            long first = layout.clusterOf(allocation.host());
            long last = layout.clusterOf(allocation.host() + allocation.hostBytes() - 1);
            for (long cluster = first; cluster <= last; cluster++) {
                frees.add(cluster, 1, generation);
            }
        }
        allocation.waiters().wake(allocation.queue, BlockStatus.OK);
    }

    // Compressed writes. All under the lock.

    /** Whether a write of a range starts with a cluster that shall be compressed. */
    boolean compresses(long at, long end) {
        return settings.compress()
                && layout.inCluster(at) == 0
                && (end - at >= layout.clusterBytes || end == capabilities.sizeBytes());
    }

    /** Reserves a cluster of the disk for compressed data. */
    int beginCompressed(long at, Qcow2Job job) {
        if (header.corrupt()) {
            return FAILED;
        }
        long cluster = layout.clusterOf(at);
        Allocation busy = allocating(cluster, cluster + 1);
        if (busy != null) {
            busy.waiters().add(job);
            return WAIT;
        }
        int result = ownTable(layout.l1Index(at), job);
        if (result != READY) {
            return result;
        }
        Allocation allocation = job.queue
                .allocation()
                .setCompressed(cluster, at, Math.min(at + layout.clusterBytes, capabilities.sizeBytes()));
        allocations.add(allocation);
        lastAllocation = allocation;
        return ALLOCATED;
    }

    /** Room for compressed data, behind the last one where it fits. */
    long placeCompressed(int bytes, Task task) {
        if (compressedTail != 0 && layout.inCluster(compressedTail) + bytes <= layout.clusterBytes) {
            long cluster = layout.clusterOf(compressedTail);
            long count = refcounts.get(cluster, task);
            if (count < 0) {
                return count;
            }
            if (count < layout.maxRefcount && count > 0) {
                refcounts.set(cluster, count + 1);
                return tailTaken(compressedTail, bytes);
            }
        }
        long found = refcounts.allocate(1, task);
        if (found < 0) {
            return found;
        }
        takeFresh(found, 1);
        return tailTaken(found << layout.clusterBits, bytes);
    }

    private long tailTaken(long offset, int bytes) {
        compressedTail = layout.inCluster(offset) + bytes == layout.clusterBytes ? 0 : offset + bytes;
        return offset;
    }

    /** A cluster for data that could not be compressed. */
    long placeCluster(long forCluster, Task task) {
        long found = refcounts.allocate(1, task);
        if (found < 0) {
            return found;
        }
        takeFresh(found, 1);
        return found << layout.clusterBits;
    }

    private @Nullable TableCreation tableCreation(int l1Index) {
        for (int i = 0; i < tableCreations.size(); i++) {
            if (tableCreations.get(i).l1Index == l1Index) {
                return tableCreations.get(i);
            }
        }
        return null;
    }

    /** Whether an L2 table is being made. */
    boolean creatingTable(int l1Index) {
        return tableCreation(l1Index) != null;
    }

    /** Where an L2 table is; 0 if there is none. */
    long l2TableOffset(int l1Index) {
        return l1[l1Index] & Qcow2Layout.OFFSET_MASK;
    }

    // Making changes durable.

    synchronized boolean dirty() {
        return l2.dirtyCount() > 0
                || l1Dirty
                || headerDirty
                || refcounts.dirty() && (closing || !header.lazyRefcounts())
                || frees.mark() > 0;
    }

    /**
     * What has to happen at the end of a request: true if the job waits for it.
     *
     * @param flush whether this is a flush
     * @param durable whether the request's own changes must be durable
     * @param changed whether it may have changed something
     */
    boolean flushIfNeeded(Qcow2Job job, boolean flush, boolean durable, boolean changed) {
        if (!settings.writable() || !changed && !headerDirty) {
            return false;
        }
        boolean pressure = l2.dirtyCount() >= MAX_DIRTY_SLICES
                || refcounts.dirtySlices() >= MAX_DIRTY_SLICES
                || frees.total() >= MAX_PENDING_FREES;
        boolean unsynced = durable && (commit.running() || dirty() || flushesBetween() || flush);
        boolean written = !flushesBetween() && (commit.running() || dirty());
        if (flush || unsynced || written || headerDirty) {
            commit.join(job);
            return true;
        }
        if (pressure && !commit.running()) {
            commit.join(job);
            return true;
        }
        return false;
    }

    /** Copies what must be written; true if the refcount table has moved. */
    boolean beginCommit(
            CommitBuffer headerBuffer, CommitBuffer refcountBuffer, CommitBuffer tableBuffer, CommitBuffer mappings) {
        boolean lazy = header.lazyRefcounts() && !closing && header.version >= 3;
        if (lazy && !header.dirty() && (l2.dirtyCount() > 0 || l1Dirty)) {
            header.incompatible |= Qcow2Header.INCOMPATIBLE_DIRTY;
            headerDirty = true;
        }
        boolean moved = refcounts.tableMoved();
        if (headerDirty && !moved) {
            addHeader(headerBuffer);
        }
        if (!lazy || refcounts.dirtySlices() >= MAX_DIRTY_SLICES || moved) {
            refcounts.beginCommit(refcountBuffer, tableBuffer, header.refcountTableOffset);
            if (moved) {
                addHeader(tableBuffer);
            }
        }
        headerDirty = false;
        l2.beginCommit(mappings);
        if (l1Dirty) {
            for (int sector = 0; sector < l1DirtySectors.length; sector++) {
                if (l1DirtySectors[sector]) {
                    l1DirtySectors[sector] = false;
                    addL1Sector(mappings, sector);
                }
            }
            l1Dirty = false;
        }
        return moved;
    }

    private void addHeader(CommitBuffer buffer) {
        byte[] bytes = header.toBytes(file.path());
        buffer.add(0, MemorySegment.ofArray(bytes), 0, Qcow2Layout.SECTOR, SliceCache.NONE);
    }

    private void addL1Sector(CommitBuffer buffer, int sector) {
        long start = buffer.reserve(
                header.l1Offset + (long) sector * Qcow2Layout.SECTOR, Qcow2Layout.SECTOR, SliceCache.NONE);
        for (int i = 0; i < L1_PER_SECTOR; i++) {
            int index = sector * L1_PER_SECTOR + i;
            buffer.memory().set(Qcow2Layout.LONG, start + i * 8L, index < l1.length ? l1[index] : 0);
        }
    }

    void endCommit(
            CommitBuffer headerBuffer,
            CommitBuffer refcountBuffer,
            CommitBuffer tableBuffer,
            CommitBuffer mappings,
            boolean moved,
            long tableOffset,
            BlockStatus status) {
        boolean ok = status == BlockStatus.OK;
        refcounts.endCommit(refcountBuffer, tableBuffer, moved, ok, tableOffset);
        for (int i = 0; i < mappings.count(); i++) {
            if (mappings.slot(i) != SliceCache.NONE) {
                l2.committed(mappings.slot(i), ok);
            } else if (!ok) {
                l1DirtySectors[(int) ((mappings.offset(i) - header.l1Offset) / Qcow2Layout.SECTOR)] = true;
                l1Dirty = true;
            }
        }
        if (!ok && headerBuffer.count() > 0) {
            headerDirty = true;
        }
    }

    /** The refcount table is at another place from the next commit on. */
    void refcountTableMoves(long offset, int clusters, long oldClusters) {
        frees.add(layout.clusterOf(header.refcountTableOffset), (int) oldClusters, generation);
        header.refcountTableOffset = offset;
        header.refcountTableClusters = clusters;
        addTable(offset, (long) clusters << layout.clusterBits);
        for (long entry : refcounts.table()) {
            if (entry != 0) {
                tables.add(layout.clusterOf(entry));
            }
        }
    }

    /** The next entry of {@link #frees} that nothing uses any more, or -1. */
    int nextFree() {
        advance();
        advance();
        return frees.next(generation - 2);
    }

    /** A new generation may begin when all requests of the one before the present one have ended. */
    private void advance() {
        for (int i = 0; i < queues.size(); i++) {
            if (!queues.get(i).idle(generation - 1)) {
                return;
            }
        }
        generation++;
    }

    /**
     * Lowers the refcount of the first clusters of an entry of {@link #frees}.
     *
     * @return {@link #WAIT}, 0 if that is done, or the number of clusters whose space is given back before
     */
    int free(int index, Task task) {
        long cluster = frees.cluster(index);
        long count = refcounts.get(cluster, task);
        if (count == WAIT) {
            return WAIT;
        }
        if (count <= 0) {
            if (count == 0) {
                foundCorruption(
                        "refcount of the cluster at " + (cluster << layout.clusterBits) + " is too low", task.queue);
            }
            frees.done(index, 1);
            return 0;
        }
        if (count > 1) {
            refcounts.set(cluster, count - 1);
            frees.done(index, 1);
            return 0;
        }
        if (!settings.unmap() || !file.backend().capabilities().discard()) {
            refcounts.set(cluster, 0);
            frees.done(index, 1);
            return 0;
        }
        int run = 1;
        int perSlice = layout.sliceBytes * 8 >>> layout.refcountOrder;
        while (run < frees.count(index) && (cluster + run) % perSlice != 0 && refcounts.get(cluster + run, task) == 1) {
            run++;
        }
        return run;
    }

    void freeDone(int index, int count) {
        for (int i = 0; i < count; i++) {
            refcounts.set(frees.cluster(index) + i, 0);
        }
        frees.done(index, count);
    }

    /** Says so, once, in the header as well; nothing is written to the disk any more. */
    void foundCorruption(String what, Qcow2Queue queue) {
        if (header.corrupt()) {
            return;
        }
        LOG.log(
                Level.ERROR,
                "{0}: corrupt: {1}; writes are refused until \"benchtop image check --repair=all\" has repaired it",
                file.path(),
                what);
        header.incompatible |= Qcow2Header.INCOMPATIBLE_CORRUPT;
        headerDirty = settings.writable() && header.version >= 3;
    }

    // The life of an image.

    BlockCapabilities capabilities() {
        return capabilities;
    }

    Qcow2Settings settings() {
        return settings;
    }

    synchronized Qcow2Queue openQueue(EventLoop loop) {
        Qcow2Queue queue = new Qcow2Queue(this, loop);
        queues.add(queue);
        return queue;
    }

    void forget(Qcow2Queue queue) {
        queues.remove(queue);
    }

    /** From now on everything goes to the disk, also what lazy refcounts would keep; false if that is so already. */
    synchronized boolean beginClosing() {
        boolean first = !closing;
        closing = true;
        return first;
    }

    synchronized void endClosing() {
        closing = false;
    }

    /** Takes the dirty bit away; true if there was one, which then has to be written. */
    synchronized boolean takeDirtyBit() {
        if (!header.dirty() || header.corrupt()) {
            return false;
        }
        header.incompatible &= ~Qcow2Header.INCOMPATIBLE_DIRTY;
        headerDirty = true;
        return true;
    }

    /** Where clusters begin that were never used; {@link Long#MAX_VALUE} where that is not known. */
    synchronized long freshFrom() {
        return freshFrom;
    }

    /** The image was changed as a whole: everything is read again. */
    synchronized void reload(Qcow2Header changed, BlockAccess access) {
        header = changed;
        brokenTables = false;
        capabilities = capabilitiesNow();
        loadTables(access);
    }

    /** The number of queues that are open. */
    int openQueues() {
        return queues.size();
    }

    /** Clears the marks of features that do not know about the writes to come. */
    void startWriting() {
        long kept = header.autoclear & (header.hasDataFile() ? Qcow2Header.AUTOCLEAR_RAW_DATA_FILE : 0);
        if (kept != header.autoclear) {
            header.autoclear = kept;
            headerDirty = true;
        }
    }

    void closeMemory() {
        l2.close();
        refcountCache.close();
    }
}
