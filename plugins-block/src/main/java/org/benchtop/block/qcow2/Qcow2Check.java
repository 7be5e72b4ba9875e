package org.benchtop.block.qcow2;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.image.ImageCheck;

/**
 * Follows every reference in an image, counts them, and compares that with the refcounts.
 *
 * <p>Memory: two bytes for each cluster of the file. Time: once over all tables.
 */
final class Qcow2Check {
    private static final int MAX_MESSAGES = 200;

    private final Qcow2Structure structure;
    private final Qcow2Header header;
    private final Qcow2Layout layout;
    private final ImageCheck.Repair repair;
    private final boolean repairAll;
    private final List<String> messages = new ArrayList<>();
    private final long fileClusters;
    private char[] references;
    private long usedClusters;
    private long corruptions;
    private long corruptionsFixed;
    private long leaks;
    private long leaksFixed;
    private long errors;
    private long allocated;
    private long fragmented;
    private long compressed;
    private boolean rebuild;
    private boolean tablesChanged;

    Qcow2Check(Qcow2Structure structure, ImageCheck.Repair repair) {
        this.structure = structure;
        this.header = structure.header();
        this.layout = structure.layout();
        this.repair = repair;
        this.repairAll = repair == ImageCheck.Repair.ALL;
        this.fileClusters = structure.fileClusters();
        if (fileClusters > Integer.MAX_VALUE - 64) {
            throw Qcow2Header.image(
                    structure.file().path(),
                    "a file of " + structure.file().storedBytes() + " bytes is too large to check");
        }
        this.references = new char[(int) fileClusters + 1];
    }

    ImageCheck run() {
        countRange("header", 0, 1);
        countRange("L1 table", header.l1Offset, header.l1Entries * 8L);
        long[] l1 = structure.readTable(header.l1Offset, header.l1Entries);
        if (countMapping("", l1, true)) {
            structure.writeTable(header.l1Offset, l1);
            tablesChanged = true;
        }
        countSnapshots();
        countBitmaps();
        countRefcountStructures();
        compare();
        if (!rebuild) {
            checkCopied();
        }
        finish();
        long total = layout.roundUpToCluster(header.sizeBytes) >>> layout.clusterBits;
        return new ImageCheck(
                corruptions,
                corruptionsFixed,
                leaks,
                leaksFixed,
                errors,
                total,
                allocated,
                fragmented,
                compressed,
                usedClusters << layout.clusterBits,
                messages);
    }

    private void say(String message) {
        if (messages.size() < MAX_MESSAGES) {
            messages.add(message);
        } else if (messages.size() == MAX_MESSAGES) {
            messages.add("more findings are not listed");
        }
    }

    private void corruption(String message, boolean fixed) {
        corruptions++;
        if (fixed) {
            corruptionsFixed++;
        }
        say((fixed ? "Repaired: " : "ERROR: ") + message);
    }

    /** Counts one reference; false if there cannot be such a cluster. */
    private boolean count(long cluster) {
        if (cluster < 0 || cluster >= references.length) {
            return false;
        }
        if (references[(int) cluster] < Character.MAX_VALUE) {
            references[(int) cluster]++;
        }
        usedClusters = Math.max(usedClusters, cluster + 1);
        return true;
    }

    private void countRange(String what, long offset, long bytes) {
        for (long at = 0; at < bytes; at += layout.clusterBytes) {
            if (!count(layout.clusterOf(offset + at))) {
                corruption(what + " at " + offset + " reaches beyond the end of the file", false);
                return;
            }
        }
    }

    /** Follows an L1 table; true if entries of it were repaired. */
    private boolean countMapping(String of, long[] l1, boolean active) {
        boolean l1Changed = false;
        long expected = -1;
        for (int i = 0; i < l1.length; i++) {
            long entry = l1[i];
            if (entry == 0) {
                continue;
            }
            long table = entry & Qcow2Layout.OFFSET_MASK;
            boolean valid = (entry & Qcow2Layout.L1_RESERVED) == 0
                    && layout.aligned(table)
                    && layout.clusterOf(table) < fileClusters;
            if (!valid || table == 0) {
                boolean fix = repairAll && active;
                corruption(
                        "L1 entry " + i + of + " 0x" + Long.toHexString(entry) + " is not valid"
                                + (fix ? "; its range reads as unallocated now" : ""),
                        fix);
                if (fix) {
                    l1[i] = 0;
                    l1Changed = true;
                }
                continue;
            }
            count(layout.clusterOf(table));
            expected = countL2(of, table, (long) i << layout.l2Bits, active, expected);
        }
        return l1Changed;
    }

    private long countL2(String of, long table, long firstCluster, boolean active, long expectedHost) {
        long expected = expectedHost;
        long[] l2 = structure.readL2(table);
        int stride = structure.l2Stride();
        boolean changed = false;
        for (int j = 0; j < l2.length; j += stride) {
            long entry = l2[j];
            long bitmap = stride == 2 ? l2[j + 1] : 0;
            if (entry == 0 && bitmap == 0) {
                continue;
            }
            String fault = fault(entry, bitmap);
            if (fault != null) {
                boolean fix = repairAll;
                corruption(
                        "L2 entry of cluster " + (firstCluster + j / stride) + of + " 0x" + Long.toHexString(entry)
                                + " " + fault + (fix ? "; it reads as zeroes now" : ""),
                        fix);
                if (fix) {
                    l2[j] = stride == 1 && header.version >= 3 ? Qcow2Layout.ZERO : 0;
                    if (stride == 2) {
                        l2[j + 1] = -1L << 32;
                    }
                    changed = true;
                }
                continue;
            }
            structure.clustersOf(entry, this::count);
            if ((entry & Qcow2Layout.COMPRESSED) != 0) {
                if (active) {
                    allocated++;
                    compressed++;
                    fragmented++;
                }
            } else if (layout.hasCluster(entry) && active) {
                boolean data = stride == 1 ? (entry & Qcow2Layout.ZERO) == 0 : (bitmap & 0xffffffffL) != 0;
                if (data) {
                    allocated++;
                    long host = entry & Qcow2Layout.OFFSET_MASK;
                    if (expected >= 0 && host != expected) {
                        fragmented++;
                    }
                    expected = host + layout.clusterBytes;
                }
            }
        }
        if (changed) {
            structure.writeTable(table, l2);
            tablesChanged = true;
        }
        return expected;
    }

    /** What is wrong with an L2 entry by itself, or null. */
    private @org.jspecify.annotations.Nullable String fault(long entry, long bitmap) {
        if ((entry & Qcow2Layout.COMPRESSED) != 0) {
            if ((entry & Qcow2Layout.COPIED) != 0) {
                return "is compressed and flagged as copied";
            }
            if (layout.dataFile) {
                return "is compressed in an external data file";
            }
            if (layout.extended && bitmap != 0) {
                return "is compressed and has subclusters";
            }
            long offset = layout.compressedOffset(entry);
            return layout.clusterOf(offset + layout.compressedBytes(entry) - 1) >= references.length
                    ? "is beyond the end of the file"
                    : null;
        }
        if ((entry & Qcow2Layout.L2_RESERVED) != 0 || layout.extended && (entry & Qcow2Layout.ZERO) != 0) {
            return "has reserved bits";
        }
        if (header.version < 3 && (entry & Qcow2Layout.ZERO) != 0) {
            return "has a flag that version 2 does not have";
        }
        long host = entry & Qcow2Layout.OFFSET_MASK;
        if (!layout.aligned(host)) {
            return "is not at a cluster's start";
        }
        if (layout.extended) {
            long data = bitmap & 0xffffffffL;
            if ((data & bitmap >>> 32) != 0) {
                return "has subclusters that are both data and zeroes";
            }
            if (data != 0 && !layout.hasCluster(entry)) {
                return "has subclusters without a cluster";
            }
        }
        return !layout.dataFile && layout.clusterOf(host) >= references.length ? "is beyond the end of the file" : null;
    }

    private void countSnapshots() {
        if (header.snapshotCount == 0) {
            return;
        }
        List<Qcow2Snapshots.Entry> snapshots;
        try {
            snapshots = Qcow2Snapshots.read(structure);
            countRange("snapshot table", header.snapshotsOffset, Qcow2Snapshots.tableBytes(structure));
        } catch (BenchtopException e) {
            errors++;
            say("ERROR: " + e.getMessage());
            return;
        }
        for (Qcow2Snapshots.Entry snapshot : snapshots) {
            countRange("L1 table of snapshot " + snapshot.name(), snapshot.l1Offset(), snapshot.l1Entries() * 8L);
            long[] l1 = structure.readTable(snapshot.l1Offset(), snapshot.l1Entries());
            countMapping(" of snapshot " + snapshot.name(), l1, false);
        }
    }

    /** Persistent bitmaps are not used here, but their clusters belong to something. */
    private void countBitmaps() {
        if ((header.autoclear & Qcow2Header.AUTOCLEAR_BITMAPS) == 0) {
            return;
        }
        header.extension(Qcow2Header.EXTENSION_BITMAPS).ifPresent(extension -> {
            if (extension.content().length < 24) {
                return;
            }
            MemorySegment content = MemorySegment.ofArray(extension.content());
            int bitmaps = content.get(Qcow2Layout.INT, 0);
            long bytes = content.get(Qcow2Layout.LONG, 8);
            long offset = content.get(Qcow2Layout.LONG, 16);
            if (bitmaps < 0 || bitmaps > 65535 || bytes < 0 || bytes > 64 << 20 || !layout.aligned(offset)) {
                corruption("the bitmap directory is not valid", false);
                return;
            }
            countRange("bitmap directory", offset, bytes);
            MemorySegment directory = structure.newBuffer(bytes);
            structure.access().read(offset, directory);
            long at = 0;
            for (int i = 0; i < bitmaps && at + 24 <= bytes; i++) {
                at = countBitmap(directory, at);
            }
        });
    }

    private long countBitmap(MemorySegment directory, long at) {
        long table = directory.get(Qcow2Layout.LONG, at);
        int entries = directory.get(Qcow2Layout.INT, at + 8);
        int nameBytes = directory.get(Qcow2Layout.INT, at + 16) & 0xffff;
        int extraBytes = directory.get(Qcow2Layout.INT, at + 20);
        if (entries < 0 || entries > 1 << 20 || extraBytes < 0 || !layout.aligned(table)) {
            corruption("a bitmap of the directory is not valid", false);
            return Long.MAX_VALUE / 2;
        }
        countRange("bitmap table", table, entries * 8L);
        for (long entry : structure.readTable(table, entries)) {
            long data = entry & Qcow2Layout.OFFSET_MASK;
            if (data != 0) {
                countRange("bitmap", data, 1);
            }
        }
        return at + (24L + extraBytes + nameBytes + 7 & -8);
    }

    private void countRefcountStructures() {
        countRange(
                "refcount table",
                header.refcountTableOffset,
                (long) header.refcountTableClusters << layout.clusterBits);
        long[] table = structure.refcountTable();
        for (int i = 0; i < table.length; i++) {
            long entry = table[i];
            if (entry == 0) {
                continue;
            }
            if ((entry & Qcow2Layout.REFCOUNT_TABLE_RESERVED) != 0
                    || !layout.aligned(entry)
                    || layout.clusterOf(entry) >= fileClusters) {
                corruption("refcount block " + i + " at " + Long.toUnsignedString(entry) + " is not valid", repairAll);
                rebuild = true;
                continue;
            }
            int cluster = (int) layout.clusterOf(entry);
            if (references[cluster] != 0) {
                corruption("refcount block " + i + " at " + entry + " is used for something else too", repairAll);
                rebuild = true;
            }
            count(cluster);
        }
    }

    private void compare() {
        long described =
                Math.min((long) structure.refcountTable().length << layout.refcountBlockBits, Integer.MAX_VALUE - 64L);
        if (rebuild) {
            if (repairAll) {
                rebuildNow();
            }
            return;
        }
        long mixed = 0;
        for (long cluster = 0; cluster < Math.max(described, references.length); cluster++) {
            int index = (int) (cluster >>> layout.refcountBlockBits);
            boolean inTable =
                    index < structure.refcountTable().length && structure.refcountTable()[index] != 0;
            if (!inTable && cluster >= references.length) {
                cluster |= (1L << layout.refcountBlockBits) - 1;
                continue;
            }
            long stored = inTable ? structure.refcount(cluster) : 0;
            long found = cluster < references.length ? references[(int) cluster] : 0;
            if (stored == found || found == Character.MAX_VALUE && stored > found) {
                continue;
            }
            boolean leak = stored > found;
            boolean fix = repairAll || leak && repair == ImageCheck.Repair.LEAKS;
            if (leak) {
                leaks++;
                leaksFixed += fix ? 1 : 0;
                if (!fix || mixed++ < MAX_MESSAGES) {
                    say((fix ? "Repaired: leaked" : "Leaked") + " cluster " + cluster + " refcount=" + stored
                            + " reference=" + found);
                }
            } else {
                corruption("cluster " + cluster + " refcount=" + stored + " reference=" + found, fix);
            }
            if (fix) {
                if (found > layout.maxRefcount) {
                    rebuild = false;
                    errors++;
                    say("ERROR: cluster " + cluster + " has more references than a refcount can hold");
                } else {
                    fix(cluster, found);
                }
            }
        }
        if (repair != ImageCheck.Repair.NONE) {
            structure.flush();
            structure.writeRefcounts();
        }
    }

    private void fix(long cluster, long count) {
        structure.refcount(cluster, count);
    }

    /** Writes new refcounts from what was counted, less the old structures themselves. */
    private void rebuildNow() {
        char[] counted = Arrays.copyOf(references, references.length);
        lower(counted, header.refcountTableOffset, (long) header.refcountTableClusters << layout.clusterBits);
        for (long entry : structure.refcountTable()) {
            if (entry != 0
                    && layout.aligned(entry)
                    && layout.clusterOf(entry) < fileClusters
                    && (entry & Qcow2Layout.REFCOUNT_TABLE_RESERVED) == 0) {
                lower(counted, entry, 1);
            }
        }
        structure.flush();
        structure.rebuildRefcounts(counted, usedClusters);
        references = counted;
        say("Repaired: wrote new refcounts");
    }

    private void lower(char[] counted, long offset, long bytes) {
        for (long at = 0; at < bytes; at += layout.clusterBytes) {
            long cluster = layout.clusterOf(offset + at);
            if (cluster < counted.length && counted[(int) cluster] > 0) {
                counted[(int) cluster]--;
            }
        }
    }

    /** A cluster that is flagged as belonging to one place only must do so, or writes to it would reach others. */
    private void checkCopied() {
        if (layout.dataFile) {
            return;
        }
        long[] l1 = structure.readTable(header.l1Offset, header.l1Entries);
        boolean wrong = false;
        for (int i = 0; i < l1.length; i++) {
            long table = l1[i] & Qcow2Layout.OFFSET_MASK;
            if (table == 0 || !layout.aligned(table) || layout.clusterOf(table) >= fileClusters) {
                continue;
            }
            wrong |= copiedWrong("L1 entry " + i, l1[i], layout.clusterOf(table));
            long[] l2 = structure.readL2(table);
            for (int j = 0; j < l2.length; j += structure.l2Stride()) {
                long entry = l2[j];
                if ((entry & Qcow2Layout.COMPRESSED) == 0 && layout.hasCluster(entry)) {
                    long host = entry & Qcow2Layout.OFFSET_MASK;
                    long cluster = ((long) i << layout.l2Bits) + j / structure.l2Stride();
                    wrong |= copiedWrong("L2 entry of cluster " + cluster, entry, layout.clusterOf(host));
                }
            }
        }
        if (wrong && repairAll && corruptions == corruptionsFixed) {
            structure.updateCopied();
            structure.flush();
        }
    }

    /**
     * A missing flag costs a copy and no data, and is what a cut between two steps of a snapshot leaves behind; so it
     * is brought in line when repairing but is no fault.
     */
    private boolean copiedWrong(String what, long entry, long cluster) {
        boolean copied = (entry & Qcow2Layout.COPIED) != 0;
        int found = cluster < references.length ? references[(int) cluster] : 0;
        if (copied && found > 1) {
            corruption(what + " is flagged as copied, but its cluster has " + found + " references", repairAll);
            return true;
        }
        return copied != (found == 1);
    }

    /** What is repaired is not marked as broken any more. */
    private void finish() {
        boolean clean = corruptions == corruptionsFixed && errors == 0;
        if (repair == ImageCheck.Repair.NONE || !clean) {
            return;
        }
        boolean marked = header.corrupt() && repairAll || header.dirty();
        if (tablesChanged) {
            structure.flush();
        }
        if (marked) {
            if (repairAll) {
                header.incompatible &= ~Qcow2Header.INCOMPATIBLE_CORRUPT;
            }
            if (repairAll || leaks == leaksFixed) {
                header.incompatible &= ~Qcow2Header.INCOMPATIBLE_DIRTY;
            }
            structure.writeHeaderFields();
            structure.flush();
        }
    }
}
