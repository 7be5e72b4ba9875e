package org.benchtop.block.image;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.zip.CRC32C;

/**
 * A VHDX image without a parent. Source: [MS-VHDX] Virtual Hard Disk v2 File Format. An image whose log has not been
 * replayed is refused, as its tables may be torn.
 */
final class VhdxMap implements DiskMap {
    private static final int HEADER_BYTES = 4096;
    private static final long[] HEADERS_AT = {64 << 10, 128 << 10};
    private static final long[] REGION_TABLES_AT = {192 << 10, 256 << 10};
    private static final int REGION_TABLE_BYTES = 64 << 10;
    private static final int MAX_REGIONS = 2047;
    private static final int METADATA_TABLE_BYTES = 64 << 10;
    private static final int MAX_METADATA = 2047;
    private static final long MAX_DISK_BYTES = 64L << 40;
    private static final long MAX_TABLE_BYTES = 64 << 20;

    private static final UUID BAT = UUID.fromString("2dc27766-f623-4200-9d64-115e9bfd4a08");
    private static final UUID METADATA = UUID.fromString("8b7ca206-4790-4b9a-b8fe-575f050f886e");
    private static final UUID FILE_PARAMETERS = UUID.fromString("caa16737-fa36-4d43-b3b6-33f0aa44e76b");
    private static final UUID VIRTUAL_DISK_SIZE = UUID.fromString("2fa54224-cd1b-4876-b211-5dbed83bf4b8");
    private static final UUID LOGICAL_SECTOR_SIZE = UUID.fromString("8141bf1d-a96f-4709-ba47-f233a8faab5f");
    private static final List<UUID> KNOWN_METADATA = List.of(
            FILE_PARAMETERS,
            VIRTUAL_DISK_SIZE,
            LOGICAL_SECTOR_SIZE,
            // Page 83 data, physical sector size, parent locator: nothing that reading needs.
            UUID.fromString("beca12ab-b2e6-4523-93ef-c309e000c746"),
            UUID.fromString("cda348c7-445d-4471-9cc9-e9885251c556"),
            UUID.fromString("a8d35f2d-b30b-454d-abf7-d3d84834ab0c"));

    private static final int PAYLOAD_BLOCK_NOT_PRESENT = 0;
    private static final int PAYLOAD_BLOCK_UNDEFINED = 1;
    private static final int PAYLOAD_BLOCK_ZERO = 2;
    private static final int PAYLOAD_BLOCK_UNMAPPED = 3;
    private static final int PAYLOAD_BLOCK_FULLY_PRESENT = 6;

    private final long sizeBytes;
    private final long blockBytes;
    private final int logicalSectorBytes;
    /** Where each block is in units of a MiB; 0 where there is none. */
    private final int[] blocks;

    private VhdxMap(long sizeBytes, long blockBytes, int logicalSectorBytes, int[] blocks) {
        this.sizeBytes = sizeBytes;
        this.blockBytes = blockBytes;
        this.logicalSectorBytes = logicalSectorBytes;
        this.blocks = blocks;
    }

    static boolean isSignature(byte[] head) {
        return head.length >= 8 && "vhdxfile".equals(new String(head, 0, 8, StandardCharsets.ISO_8859_1));
    }

    private record Region(UUID type, long offset, long length, boolean required) {}

    static VhdxMap open(ImageReader reader) {
        if (reader.fileBytes() < 8
                || !isSignature(reader.read("the signature", 0, 8, ByteOrder.LITTLE_ENDIAN)
                        .array())) {
            throw reader.error("no VHDX image: no signature at the start");
        }
        requireReplayed(reader, header(reader));
        List<Region> regions = regions(reader);
        Region table = find(reader, regions, BAT, "block allocation table");
        Region metadata = find(reader, regions, METADATA, "metadata");
        for (Region region : regions) {
            if (region.required()
                    && !region.type().equals(BAT)
                    && !region.type().equals(METADATA)) {
                throw reader.unsupported("an unknown region " + region.type() + " that must be understood");
            }
        }
        return read(reader, table, metadata);
    }

    private static UUID uuid(ByteBuffer data, int at) {
        long first = data.getInt(at) & 0xffff_ffffL;
        long second = data.getShort(at + 4) & 0xffffL;
        long third = data.getShort(at + 6) & 0xffffL;
        long rest = Long.reverseBytes(data.getLong(at + 8));
        return new UUID(first << 32 | second << 16 | third, rest);
    }

    private static boolean intact(ByteBuffer data, String signature, int length) {
        if (!signature.equals(new String(data.array(), 0, 4, StandardCharsets.ISO_8859_1))) {
            return false;
        }
        CRC32C crc = new CRC32C();
        crc.update(data.array(), 0, 4);
        crc.update(new byte[4]);
        crc.update(data.array(), 8, length - 8);
        return (int) crc.getValue() == data.getInt(4);
    }

    private static ByteBuffer header(ImageReader reader) {
        ByteBuffer best = null;
        for (long at : HEADERS_AT) {
            if (at > reader.fileBytes() - HEADER_BYTES) {
                continue;
            }
            ByteBuffer header = reader.read("a header", at, HEADER_BYTES, ByteOrder.LITTLE_ENDIAN);
            boolean newer = best == null || Long.compareUnsigned(header.getLong(8), best.getLong(8)) > 0;
            if (intact(header, "head", HEADER_BYTES) && newer) {
                best = header;
            }
        }
        if (best == null) {
            throw reader.error("both headers are damaged");
        }
        if ((best.getShort(66) & 0xffff) != 1) {
            throw reader.unsupported("VHDX version " + (best.getShort(66) & 0xffff) + "; allowed: 1");
        }
        return best;
    }

    private static void requireReplayed(ImageReader reader, ByteBuffer header) {
        if (!uuid(header, 48).equals(new UUID(0, 0))) {
            throw reader.unsupported("the image was not closed: its log must be replayed by a program that writes VHDX"
                    + " (qemu-img check -r all)");
        }
    }

    private static List<Region> regions(ImageReader reader) {
        for (long at : REGION_TABLES_AT) {
            if (at > reader.fileBytes() - REGION_TABLE_BYTES) {
                continue;
            }
            ByteBuffer table = reader.read("the region table", at, REGION_TABLE_BYTES, ByteOrder.LITTLE_ENDIAN);
            int count = table.getInt(8);
            if (!intact(table, "regi", REGION_TABLE_BYTES) || count < 0 || count > MAX_REGIONS) {
                continue;
            }
            List<Region> regions = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                int entry = 16 + 32 * i;
                regions.add(new Region(
                        uuid(table, entry),
                        table.getLong(entry + 16),
                        table.getInt(entry + 24) & 0xffff_ffffL,
                        (table.getInt(entry + 28) & 1) != 0));
            }
            return regions;
        }
        throw reader.error("both region tables are damaged");
    }

    private static Region find(ImageReader reader, List<Region> regions, UUID type, String name) {
        for (Region region : regions) {
            if (region.type().equals(type)) {
                if (region.offset() < 0 || region.offset() > reader.fileBytes() - region.length()) {
                    throw reader.error("the " + name + " lies beyond the end of the file (truncated?)");
                }
                return region;
            }
        }
        throw reader.error("there is no " + name);
    }

    private static VhdxMap read(ImageReader reader, Region table, Region metadata) {
        ByteBuffer entries =
                reader.read("the metadata table", metadata.offset(), METADATA_TABLE_BYTES, ByteOrder.LITTLE_ENDIAN);
        if (!"metadata".equals(new String(entries.array(), 0, 8, StandardCharsets.ISO_8859_1))) {
            throw reader.error("the metadata table has no signature");
        }
        int count = entries.getShort(10) & 0xffff;
        if (count > MAX_METADATA) {
            throw reader.error(count + " metadata entries");
        }
        long block = 0;
        long size = 0;
        int sector = 0;
        for (int i = 0; i < count; i++) {
            int entry = 32 + 32 * i;
            UUID item = uuid(entries, entry);
            long at = metadata.offset() + (entries.getInt(entry + 16) & 0xffff_ffffL);
            boolean required = (entries.getInt(entry + 24) & 4) != 0;
            if (item.equals(FILE_PARAMETERS)) {
                ByteBuffer value = reader.read("the file parameters", at, 8, ByteOrder.LITTLE_ENDIAN);
                block = value.getInt(0) & 0xffff_ffffL;
                if ((value.getInt(4) & 2) != 0) {
                    throw reader.unsupported("a differencing VHDX; allowed: fixed, dynamic");
                }
            } else if (item.equals(VIRTUAL_DISK_SIZE)) {
                size = reader.read("the disk's size", at, 8, ByteOrder.LITTLE_ENDIAN)
                        .getLong(0);
            } else if (item.equals(LOGICAL_SECTOR_SIZE)) {
                sector = reader.read("the sector size", at, 4, ByteOrder.LITTLE_ENDIAN)
                        .getInt(0);
            } else if (required && !KNOWN_METADATA.contains(item)) {
                throw reader.unsupported("unknown metadata " + item + " that must be understood");
            }
        }
        if (sector != 512 && sector != 4096) {
            throw reader.error("sectors of " + sector + " bytes; allowed: 512, 4096");
        }
        if (Long.bitCount(block) != 1 || block < 1 << 20 || block > 256 << 20) {
            throw reader.error("blocks of " + block + " bytes; allowed: a power of two from 1 MiB to 256 MiB");
        }
        if (size <= 0 || size > MAX_DISK_BYTES || size % sector != 0) {
            throw reader.error("a disk of " + size + " bytes");
        }
        return new VhdxMap(size, block, sector, blocks(reader, table, size, block, sector));
    }

    private static int[] blocks(ImageReader reader, Region table, long size, long block, int sector) {
        long count = (size + block - 1) / block;
        long chunkRatio = (1L << 23) * sector / block;
        long entries = count + (count - 1) / chunkRatio;
        if (entries * 8 > Math.min(MAX_TABLE_BYTES, table.length())) {
            throw reader.error("the block allocation table of " + table.length() + " bytes does not fit a disk of "
                    + size + " bytes, which needs " + entries * 8);
        }
        ByteBuffer bytes =
                reader.read("the block allocation table", table.offset(), (int) entries * 8, ByteOrder.LITTLE_ENDIAN);
        int[] blocks = new int[(int) count];
        for (int i = 0; i < blocks.length; i++) {
            // After each chunk there is an entry for a sector bitmap.
            long entry = bytes.getLong(8 * (int) (i + i / chunkRatio));
            int state = (int) (entry & 7);
            long offset = entry >>> 20 << 20;
            switch (state) {
                case PAYLOAD_BLOCK_NOT_PRESENT,
                        PAYLOAD_BLOCK_UNDEFINED,
                        PAYLOAD_BLOCK_ZERO,
                        PAYLOAD_BLOCK_UNMAPPED -> {}
                case PAYLOAD_BLOCK_FULLY_PRESENT -> {
                    long used = Math.min(block, size - i * block);
                    if (offset <= 0 || offset > reader.fileBytes() - used || offset >>> 20 > Integer.MAX_VALUE) {
                        throw reader.error("block " + i + " lies beyond the end of the file (truncated?)");
                    }
                    blocks[i] = (int) (offset >>> 20);
                }
                default -> throw reader.error("block " + i + " has state " + state + "; allowed: 0 to 3, 6");
            }
        }
        return blocks;
    }

    int logicalSectorBytes() {
        return logicalSectorBytes;
    }

    @Override
    public long sizeBytes() {
        return sizeBytes;
    }

    @Override
    public long clusterBytes() {
        return blockBytes;
    }

    @Override
    public void find(long offset, long length, Place place) {
        int block = (int) (offset / blockBytes);
        long inBlock = offset % blockBytes;
        long run = Math.min(length, blockBytes - inBlock);
        if (blocks[block] == 0) {
            place.zero(run);
        } else {
            place.data(0, ((long) blocks[block] << 20) + inBlock, run);
        }
    }

    @Override
    public String describe() {
        return "vhdx";
    }
}
