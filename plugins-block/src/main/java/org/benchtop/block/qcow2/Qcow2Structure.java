package org.benchtop.block.qcow2;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.benchtop.block.BlockAccess;
import org.benchtop.block.ImageFile;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.image.ImageBacking;

/**
 * The tables of an image that nobody else uses meanwhile, for changes of the image as a whole. Waits for the host.
 *
 * <p>Refcounts change in memory until {@link #writeRefcounts}. Every change is ordered so that the image is right
 * wherever it is cut off: counts go up before something refers to a cluster, and down after nothing does.
 */
final class Qcow2Structure {
    private final ImageFile file;
    private final BlockAccess access;
    private final Qcow2Header header;
    private final Qcow2Layout layout;
    private final boolean writable;
    private final Map<Long, Block> blocks = new HashMap<>();
    private long[] refcountTable;
    private boolean tableDirty;
    private boolean tableMoved;
    private long searchFrom = 1;

    private static final class Block {
        private final MemorySegment content;
        private boolean dirty;

        Block(MemorySegment content) {
            this.content = content;
        }
    }

    Qcow2Structure(ImageFile file, BlockAccess access, Qcow2Header header, boolean writable) {
        this.file = file;
        this.access = access;
        this.header = header;
        this.layout = new Qcow2Layout(header);
        this.writable = writable;
        this.refcountTable = readTable(
                header.refcountTableOffset, (int) ((long) header.refcountTableClusters << layout.clusterBits - 3));
    }

    Qcow2Header header() {
        return header;
    }

    Qcow2Layout layout() {
        return layout;
    }

    ImageFile file() {
        return file;
    }

    BlockAccess access() {
        return access;
    }

    boolean writable() {
        return writable;
    }

    long fileClusters() {
        return layout.roundUpToCluster(file.storedBytes()) >>> layout.clusterBits;
    }

    // Tables.

    MemorySegment newBuffer(long bytes) {
        return MemorySegment.ofBuffer(java.nio.ByteBuffer.allocateDirect((int) (bytes + 4095 & -512)))
                .asSlice(0, bytes + 511 & -512);
    }

    long[] readTable(long offset, int entries) {
        long[] table = new long[entries];
        if (entries == 0) {
            return table;
        }
        MemorySegment buffer = newBuffer(Math.min(1 << 20, entries * 8L));
        int perRound = (int) (buffer.byteSize() / 8);
        for (int at = 0; at < entries; at += perRound) {
            int count = Math.min(perRound, entries - at);
            access.read(offset + at * 8L, buffer.asSlice(0, count * 8L + 511 & -512));
            for (int i = 0; i < count; i++) {
                table[at + i] = buffer.get(Qcow2Layout.LONG, i * 8L);
            }
        }
        return table;
    }

    void writeTable(long offset, long[] table) {
        int perRound = 1 << 17;
        for (int at = 0; at < table.length; at += perRound) {
            int count = Math.min(perRound, table.length - at);
            MemorySegment buffer = newBuffer(count * 8L);
            for (int i = 0; i < count; i++) {
                buffer.set(Qcow2Layout.LONG, i * 8L, table[at + i]);
            }
            access.write(offset + at * 8L, buffer);
        }
    }

    /** An L2 table as its longs; with extended entries two of them make one. */
    long[] readL2(long offset) {
        return readTable(offset, (int) (layout.clusterBytes / 8));
    }

    /** The number of longs in an L2 entry. */
    int l2Stride() {
        return layout.l2EntryBytes / 8;
    }

    void flush() {
        access.flush();
    }

    /** Writes the whole header cluster. */
    void writeHeader() {
        byte[] bytes = header.toBytes(file.path());
        MemorySegment buffer = newBuffer(bytes.length);
        MemorySegment.copy(MemorySegment.ofArray(bytes), 0, buffer, 0, bytes.length);
        access.write(0, buffer);
    }

    /** Writes the header's first sector, which has all fixed fields, so that they change at once. */
    void writeHeaderFields() {
        byte[] bytes = header.toBytes(file.path());
        MemorySegment buffer = newBuffer(Qcow2Layout.SECTOR);
        MemorySegment.copy(MemorySegment.ofArray(bytes), 0, buffer, 0, Qcow2Layout.SECTOR);
        access.write(0, buffer);
    }

    // Refcounts.

    long[] refcountTable() {
        return refcountTable;
    }

    /** Whether a refcount table entry can be that of a block. */
    boolean validBlock(long entry) {
        return layout.aligned(entry) && layout.clusterOf(entry) < fileClusters() + 1;
    }

    private Block block(long index) {
        Block block = blocks.get(index);
        if (block == null) {
            MemorySegment content = newBuffer(layout.clusterBytes);
            long offset = index < refcountTable.length ? refcountTable[(int) index] : 0;
            if (offset != 0 && validBlock(offset)) {
                access.read(offset, content);
            }
            block = new Block(content);
            blocks.put(index, block);
        }
        return block;
    }

    long refcount(long cluster) {
        long index = cluster >>> layout.refcountBlockBits;
        if (index >= refcountTable.length || refcountTable[(int) index] == 0) {
            return 0;
        }
        return layout.refcount(block(index).content, 0, cluster & (1L << layout.refcountBlockBits) - 1);
    }

    void refcount(long cluster, long value) {
        if (value < 0 || value > layout.maxRefcount) {
            throw BenchtopException.of(
                    ErrorKind.IMAGE,
                    file.path() + ": refcount of the cluster at " + (cluster << layout.clusterBits) + " would become "
                            + value + "; allowed with " + (1 << layout.refcountOrder) + " refcount bits: 0 to "
                            + layout.maxRefcount);
        }
        long index = cluster >>> layout.refcountBlockBits;
        if (index >= refcountTable.length || refcountTable[(int) index] == 0) {
            if (value == 0) {
                return;
            }
            addBlock(index);
        }
        Block block = block(index);
        layout.refcount(block.content, 0, cluster & (1L << layout.refcountBlockBits) - 1, value);
        block.dirty = true;
        if (value == 0) {
            searchFrom = Math.min(searchFrom, cluster);
        }
    }

    /** A block that describes itself first: nothing has described its place so far, so it is free. */
    private void addBlock(long index) {
        if (index >= refcountTable.length) {
            growTable(index + 1);
        }
        if (refcountTable[(int) index] != 0) {
            return;
        }
        long first = index << layout.refcountBlockBits;
        blocks.remove(index);
        refcountTable[(int) index] = first << layout.clusterBits;
        tableDirty = true;
        Block block = new Block(newBuffer(layout.clusterBytes));
        layout.refcount(block.content, 0, 0, 1);
        block.dirty = true;
        blocks.put(index, block);
    }

    private void growTable(long needed) {
        int perCluster = (int) (layout.clusterBytes / 8);
        long entries = (needed * 3 / 2 + perCluster) / perCluster * perCluster;
        if (entries * 8 > Math.max(Qcow2Header.MAX_REFCOUNT_TABLE_BYTES, layout.clusterBytes)) {
            throw Qcow2Header.image(file.path(), "the refcount table would be longer than 8 MiB");
        }
        long oldFirst = layout.clusterOf(header.refcountTableOffset);
        int oldClusters = header.refcountTableClusters;
        long behind = (long) refcountTable.length << layout.refcountBlockBits;
        refcountTable = Arrays.copyOf(refcountTable, (int) entries);
        tableMoved = true;
        long clusters = entries / perCluster;
        long first = findFree(Math.max(behind, 1), clusters);
        for (long i = 0; i < clusters; i++) {
            refcount(first + i, 1);
        }
        header.refcountTableOffset = first << layout.clusterBits;
        header.refcountTableClusters = (int) clusters;
        for (int i = 0; i < oldClusters; i++) {
            pendingDecrements.add(oldFirst + i);
        }
    }

    private final List<Long> pendingDecrements = new ArrayList<>();

    /** The first of that many clusters in a row that are free; what has no block yet is, except the block's own place. */
    private long findFree(long from, long count) {
        long start = from;
        long run = 0;
        long cluster = from;
        long perBlock = 1L << layout.refcountBlockBits;
        while (run < count) {
            long index = cluster >>> layout.refcountBlockBits;
            boolean described = index < refcountTable.length && refcountTable[(int) index] != 0;
            boolean takenByBlock = !described && cluster % perBlock == 0;
            if (takenByBlock || described && refcount(cluster) != 0) {
                start = cluster + 1;
                run = 0;
            } else {
                run++;
            }
            cluster++;
        }
        return start;
    }

    /** Takes clusters in a row; returns the offset. */
    long allocate(long count) {
        long first = findFree(searchFrom, count);
        for (long i = 0; i < count; i++) {
            refcount(first + i, 1);
        }
        if (first == searchFrom) {
            searchFrom = first + count;
        }
        return first << layout.clusterBits;
    }

    /** One reference to each cluster of a range goes away. */
    void release(long offset, long count) {
        for (long i = 0; i < count; i++) {
            long cluster = layout.clusterOf(offset) + i;
            long now = refcount(cluster);
            if (now > 0) {
                refcount(cluster, now - 1);
            }
        }
    }

    /** Brings all counts to the disk: blocks, then the table, then the header if the table has moved. */
    void writeRefcounts() {
        boolean any = false;
        for (Map.Entry<Long, Block> entry : new TreeMap<>(blocks).entrySet()) {
            Block block = entry.getValue();
            if (block.dirty) {
                access.write(refcountTable[(int) (long) entry.getKey()], block.content);
                block.dirty = false;
                any = true;
            }
        }
        if (tableMoved || tableDirty) {
            flush();
            writeTable(header.refcountTableOffset, refcountTable);
        }
        if (tableMoved) {
            flush();
            writeHeaderFields();
        }
        if (any || tableDirty || tableMoved) {
            flush();
        }
        tableDirty = false;
        tableMoved = false;
        if (!pendingDecrements.isEmpty()) {
            List<Long> clusters = List.copyOf(pendingDecrements);
            pendingDecrements.clear();
            clusters.forEach(cluster -> release(cluster << layout.clusterBits, 1));
            writeRefcounts();
        }
    }

    /** Forgets the refcounts and starts with empty ones behind the end of the file. */
    void rebuildRefcounts(char[] references, long usedClusters) {
        blocks.clear();
        int perCluster = (int) (layout.clusterBytes / 8);
        long perBlock = 1L << layout.refcountBlockBits;
        long first = Math.max(usedClusters, fileClusters());
        long blockCount = 0;
        long tableClusters = 1;
        while (true) {
            long end = first + tableClusters + blockCount;
            long neededBlocks = (end + perBlock - 1) / perBlock;
            long neededTable = (neededBlocks + perCluster - 1) / perCluster;
            if (neededBlocks == blockCount && neededTable == tableClusters) {
                break;
            }
            blockCount = Math.max(blockCount, neededBlocks);
            tableClusters = Math.max(tableClusters, neededTable);
        }
        refcountTable = new long[(int) (tableClusters * perCluster)];
        for (int i = 0; i < blockCount; i++) {
            refcountTable[i] = first + tableClusters + i << layout.clusterBits;
        }
        header.refcountTableOffset = first << layout.clusterBits;
        header.refcountTableClusters = (int) tableClusters;
        for (long cluster = 0; cluster < first + tableClusters + blockCount; cluster++) {
            long count = cluster < references.length ? references[(int) cluster] : 0;
            if (cluster >= first) {
                count = 1;
            }
            Block block =
                    blocks.computeIfAbsent(cluster / perBlock, index -> new Block(newBuffer(layout.clusterBytes)));
            layout.refcount(block.content, 0, cluster % perBlock, Math.min(count, layout.maxRefcount));
            block.dirty = true;
        }
        tableMoved = true;
        writeRefcounts();
    }

    // References of a mapping.

    /** Told about the clusters that an L2 entry refers to. */
    @FunctionalInterface
    interface ClusterVisitor {
        void cluster(long index);
    }

    /** All clusters with data of an entry. */
    void clustersOf(long entry, ClusterVisitor visitor) {
        if ((entry & Qcow2Layout.COMPRESSED) != 0) {
            long offset = layout.compressedOffset(entry);
            long last = layout.clusterOf(offset + layout.compressedBytes(entry) - 1);
            for (long cluster = layout.clusterOf(offset); cluster <= last; cluster++) {
                visitor.cluster(cluster);
            }
        } else if (layout.hasCluster(entry) && !layout.dataFile) {
            visitor.cluster(layout.clusterOf(entry & Qcow2Layout.OFFSET_MASK));
        }
    }

    /** Changes the counts of everything that an L1 table refers to. */
    void addReferences(long[] l1, int change) {
        for (long l1Entry : l1) {
            long table = l1Entry & Qcow2Layout.OFFSET_MASK;
            if (table == 0) {
                continue;
            }
            checkTable(table);
            change(layout.clusterOf(table), change);
            long[] l2 = readL2(table);
            for (int i = 0; i < l2.length; i += l2Stride()) {
                clustersOf(l2[i], cluster -> change(cluster, change));
            }
        }
    }

    private void change(long cluster, int change) {
        long now = refcount(cluster);
        if (now == 0) {
            throw Qcow2Header.image(
                    file.path(),
                    "the cluster at " + (cluster << layout.clusterBits)
                            + " is used but not counted: repair it first (image check --repair)");
        }
        refcount(cluster, now + change);
    }

    private void checkTable(long table) {
        if (!layout.aligned(table) || layout.clusterOf(table) > fileClusters()) {
            throw Qcow2Header.image(
                    file.path(), "L2 table at " + table + " cannot be: repair it first (image check --repair)");
        }
    }

    /** Brings the flags "copied" of the present state in line with the refcounts. */
    void updateCopied() {
        long[] l1 = readTable(header.l1Offset, header.l1Entries);
        boolean l1Changed = false;
        for (int i = 0; i < l1.length; i++) {
            long table = l1[i] & Qcow2Layout.OFFSET_MASK;
            if (table == 0) {
                continue;
            }
            checkTable(table);
            long[] l2 = readL2(table);
            boolean changed = false;
            for (int j = 0; j < l2.length; j += l2Stride()) {
                long entry = l2[j];
                if ((entry & Qcow2Layout.COMPRESSED) != 0 || !layout.hasCluster(entry) || layout.dataFile) {
                    continue;
                }
                boolean alone = refcount(layout.clusterOf(entry & Qcow2Layout.OFFSET_MASK)) == 1;
                long wanted = alone ? entry | Qcow2Layout.COPIED : entry & ~Qcow2Layout.COPIED;
                changed |= wanted != entry;
                l2[j] = wanted;
            }
            if (changed) {
                writeTable(table, l2);
            }
            boolean alone = refcount(layout.clusterOf(table)) == 1;
            long wanted = alone ? l1[i] | Qcow2Layout.COPIED : l1[i] & ~Qcow2Layout.COPIED;
            l1Changed |= wanted != l1[i];
            l1[i] = wanted;
        }
        if (l1Changed) {
            writeTable(header.l1Offset, l1);
        }
    }

    // Whole changes.

    long l1Clusters(long entries) {
        return Math.max(1, (entries * 8 + layout.clusterBytes - 1) / layout.clusterBytes);
    }

    /** Writes a new L1 table beside the present one, which stays valid; returns its offset. */
    long newL1(long[] l1) {
        long offset = allocate(l1Clusters(l1.length));
        writeRefcounts();
        access.zero(offset, l1Clusters(l1.length) << layout.clusterBits, true);
        writeTable(offset, l1);
        flush();
        return offset;
    }

    void resize(long sizeBytes) {
        if (sizeBytes < header.sizeBytes && header.snapshotCount > 0) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED, file.path() + ": an image with snapshots cannot become smaller");
        }
        if (header.snapshotCount > 0 && header.version < 3) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED, file.path() + ": a version 2 image with snapshots cannot be resized");
        }
        long entries = header.l1EntriesFor(sizeBytes);
        if (entries > Qcow2Header.MAX_L1_BYTES / 8) {
            throw BenchtopException.config(file.path() + ": " + sizeBytes + " bytes are too much for clusters of "
                    + layout.clusterBytes + " bytes");
        }
        if (sizeBytes < header.sizeBytes) {
            cut(sizeBytes);
        } else if (entries > header.l1Entries) {
            long[] l1 = Arrays.copyOf(readTable(header.l1Offset, header.l1Entries), (int) entries);
            long old = header.l1Offset;
            long oldClusters = header.l1Entries == 0 ? 0 : l1Clusters(header.l1Entries);
            header.l1Offset = newL1(l1);
            header.l1Entries = (int) entries;
            header.sizeBytes = sizeBytes;
            writeHeaderFields();
            flush();
            release(old, old == 0 ? 0 : oldClusters);
            writeRefcounts();
            return;
        }
        header.sizeBytes = sizeBytes;
        writeHeaderFields();
        flush();
    }

    private void cut(long sizeBytes) {
        long[] l1 = readTable(header.l1Offset, header.l1Entries);
        long firstGone = layout.clusterOf(layout.roundUpToCluster(sizeBytes));
        List<Long> released = new ArrayList<>();
        for (int i = 0; i < l1.length; i++) {
            long table = l1[i] & Qcow2Layout.OFFSET_MASK;
            long firstCluster = (long) i << layout.l2Bits;
            if (table == 0 || firstCluster + (1L << layout.l2Bits) <= firstGone) {
                continue;
            }
            checkTable(table);
            long[] l2 = readL2(table);
            boolean all = firstCluster >= firstGone;
            boolean changed = false;
            for (int j = 0; j < l2.length; j += l2Stride()) {
                if (firstCluster + j / l2Stride() >= firstGone && (l2[j] != 0 || l2Stride() == 2 && l2[j + 1] != 0)) {
                    clustersOf(l2[j], released::add);
                    Arrays.fill(l2, j, j + l2Stride(), 0);
                    changed = true;
                }
            }
            if (all) {
                l1[i] = 0;
                released.add(layout.clusterOf(table));
            } else if (changed) {
                writeTable(table, l2);
            }
        }
        writeTable(header.l1Offset, l1);
        flush();
        for (long cluster : released) {
            release(cluster << layout.clusterBits, 1);
        }
        writeRefcounts();
    }

    void changeBacking(Optional<ImageBacking> backing) {
        if (header.rawDataFile() && backing.isPresent()) {
            throw BenchtopException.config(file.path() + ": its data file is raw, so it cannot have a backing file");
        }
        header.backingFile = backing.map(ImageBacking::file);
        header.backingFormat = backing.flatMap(ImageBacking::format);
        writeHeader();
        flush();
    }

    void makeEmpty() {
        long[] old = readTable(header.l1Offset, header.l1Entries);
        long oldOffset = header.l1Offset;
        header.l1Offset = newL1(new long[header.l1Entries]);
        writeHeaderFields();
        flush();
        addReferences(old, -1);
        release(oldOffset, l1Clusters(header.l1Entries));
        writeRefcounts();
    }
}
