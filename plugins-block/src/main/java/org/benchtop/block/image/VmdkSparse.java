package org.benchtop.block.image;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.Map;

/**
 * A hosted sparse extent of a VMDK image, also stream-optimised (compressed). Source: VMware Virtual Disk Format 5.0.
 */
final class VmdkSparse implements DiskMap {
    static final int MAGIC = 0x564d444b;
    static final int HEADER_BYTES = 512;

    private static final int SECTOR = 512;
    private static final long GD_AT_END = -1;
    private static final int FLAG_ZEROED_GRAINS = 1 << 2;
    private static final int FLAG_COMPRESSED = 1 << 16;
    private static final int FLAG_MARKERS = 1 << 17;
    private static final int COMPRESSION_DEFLATE = 1;
    private static final int MAX_GRAIN_SECTORS = 4096;
    private static final int MAX_TABLE_ENTRIES = 512;
    private static final long MAX_DISK_SECTORS = 1L << 37;
    private static final long MAX_TABLE_BYTES = 256L << 20;
    private static final int[] NO_TABLE = {};

    private final int file;
    private final long sizeBytes;
    private final long grainBytes;
    private final int entriesPerTable;
    private final boolean zeroedGrains;
    private final boolean compressed;
    /** First sector of each grain by table; an empty table where all are missing. */
    private final int[][] tables;

    private VmdkSparse(
            int file,
            long sizeBytes,
            long grainBytes,
            int entriesPerTable,
            boolean zeroedGrains,
            boolean compressed,
            int[][] tables) {
        this.file = file;
        this.sizeBytes = sizeBytes;
        this.grainBytes = grainBytes;
        this.entriesPerTable = entriesPerTable;
        this.zeroedGrains = zeroedGrains;
        this.compressed = compressed;
        this.tables = tables;
    }

    /**
     * The header: the one at the end of a stream-optimised file, else the one at the start.
     *
     * <p>Only that one knows where the grain directory is.
     */
    static ByteBuffer header(ImageReader reader) {
        ByteBuffer header = reader.read("the header", 0, HEADER_BYTES, ByteOrder.LITTLE_ENDIAN);
        if (header.getInt(0) != MAGIC) {
            throw reader.error("no VMDK image: no signature at the start");
        }
        if (header.getLong(56) == GD_AT_END) {
            header = reader.read("the footer", reader.fileBytes() - 2L * SECTOR, HEADER_BYTES, ByteOrder.LITTLE_ENDIAN);
            if (header.getInt(0) != MAGIC || header.getLong(56) == GD_AT_END) {
                throw reader.error("the footer of the stream-optimised image is missing (truncated?)");
            }
        }
        return header;
    }

    static VmdkSparse open(ImageReader reader, int file) {
        ByteBuffer header = header(reader);
        int version = header.getInt(4);
        if (version < 1 || version > 3) {
            throw reader.unsupported("VMDK version " + version + "; allowed: 1 to 3");
        }
        int flags = header.getInt(8);
        long capacity = header.getLong(12);
        long grain = header.getLong(20);
        int perTable = header.getInt(44);
        long directoryAt = header.getLong(56);
        boolean compressed = (flags & FLAG_COMPRESSED) != 0;
        if (compressed && (header.getShort(77) & 0xffff) != COMPRESSION_DEFLATE) {
            throw reader.unsupported("compression " + (header.getShort(77) & 0xffff) + "; allowed: 1 (deflate)");
        }
        if (compressed && (flags & FLAG_MARKERS) == 0) {
            throw reader.unsupported("compressed grains without markers");
        }
        if (capacity <= 0 || capacity > MAX_DISK_SECTORS) {
            throw reader.error("a disk of " + capacity + " sectors");
        }
        if (Long.bitCount(grain) != 1 || grain < 1 || grain > MAX_GRAIN_SECTORS) {
            throw reader.error("grains of " + grain + " sectors");
        }
        if (perTable < 1 || perTable > MAX_TABLE_ENTRIES) {
            throw reader.error("grain tables of " + perTable + " entries; allowed: 1 to " + MAX_TABLE_ENTRIES);
        }
        long tableCount = (capacity + grain * perTable - 1) / (grain * perTable);
        if (tableCount * 4 > MAX_TABLE_BYTES) {
            throw reader.error("a grain directory of " + tableCount + " entries");
        }
        int[][] tables = tables(reader, directoryAt, (int) tableCount, perTable);
        return new VmdkSparse(
                file,
                capacity * SECTOR,
                grain * SECTOR,
                perTable,
                (flags & FLAG_ZEROED_GRAINS) != 0,
                compressed,
                tables);
    }

    private static int[][] tables(ImageReader reader, long directoryAt, int count, int perTable) {
        if (directoryAt <= 0 || directoryAt > reader.fileBytes() / SECTOR) {
            throw reader.error("a grain directory at sector " + directoryAt + ", beyond the end of the file");
        }
        ByteBuffer directory =
                reader.read("the grain directory", directoryAt * SECTOR, count * 4, ByteOrder.LITTLE_ENDIAN);
        int[][] tables = new int[count][];
        Map<Integer, int[]> known = new HashMap<>();
        long bytes = 0;
        for (int i = 0; i < count; i++) {
            int at = directory.getInt(4 * i);
            if (at == 0) {
                tables[i] = NO_TABLE;
                continue;
            }
            int[] table = known.get(at);
            if (table == null) {
                bytes += 4L * perTable;
                if (bytes > MAX_TABLE_BYTES) {
                    throw reader.error("more than " + MAX_TABLE_BYTES + " bytes of grain tables");
                }
                ByteBuffer entries = reader.read(
                        "grain table " + i, (at & 0xffff_ffffL) * SECTOR, perTable * 4, ByteOrder.LITTLE_ENDIAN);
                table = new int[perTable];
                entries.asIntBuffer().get(table);
                for (int grain : table) {
                    if ((grain & 0xffff_ffffL) * SECTOR >= reader.fileBytes()) {
                        throw reader.error("a grain of table " + i + " lies beyond the end of the file (truncated?)");
                    }
                }
                known.put(at, table);
            }
            tables[i] = table;
        }
        return tables;
    }

    @Override
    public long sizeBytes() {
        return sizeBytes;
    }

    @Override
    public long clusterBytes() {
        return grainBytes;
    }

    @Override
    public void find(long offset, long length, Place place) {
        long grain = offset / grainBytes;
        long inGrain = offset % grainBytes;
        long run = Math.min(length, grainBytes - inGrain);
        int[] table = tables[(int) (grain / entriesPerTable)];
        long sector = table.length == 0 ? 0 : table[(int) (grain % entriesPerTable)] & 0xffff_ffffL;
        if (sector == 0 || sector == 1 && zeroedGrains) {
            place.zero(run);
        } else if (compressed) {
            long start = grain * grainBytes;
            place.compressed(file, sector * SECTOR, start, (int) Math.min(grainBytes, sizeBytes - start), run);
        } else {
            place.data(file, sector * SECTOR + inGrain, run);
        }
    }

    boolean compressed() {
        return compressed;
    }

    @Override
    public String describe() {
        return compressed ? "vmdk stream-optimised" : "vmdk sparse";
    }
}
