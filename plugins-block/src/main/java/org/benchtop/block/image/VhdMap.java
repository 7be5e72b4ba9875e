package org.benchtop.block.image;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Set;

/**
 * A VHD image, fixed or dynamic. Source: Virtual Hard Disk Image Format Specification 1.0 (Microsoft, 2006). Sector
 * bitmaps are not looked at: in a dynamic image what a bitmap leaves out is zero in the block as well.
 */
final class VhdMap implements DiskMap {
    static final int FOOTER_BYTES = 512;

    private static final int HEADER_BYTES = 1024;
    private static final int SECTOR = 512;
    private static final int TYPE_FIXED = 2;
    private static final int TYPE_DYNAMIC = 3;
    private static final int TYPE_DIFFERENCING = 4;
    private static final long MAX_BYTES = 64L << 40;
    private static final int MAX_ENTRIES = 1 << 24;
    private static final int UNUSED = -1;
    /** Cylinders, heads and sectors of a disk too large for such an address. */
    private static final long MAX_GEOMETRY_SECTORS = 65535L * 16 * 255;

    /** Programs whose images have the size that the footer names, even if its geometry is smaller. */
    private static final Set<String> SIZE_COUNTS = Set.of("win ", "qem2", "d2v ", "tap\0", "CTXS");

    private final long sizeBytes;
    private final long blockBytes;
    private final long bitmapBytes;
    /** First sector of each block, its bitmap first; empty in a fixed image. */
    private final int[] blocks;

    private VhdMap(long sizeBytes, long blockBytes, int[] blocks) {
        this.sizeBytes = sizeBytes;
        this.blockBytes = blockBytes;
        this.blocks = blocks;
        this.bitmapBytes = (blockBytes / SECTOR / 8 + SECTOR - 1) / SECTOR * SECTOR;
    }

    static boolean isFooter(ByteBuffer footer) {
        return footer.limit() >= FOOTER_BYTES
                && "conectix".equals(new String(footer.array(), 0, 8, StandardCharsets.ISO_8859_1));
    }

    static VhdMap open(ImageReader reader) {
        ByteBuffer footer = footer(reader);
        requireChecksum(reader, "the footer", footer, 64, FOOTER_BYTES);
        int version = footer.getInt(12);
        if (version >>> 16 != 1) {
            throw reader.unsupported("VHD version " + (version >>> 16) + "; allowed: 1");
        }
        long size = size(footer);
        if (size <= 0 || size > MAX_BYTES || size % SECTOR != 0) {
            throw reader.error("a disk of " + size + " bytes");
        }
        int type = footer.getInt(60);
        return switch (type) {
            case TYPE_FIXED -> {
                if (size > reader.fileBytes() - FOOTER_BYTES) {
                    throw reader.error("the disk has " + size + " bytes, the file only " + reader.fileBytes());
                }
                yield new VhdMap(size, size, new int[0]);
            }
            case TYPE_DYNAMIC -> dynamic(reader, footer.getLong(16), size);
            case TYPE_DIFFERENCING -> throw reader.unsupported("a differencing VHD; allowed: fixed, dynamic");
            default -> throw reader.error("VHD type " + type + "; allowed: 2 (fixed), 3 (dynamic)");
        };
    }

    private static ByteBuffer footer(ImageReader reader) {
        if (reader.fileBytes() < FOOTER_BYTES) {
            throw reader.error("no VHD image: the file has " + reader.fileBytes() + " bytes");
        }
        long last = reader.fileBytes() - FOOTER_BYTES;
        ByteBuffer footer = reader.read("the footer", last, FOOTER_BYTES, ByteOrder.BIG_ENDIAN);
        if (isFooter(footer)) {
            return footer;
        }
        // A dynamic image has a copy at its start.
        ByteBuffer copy = reader.read("the footer's copy", 0, FOOTER_BYTES, ByteOrder.BIG_ENDIAN);
        if (!isFooter(copy)) {
            throw reader.error("no VHD image: no footer at the end and none at the start");
        }
        if (copy.getInt(60) == TYPE_FIXED) {
            throw reader.error("the footer at the end of the fixed image is missing (truncated?)");
        }
        return copy;
    }

    private static long size(ByteBuffer footer) {
        long named = footer.getLong(48);
        int geometry = footer.getInt(56);
        long sectors = (geometry >>> 16) * (long) (geometry >>> 8 & 0xff) * (geometry & 0xff);
        String creator = new String(footer.array(), 28, 4, StandardCharsets.ISO_8859_1);
        boolean geometryCounts = sectors != 0 && sectors < MAX_GEOMETRY_SECTORS && !SIZE_COUNTS.contains(creator);
        return geometryCounts ? sectors * SECTOR : named;
    }

    private static void requireChecksum(ImageReader reader, String what, ByteBuffer data, int at, int length) {
        int sum = 0;
        for (int i = 0; i < length; i++) {
            sum += i >= at && i < at + 4 ? 0 : data.get(i) & 0xff;
        }
        if (~sum != data.getInt(at)) {
            throw reader.error(what + " has a wrong checksum");
        }
    }

    private static VhdMap dynamic(ImageReader reader, long headerAt, long size) {
        ByteBuffer header = reader.read("the dynamic disk header", headerAt, HEADER_BYTES, ByteOrder.BIG_ENDIAN);
        if (!"cxsparse".equals(new String(header.array(), 0, 8, StandardCharsets.ISO_8859_1))) {
            throw reader.error("no dynamic disk header at " + headerAt);
        }
        requireChecksum(reader, "the dynamic disk header", header, 36, HEADER_BYTES);
        long tableAt = header.getLong(16);
        int entries = header.getInt(28);
        int block = header.getInt(32);
        if (Integer.bitCount(block) != 1 || block < SECTOR || block > 1 << 28) {
            throw reader.error("blocks of " + (block & 0xffff_ffffL) + " bytes");
        }
        long needed = (size + block - 1) / block;
        if (entries < needed || needed > MAX_ENTRIES) {
            throw reader.error("a table of " + (entries & 0xffff_ffffL) + " blocks for a disk of " + size
                    + " bytes, which has " + needed + " of " + block + " bytes");
        }
        ByteBuffer table = reader.read("the block allocation table", tableAt, (int) needed * 4, ByteOrder.BIG_ENDIAN);
        int[] blocks = new int[(int) needed];
        VhdMap map = new VhdMap(size, block, blocks);
        for (int i = 0; i < blocks.length; i++) {
            blocks[i] = table.getInt(4 * i);
            long start = (blocks[i] & 0xffff_ffffL) * SECTOR;
            long used = map.bitmapBytes + Math.min(block, size - (long) i * block);
            if (blocks[i] != UNUSED && start > reader.fileBytes() - used) {
                throw reader.error("block " + i + " lies beyond the end of the file (truncated?)");
            }
        }
        return map;
    }

    @Override
    public long sizeBytes() {
        return sizeBytes;
    }

    @Override
    public long clusterBytes() {
        return blocks.length == 0 ? SECTOR : blockBytes;
    }

    @Override
    public void find(long offset, long length, Place place) {
        if (blocks.length == 0) {
            place.data(0, offset, length);
            return;
        }
        int block = (int) (offset / blockBytes);
        long inBlock = offset % blockBytes;
        long run = Math.min(length, blockBytes - inBlock);
        if (blocks[block] == UNUSED) {
            place.zero(run);
        } else {
            place.data(0, (blocks[block] & 0xffff_ffffL) * SECTOR + bitmapBytes + inBlock, run);
        }
    }

    @Override
    public String describe() {
        return blocks.length == 0 ? "vhd fixed" : "vhd dynamic";
    }
}
