package org.benchtop.scsi.target;

import java.nio.charset.StandardCharsets;

/** What a disk says of itself in INQUIRY (SPC-5, 6.7 and 7.7; SBC-4, 6.6). */
final class DiskInquiry {
    private static final int SERIAL_NUMBER = 0x80;
    private static final int DEVICE_IDENTIFICATION = 0x83;
    private static final int BLOCK_LIMITS = 0xb0;
    private static final int BLOCK_DEVICE_CHARACTERISTICS = 0xb1;
    private static final int LOGICAL_BLOCK_PROVISIONING = 0xb2;

    private final DiskOptions options;
    private final byte[] standard;
    private final byte[] limits;

    DiskInquiry(DiskOptions options, int maxCompareBlocks, int maxUnmapDescriptors, long maxRangeBlocks) {
        this.options = options;
        standard = standard(0x00, options.removable(), options.vendor(), options.product(), options.version());
        // SAM-5, SPC-4, SBC-3.
        Bytes.int16(standard, 58, 0x00a0);
        Bytes.int16(standard, 60, 0x0460);
        Bytes.int16(standard, 62, 0x04c0);
        limits = limits(maxCompareBlocks, maxUnmapDescriptors, maxRangeBlocks);
    }

    /** Standard INQUIRY data of any type. */
    static byte[] standard(int type, boolean removable, String vendor, String product, String version) {
        byte[] data = new byte[96];
        data[0] = (byte) type;
        data[1] = (byte) (removable ? 0x80 : 0);
        data[2] = 6;
        // HISUP, response data format 2.
        data[3] = 0x12;
        data[4] = (byte) (data.length - 5);
        // WBUS16 and SYNC, which only adapters of a parallel bus look at, and CMDQUE.
        data[7] = 0x32;
        Bytes.text(data, 8, 8, vendor);
        Bytes.text(data, 16, 16, product);
        Bytes.text(data, 32, 4, version);
        return data;
    }

    private byte[] limits(int maxCompareBlocks, int maxUnmapDescriptors, long maxRangeBlocks) {
        byte[] page = new byte[60];
        int granularity = options.physicalBlockSizeBytes() / options.logicalBlockSizeBytes();
        page[1] = (byte) maxCompareBlocks;
        Bytes.int16(page, 2, granularity);
        if (options.discard()) {
            Bytes.int32(page, 16, (int) maxRangeBlocks);
            Bytes.int32(page, 20, maxUnmapDescriptors);
            Bytes.int32(page, 24, granularity);
        }
        Bytes.int64(page, 32, maxRangeBlocks);
        return page;
    }

    byte[] standard() {
        return standard;
    }

    int[] pages() {
        return new int[] {
            0,
            SERIAL_NUMBER,
            DEVICE_IDENTIFICATION,
            BLOCK_LIMITS,
            BLOCK_DEVICE_CHARACTERISTICS,
            LOGICAL_BLOCK_PROVISIONING
        };
    }

    byte[] page(int page) {
        return switch (page) {
            case SERIAL_NUMBER -> options.serial().getBytes(StandardCharsets.US_ASCII);
            case DEVICE_IDENTIFICATION -> identification(options.vendor(), options.serial(), options.wwn());
            case BLOCK_LIMITS -> limits;
            case BLOCK_DEVICE_CHARACTERISTICS -> {
                byte[] data = new byte[60];
                Bytes.int16(data, 0, options.rotationRate());
                yield data;
            }
            case LOGICAL_BLOCK_PROVISIONING -> {
                byte[] data = new byte[4];
                if (options.discard()) {
                    // UNMAP, WRITE SAME (16) and (10) with UNMAP; thinly provisioned.
                    data[1] = (byte) 0xe0;
                    data[2] = 2;
                }
                yield data;
            }
            default -> new byte[0];
        };
    }

    /** The device identification page: a name by vendor and serial number, and a world wide one. */
    static byte[] identification(String vendor, String serial, long wwn) {
        byte[] name = serial.getBytes(StandardCharsets.US_ASCII);
        int first = 4 + 8 + name.length;
        byte[] page = new byte[first + (wwn == 0 ? 0 : 12)];
        page[0] = 2;
        page[1] = 1;
        page[3] = (byte) (8 + name.length);
        Bytes.text(page, 4, 8, vendor);
        System.arraycopy(name, 0, page, 12, name.length);
        if (wwn != 0) {
            page[first] = 1;
            page[first + 1] = 3;
            page[first + 3] = 8;
            Bytes.int64(page, first + 4, wwn);
        }
        return page;
    }
}
