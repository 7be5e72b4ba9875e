package org.benchtop.block.qcow2;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.image.ImageSnapshot;

/** The states that are kept inside an image. */
final class Qcow2Snapshots {
    private static final int ENTRY_BYTES = 40;
    private static final int EXTRA_BYTES = 24;
    private static final int MAX_EXTRA_BYTES = 1024;
    private static final int MAX_NAME_BYTES = 1023;
    private static final int MAX_L1_ENTRIES = (int) (Qcow2Header.MAX_L1_BYTES / 8);
    private static final long MAX_TABLE_BYTES = 16L << 20;

    private Qcow2Snapshots() {}

    /** An entry of the snapshot table. {@code extra} is kept as it is. */
    record Entry(
            long l1Offset,
            int l1Entries,
            String id,
            String name,
            int seconds,
            int nanoseconds,
            long vmClock,
            int vmStateBytes,
            byte[] extra) {

        long diskBytes(Qcow2Header header) {
            return extra.length >= 16 ? ByteBuffer.wrap(extra).getLong(8) : header.sizeBytes;
        }

        long stateBytes() {
            return extra.length >= 8 ? ByteBuffer.wrap(extra).getLong(0) : Integer.toUnsignedLong(vmStateBytes);
        }

        ImageSnapshot toImageSnapshot(Qcow2Header header) {
            return new ImageSnapshot(
                    id, name, diskBytes(header), stateBytes(), Integer.toUnsignedLong(seconds), nanoseconds, vmClock);
        }

        byte[] toBytes() {
            byte[] idBytes = id.getBytes(StandardCharsets.UTF_8);
            byte[] nameBytes = name.getBytes(StandardCharsets.UTF_8);
            int length = ENTRY_BYTES + extra.length + idBytes.length + nameBytes.length;
            ByteBuffer buffer = ByteBuffer.allocate(length + 7 & -8).order(ByteOrder.BIG_ENDIAN);
            buffer.putLong(l1Offset).putInt(l1Entries);
            buffer.putShort((short) idBytes.length).putShort((short) nameBytes.length);
            buffer.putInt(seconds).putInt(nanoseconds).putLong(vmClock).putInt(vmStateBytes);
            buffer.putInt(extra.length).put(extra).put(idBytes).put(nameBytes);
            return buffer.array();
        }
    }

    static List<ImageSnapshot> list(Qcow2Structure structure) {
        return read(structure).stream()
                .map(entry -> entry.toImageSnapshot(structure.header()))
                .toList();
    }

    /** All entries; every one is checked. */
    static List<Entry> read(Qcow2Structure structure) {
        Qcow2Header header = structure.header();
        List<Entry> entries = new ArrayList<>();
        if (header.snapshotCount == 0) {
            return entries;
        }
        Reader reader = new Reader(structure, header.snapshotsOffset);
        for (int i = 0; i < header.snapshotCount; i++) {
            entries.add(reader.next(i));
        }
        return entries;
    }

    /** Reads the table step by step, as only its entries say how long it is. */
    private static final class Reader {
        private static final int WINDOW_BYTES = 64 << 10;

        private final Qcow2Structure structure;
        private final MemorySegment window;
        private final long tableStart;
        private long windowStart = -1;
        private long at;

        Reader(Qcow2Structure structure, long offset) {
            this.structure = structure;
            this.window = structure.newBuffer(WINDOW_BYTES);
            this.tableStart = offset;
            this.at = offset;
        }

        private MemorySegment bytes(long length) {
            if (windowStart < 0 || at < windowStart || at + length > windowStart + WINDOW_BYTES) {
                windowStart = at & -512;
                structure.access().read(windowStart, window);
            }
            MemorySegment slice = window.asSlice(at - windowStart, length);
            at += length;
            return slice;
        }

        Entry next(int index) {
            MemorySegment fixed = bytes(ENTRY_BYTES);
            long l1Offset = fixed.get(Qcow2Layout.LONG, 0);
            int l1Entries = fixed.get(Qcow2Layout.INT, 8);
            int idBytes = fixed.get(Qcow2Layout.INT, 12) >>> 16;
            int nameBytes = fixed.get(Qcow2Layout.INT, 12) & 0xffff;
            int seconds = fixed.get(Qcow2Layout.INT, 16);
            int nanoseconds = fixed.get(Qcow2Layout.INT, 20);
            long vmClock = fixed.get(Qcow2Layout.LONG, 24);
            int vmState = fixed.get(Qcow2Layout.INT, 32);
            int extraBytes = fixed.get(Qcow2Layout.INT, 36);
            boolean wrongL1 = l1Entries < 0
                    || l1Entries > MAX_L1_ENTRIES
                    || !structure.layout().aligned(l1Offset)
                    || l1Offset < 0
                    || l1Offset + l1Entries * 8L > structure.file().storedBytes() + structure.layout().clusterBytes;
            if (wrongL1
                    || extraBytes < 0
                    || extraBytes > MAX_EXTRA_BYTES
                    || idBytes + nameBytes > 2 * MAX_NAME_BYTES
                    || at - tableStart > MAX_TABLE_BYTES) {
                throw Qcow2Header.image(
                        structure.file().path(),
                        "snapshot " + index + " of the snapshot table at " + tableStart + " is not valid");
            }
            byte[] extra = bytes(extraBytes).toArray(ValueLayout.JAVA_BYTE);
            String id = new String(bytes(idBytes).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8);
            String name = new String(bytes(nameBytes).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8);
            at = at + 7 & -8;
            return new Entry(l1Offset, l1Entries, id, name, seconds, nanoseconds, vmClock, vmState, extra);
        }

        long length() {
            return at - tableStart;
        }
    }

    /** How many bytes the table takes. */
    static long tableBytes(Qcow2Structure structure) {
        Qcow2Header header = structure.header();
        if (header.snapshotCount == 0) {
            return 0;
        }
        Reader reader = new Reader(structure, header.snapshotsOffset);
        for (int i = 0; i < header.snapshotCount; i++) {
            reader.next(i);
        }
        return reader.length();
    }

    private static Entry find(Qcow2Structure structure, List<Entry> entries, String idOrName) {
        for (Entry entry : entries) {
            if (entry.id.equals(idOrName)) {
                return entry;
            }
        }
        for (Entry entry : entries) {
            if (entry.name.equals(idOrName)) {
                return entry;
            }
        }
        throw BenchtopException.config(structure.file().path() + ": there is no snapshot \"" + idOrName
                + "\" (snapshots: "
                + String.join(", ", entries.stream().map(Entry::name).toList()) + ")");
    }

    private static void refuseDataFile(Qcow2Structure structure) {
        if (structure.header().hasDataFile()) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    structure.file().path() + ": an image with an external data file cannot have snapshots");
        }
    }

    static void create(Qcow2Structure structure, String name) {
        refuseDataFile(structure);
        Qcow2Header header = structure.header();
        if (name.isEmpty() || name.getBytes(StandardCharsets.UTF_8).length > 255) {
            throw BenchtopException.config("a snapshot's name has 1 to 255 bytes, not \"" + name + "\"");
        }
        List<Entry> entries = read(structure);
        if (entries.size() == Qcow2Header.MAX_SNAPSHOTS) {
            throw BenchtopException.config(structure.file().path() + ": has " + entries.size()
                    + " snapshots, which is as many as there can be");
        }
        if (entries.stream().anyMatch(entry -> entry.name.equals(name))) {
            throw BenchtopException.config(structure.file().path() + ": there is a snapshot \"" + name + "\" already");
        }
        long[] l1 = structure.readTable(header.l1Offset, header.l1Entries);
        structure.addReferences(l1, 1);
        // A cluster without the flag is never written in place, so from here on the present state leaves it alone.
        structure.updateCopied();
        structure.flush();
        structure.writeRefcounts();
        long[] shared = structure.readTable(header.l1Offset, header.l1Entries);
        long l1Offset = structure.newL1(shared);
        Instant now = Instant.now();
        ByteBuffer extra = ByteBuffer.allocate(EXTRA_BYTES).order(ByteOrder.BIG_ENDIAN);
        extra.putLong(0, 0).putLong(8, header.sizeBytes).putLong(16, -1);
        entries.add(new Entry(
                l1Offset,
                header.l1Entries,
                Integer.toString(nextId(entries)),
                name,
                (int) now.getEpochSecond(),
                now.getNano(),
                0,
                0,
                extra.array()));
        writeTable(structure, entries);
    }

    private static int nextId(List<Entry> entries) {
        int highest = 0;
        for (Entry entry : entries) {
            try {
                highest = Math.max(highest, Integer.parseInt(entry.id));
            } catch (NumberFormatException e) {
                // Ids are text; those that are no numbers do not count.
                continue;
            }
        }
        return highest + 1;
    }

    /** Writes a new table beside the present one and then lets the header refer to it. */
    private static void writeTable(Qcow2Structure structure, List<Entry> entries) {
        Qcow2Header header = structure.header();
        Qcow2Layout layout = structure.layout();
        long oldOffset = header.snapshotsOffset;
        long oldClusters = layout.roundUpToCluster(tableBytes(structure)) >>> layout.clusterBits;
        long newOffset = 0;
        if (!entries.isEmpty()) {
            int length =
                    entries.stream().mapToInt(entry -> entry.toBytes().length).sum();
            MemorySegment buffer = structure.newBuffer(length);
            long at = 0;
            for (Entry entry : entries) {
                byte[] bytes = entry.toBytes();
                MemorySegment.copy(MemorySegment.ofArray(bytes), 0, buffer, at, bytes.length);
                at += bytes.length;
            }
            newOffset = structure.allocate(layout.roundUpToCluster(length) >>> layout.clusterBits);
            structure.writeRefcounts();
            structure.access().write(newOffset, buffer);
            structure.flush();
        }
        header.snapshotsOffset = newOffset;
        header.snapshotCount = entries.size();
        structure.writeHeaderFields();
        structure.flush();
        structure.release(oldOffset, oldClusters);
        structure.writeRefcounts();
    }

    /** Makes an image that is not written show a state instead of the present one. */
    static void view(Qcow2Structure structure, String idOrName) {
        Qcow2Header header = structure.header();
        Entry entry = find(structure, read(structure), idOrName);
        long diskBytes = entry.diskBytes(header);
        if (diskBytes < 0 || entry.l1Entries < header.l1EntriesFor(diskBytes)) {
            throw Qcow2Header.image(
                    structure.file().path(),
                    "snapshot \"" + entry.name + "\" of " + diskBytes + " bytes has an L1 table of only "
                            + entry.l1Entries + " entries");
        }
        header.l1Offset = entry.l1Offset;
        header.l1Entries = entry.l1Entries;
        header.sizeBytes = diskBytes;
    }

    static void apply(Qcow2Structure structure, String idOrName) {
        refuseDataFile(structure);
        Qcow2Header header = structure.header();
        Entry entry = find(structure, read(structure), idOrName);
        long diskBytes = entry.diskBytes(header);
        long[] wanted = structure.readTable(entry.l1Offset, entry.l1Entries);
        for (int i = 0; i < wanted.length; i++) {
            wanted[i] &= ~Qcow2Layout.COPIED;
        }
        int needed = (int) Math.max(wanted.length, header.l1EntriesFor(diskBytes));
        wanted = Arrays.copyOf(wanted, needed);
        structure.addReferences(wanted, 1);
        structure.writeRefcounts();
        long[] old = structure.readTable(header.l1Offset, header.l1Entries);
        long oldOffset = header.l1Offset;
        long oldClusters = structure.l1Clusters(header.l1Entries);
        header.l1Offset = structure.newL1(wanted);
        header.l1Entries = wanted.length;
        header.sizeBytes = diskBytes;
        structure.writeHeaderFields();
        structure.flush();
        structure.addReferences(old, -1);
        structure.release(oldOffset, oldClusters);
        structure.writeRefcounts();
        structure.updateCopied();
        structure.flush();
    }

    static void delete(Qcow2Structure structure, String idOrName) {
        refuseDataFile(structure);
        List<Entry> entries = read(structure);
        Entry entry = find(structure, entries, idOrName);
        long[] l1 = structure.readTable(entry.l1Offset, entry.l1Entries);
        entries.remove(entry);
        writeTable(structure, entries);
        structure.addReferences(l1, -1);
        structure.release(entry.l1Offset, structure.l1Clusters(entry.l1Entries));
        structure.writeRefcounts();
        structure.updateCopied();
        structure.flush();
    }
}
