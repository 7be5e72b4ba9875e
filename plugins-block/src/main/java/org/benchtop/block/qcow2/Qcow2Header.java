package org.benchtop.block.qcow2;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.image.ImageBacking;

/**
 * The header cluster: fixed fields, extensions and the name of the backing file. Mutable; guarded by its image's lock.
 *
 * <p>Extensions that are not known are kept as they are.
 */
final class Qcow2Header {
    static final int MAGIC = 0x514649fb;
    static final int V2_BYTES = 72;
    static final int V3_BYTES = 104;

    static final int MIN_CLUSTER_BITS = 9;
    static final int MAX_CLUSTER_BITS = 21;
    static final int MIN_EXTENDED_L2_CLUSTER_BITS = 14;
    static final long MAX_L1_BYTES = 32L << 20;
    static final long MAX_REFCOUNT_TABLE_BYTES = 8L << 20;
    static final int MAX_SNAPSHOTS = 65536;
    static final int MAX_BACKING_NAME_BYTES = 1023;

    static final long INCOMPATIBLE_DIRTY = 1;
    static final long INCOMPATIBLE_CORRUPT = 1 << 1;
    static final long INCOMPATIBLE_DATA_FILE = 1 << 2;
    static final long INCOMPATIBLE_COMPRESSION = 1 << 3;
    static final long INCOMPATIBLE_EXTENDED_L2 = 1 << 4;
    private static final long INCOMPATIBLE_KNOWN = INCOMPATIBLE_DIRTY
            | INCOMPATIBLE_CORRUPT
            | INCOMPATIBLE_DATA_FILE
            | INCOMPATIBLE_COMPRESSION
            | INCOMPATIBLE_EXTENDED_L2;
    static final long COMPATIBLE_LAZY_REFCOUNTS = 1;
    static final long AUTOCLEAR_BITMAPS = 1;
    static final long AUTOCLEAR_RAW_DATA_FILE = 1 << 1;

    static final int OFFSET_REFCOUNT_TABLE = 48;
    static final int OFFSET_INCOMPATIBLE = 72;

    private static final int EXTENSION_END = 0;
    private static final int EXTENSION_BACKING_FORMAT = 0xe2792aca;
    private static final int EXTENSION_FEATURE_NAMES = 0x6803f857;
    static final int EXTENSION_BITMAPS = 0x23852875;
    private static final int EXTENSION_ENCRYPTION = 0x0537be77;
    private static final int EXTENSION_DATA_FILE = 0x44415441;

    /** How clusters are compressed. */
    enum Compression {
        ZLIB,
        ZSTD,
    }

    /** An extension that is kept as it is. */
    record Extension(int type, byte[] content) {}

    int version;
    int clusterBits;
    long sizeBytes;
    int l1Entries;
    long l1Offset;
    long refcountTableOffset;
    int refcountTableClusters;
    int snapshotCount;
    long snapshotsOffset;
    long incompatible;
    long compatible;
    long autoclear;
    int refcountOrder = 4;
    Compression compression = Compression.ZLIB;
    Optional<String> backingFile = Optional.empty();
    Optional<String> backingFormat = Optional.empty();
    Optional<String> dataFile = Optional.empty();
    private byte[] fieldsBehindCompression = new byte[0];
    private List<Extension> extensions = new ArrayList<>();

    long clusterBytes() {
        return 1L << clusterBits;
    }

    boolean extendedL2() {
        return (incompatible & INCOMPATIBLE_EXTENDED_L2) != 0;
    }

    boolean hasDataFile() {
        return (incompatible & INCOMPATIBLE_DATA_FILE) != 0;
    }

    boolean rawDataFile() {
        return hasDataFile() && (autoclear & AUTOCLEAR_RAW_DATA_FILE) != 0;
    }

    boolean dirty() {
        return (incompatible & INCOMPATIBLE_DIRTY) != 0;
    }

    boolean corrupt() {
        return (incompatible & INCOMPATIBLE_CORRUPT) != 0;
    }

    boolean lazyRefcounts() {
        return (compatible & COMPATIBLE_LAZY_REFCOUNTS) != 0;
    }

    int l2EntryBytes() {
        return extendedL2() ? 16 : 8;
    }

    /** The base-2 logarithm of the number of entries in an L2 table. */
    int l2Bits() {
        return clusterBits - (extendedL2() ? 4 : 3);
    }

    /** The number of L1 entries that a disk of that size needs. */
    long l1EntriesFor(long bytes) {
        int shift = clusterBits + l2Bits();
        return shift >= 63 ? 1 : (bytes >>> shift) + ((bytes & (1L << shift) - 1) == 0 ? 0 : 1);
    }

    Optional<ImageBacking> backing() {
        return backingFile.map(name -> new ImageBacking(name, backingFormat));
    }

    Optional<Extension> extension(int type) {
        return extensions.stream().filter(e -> e.type == type).findFirst();
    }

    /** Reads the fixed fields' part that says how long the header cluster is; the caller then reads all of it. */
    static int clusterBitsOf(Path path, MemorySegment head) {
        if (head.byteSize() < V2_BYTES || intAt(head, 0) != MAGIC) {
            throw image(path, "is not a qcow2 image (no magic number)");
        }
        int version = intAt(head, 4);
        if (version != 2 && version != 3) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    path + ": qcow2 version " + Integer.toUnsignedString(version) + "; allowed: 2, 3");
        }
        int bits = intAt(head, 20);
        if (bits < MIN_CLUSTER_BITS || bits > MAX_CLUSTER_BITS) {
            throw image(
                    path, "cluster size 2^" + Integer.toUnsignedString(bits) + "; allowed: 2^9 (512) to 2^21 (2 MiB)");
        }
        return bits;
    }

    /** Takes the header cluster apart. */
    static Qcow2Header parse(Path path, MemorySegment cluster) {
        Qcow2Header header = new Qcow2Header();
        header.clusterBits = clusterBitsOf(path, cluster);
        header.version = intAt(cluster, 4);
        header.sizeBytes = longAt(cluster, 24);
        header.l1Entries = intAt(cluster, 36);
        header.l1Offset = longAt(cluster, 40);
        header.refcountTableOffset = longAt(cluster, 48);
        header.refcountTableClusters = intAt(cluster, 56);
        header.snapshotCount = intAt(cluster, 60);
        header.snapshotsOffset = longAt(cluster, 64);
        int headerBytes = V2_BYTES;
        if (header.version == 3) {
            headerBytes = intAt(cluster, 100);
            if (headerBytes < V3_BYTES || headerBytes > cluster.byteSize() || headerBytes % 8 != 0) {
                throw image(
                        path,
                        "header of " + Integer.toUnsignedString(headerBytes)
                                + " bytes; allowed: multiples of 8 from 104 to the cluster size "
                                + cluster.byteSize());
            }
            header.incompatible = longAt(cluster, 72);
            header.compatible = longAt(cluster, 80);
            header.autoclear = longAt(cluster, 88);
            header.refcountOrder = intAt(cluster, 96);
        }
        header.parseFeatures(path, cluster, headerBytes);
        int method = intAt(cluster, 32);
        if (method != 0) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    path + ": encrypted (" + (method == 2 ? "LUKS" : method == 1 ? "AES" : "method " + method)
                            + "), which is not supported: decrypt it with qemu-img convert");
        }
        header.parseExtensions(path, cluster, headerBytes);
        header.checkTables(path);
        return header;
    }

    private void parseFeatures(Path path, MemorySegment cluster, int headerBytes) {
        long unknown = incompatible & ~INCOMPATIBLE_KNOWN;
        if (unknown != 0) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    path + ": needs features that are not known here (incompatible bits 0x" + Long.toHexString(unknown)
                            + ")");
        }
        if (refcountOrder < 0 || refcountOrder > 6) {
            throw image(path, "refcount order " + Integer.toUnsignedString(refcountOrder) + "; allowed: 0 to 6");
        }
        int type = headerBytes > V3_BYTES ? cluster.get(ValueLayout.JAVA_BYTE, V3_BYTES) & 0xff : 0;
        if (type >= Compression.values().length) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED, path + ": compression type " + type + "; allowed: 0 (zlib), 1 (zstd)");
        }
        compression = Compression.values()[type];
        if ((type != 0) != ((incompatible & INCOMPATIBLE_COMPRESSION) != 0)) {
            throw image(path, "compression type " + type + " and the feature bit for it contradict each other");
        }
        if (headerBytes > V3_BYTES + 8) {
            fieldsBehindCompression =
                    cluster.asSlice(V3_BYTES + 8, headerBytes - V3_BYTES - 8).toArray(ValueLayout.JAVA_BYTE);
        }
        if (extendedL2() && clusterBits < MIN_EXTENDED_L2_CLUSTER_BITS) {
            throw image(path, "extended L2 entries need clusters of at least 16 KiB, not " + clusterBytes());
        }
    }

    private void parseExtensions(Path path, MemorySegment cluster, int headerBytes) {
        long nameOffset = longAt(cluster, 8);
        int nameBytes = intAt(cluster, 16);
        long end = cluster.byteSize();
        if (nameOffset != 0) {
            if (nameBytes < 0
                    || nameBytes > MAX_BACKING_NAME_BYTES
                    || nameOffset < headerBytes
                    || nameOffset > end - nameBytes) {
                throw image(
                        path,
                        "name of the backing file at " + Long.toUnsignedString(nameOffset) + "+"
                                + Integer.toUnsignedString(nameBytes)
                                + "; allowed: up to 1023 bytes behind the header, inside the first cluster");
            }
            end = nameOffset;
            if (nameBytes > 0) {
                backingFile = Optional.of(text(cluster, nameOffset, nameBytes));
            }
        }
        long at = headerBytes;
        while (at <= end - 8) {
            int type = intAt(cluster, at);
            long length = Integer.toUnsignedLong(intAt(cluster, at + 4));
            if (type == EXTENSION_END) {
                break;
            }
            if (length > end - at - 8) {
                throw image(
                        path,
                        "header extension 0x" + Integer.toHexString(type) + " of " + length
                                + " bytes reaches beyond its room");
            }
            extension(path, cluster, type, at + 8, (int) length);
            at += 8 + (length + 7 & ~7L);
        }
        if (hasDataFile() && dataFile.isEmpty()) {
            throw image(path, "has an external data file, but the header does not name it");
        }
    }

    private void extension(Path path, MemorySegment cluster, int type, long at, int length) {
        switch (type) {
            case EXTENSION_BACKING_FORMAT -> backingFormat = Optional.of(text(cluster, at, length));
            case EXTENSION_DATA_FILE -> dataFile = Optional.of(text(cluster, at, length));
            case EXTENSION_FEATURE_NAMES -> {}
            case EXTENSION_ENCRYPTION ->
                throw BenchtopException.of(
                        ErrorKind.UNSUPPORTED,
                        path + ": encrypted (LUKS), which is not supported: decrypt it with qemu-img convert");
            default ->
                extensions.add(new Extension(type, cluster.asSlice(at, length).toArray(ValueLayout.JAVA_BYTE)));
        }
    }

    private void checkTables(Path path) {
        long mask = clusterBytes() - 1;
        if (sizeBytes < 0) {
            throw image(path, "disk of " + Long.toUnsignedString(sizeBytes) + " bytes; allowed: less than 2^63");
        }
        if (l1Entries < 0 || l1Entries > MAX_L1_BYTES / 8) {
            throw image(
                    path, "L1 table of " + Integer.toUnsignedString(l1Entries) + " entries; allowed: up to 4194304");
        }
        if (l1EntriesFor(sizeBytes) > l1Entries) {
            throw image(
                    path,
                    "L1 table of " + l1Entries + " entries is too small for a disk of " + sizeBytes + " bytes ("
                            + l1EntriesFor(sizeBytes) + " needed)");
        }
        checkOffset(path, "L1 table", l1Offset, mask, l1Entries == 0);
        checkOffset(path, "refcount table", refcountTableOffset, mask, false);
        if (refcountTableClusters <= 0
                || (long) refcountTableClusters << clusterBits > Math.max(MAX_REFCOUNT_TABLE_BYTES, clusterBytes())) {
            throw image(
                    path,
                    "refcount table of " + Integer.toUnsignedString(refcountTableClusters)
                            + " clusters; allowed: 1 cluster to 8 MiB");
        }
        if (snapshotCount < 0 || snapshotCount > MAX_SNAPSHOTS) {
            throw image(
                    path, "" + Integer.toUnsignedString(snapshotCount) + " snapshots; allowed: up to " + MAX_SNAPSHOTS);
        }
        if (snapshotCount > 0) {
            checkOffset(path, "snapshot table", snapshotsOffset, mask, false);
        }
    }

    private static void checkOffset(Path path, String what, long offset, long mask, boolean mayBeZero) {
        if (offset == 0 && mayBeZero) {
            return;
        }
        if (offset <= 0 || (offset & mask) != 0 || offset >>> 56 != 0) {
            throw image(
                    path,
                    what + " at " + Long.toUnsignedString(offset) + "; allowed: multiples of the cluster size "
                            + (mask + 1) + " below 2^56");
        }
    }

    /** The header cluster as it is written; throws if it does not fit. */
    byte[] toBytes(Path path) {
        ByteBuffer buffer = ByteBuffer.allocate((int) clusterBytes()).order(ByteOrder.BIG_ENDIAN);
        boolean v3 = version >= 3;
        int headerBytes = v3 ? V3_BYTES + 8 + fieldsBehindCompression.length : V2_BYTES;
        byte[] name = backingFile.orElse("").getBytes(StandardCharsets.UTF_8);
        try {
            buffer.position(headerBytes);
            backingFormat.ifPresent(
                    format -> put(buffer, EXTENSION_BACKING_FORMAT, format.getBytes(StandardCharsets.UTF_8)));
            dataFile.ifPresent(file -> put(buffer, EXTENSION_DATA_FILE, file.getBytes(StandardCharsets.UTF_8)));
            if (v3 && buffer.capacity() >= 4096) {
                put(buffer, EXTENSION_FEATURE_NAMES, featureNames());
            }
            for (Extension extension : extensions) {
                put(buffer, extension.type, extension.content);
            }
            put(buffer, EXTENSION_END, new byte[0]);
            long nameOffset = name.length == 0 ? 0 : buffer.position();
            buffer.put(name);
            buffer.putInt(0, MAGIC).putInt(4, version).putLong(8, nameOffset).putInt(16, name.length);
        } catch (java.nio.BufferOverflowException e) {
            throw BenchtopException.of(
                    ErrorKind.CONFIG,
                    path + ": the header does not fit into a cluster of " + clusterBytes()
                            + " bytes: use a shorter backing file name or larger clusters",
                    e);
        }
        buffer.putInt(20, clusterBits).putLong(24, sizeBytes).putInt(32, 0);
        buffer.putInt(36, l1Entries).putLong(40, l1Offset);
        buffer.putLong(48, refcountTableOffset).putInt(56, refcountTableClusters);
        buffer.putInt(60, snapshotCount).putLong(64, snapshotsOffset);
        if (v3) {
            buffer.putLong(72, incompatible).putLong(80, compatible).putLong(88, autoclear);
            buffer.putInt(96, refcountOrder).putInt(100, headerBytes);
            buffer.put(104, (byte) compression.ordinal());
            buffer.put(V3_BYTES + 8, fieldsBehindCompression);
        }
        return buffer.array();
    }

    private static void put(ByteBuffer buffer, int type, byte[] content) {
        buffer.putInt(type).putInt(content.length).put(content);
        while (buffer.position() % 8 != 0) {
            buffer.put((byte) 0);
        }
    }

    private static byte[] featureNames() {
        String[][] names = {
            {"0", "0", "dirty bit"},
            {"0", "1", "corrupt bit"},
            {"0", "2", "external data file"},
            {"0", "3", "compression type"},
            {"0", "4", "extended L2 entries"},
            {"1", "0", "lazy refcounts"},
            {"2", "0", "bitmaps"},
            {"2", "1", "raw external data"},
        };
        ByteBuffer table = ByteBuffer.allocate(names.length * 48);
        for (int i = 0; i < names.length; i++) {
            table.position(i * 48);
            table.put(Byte.parseByte(names[i][0])).put(Byte.parseByte(names[i][1]));
            table.put(names[i][2].getBytes(StandardCharsets.US_ASCII));
        }
        return table.array();
    }

    private static String text(MemorySegment segment, long at, int length) {
        byte[] bytes = segment.asSlice(at, length).toArray(ValueLayout.JAVA_BYTE);
        int end = 0;
        while (end < bytes.length && bytes[end] != 0) {
            end++;
        }
        return new String(bytes, 0, end, StandardCharsets.UTF_8);
    }

    static int intAt(MemorySegment segment, long at) {
        return segment.get(Qcow2Layout.INT, at);
    }

    static long longAt(MemorySegment segment, long at) {
        return segment.get(Qcow2Layout.LONG, at);
    }

    static BenchtopException image(Path path, String message) {
        return BenchtopException.of(ErrorKind.IMAGE, path + ": " + message);
    }
}
