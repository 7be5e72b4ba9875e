package org.benchtop.virtio.blk;

import org.benchtop.spi.device.Register;

/** {@code struct virtio_blk_config} (VIRTIO 1.2, 5.2.4), as far as its features are offered. */
enum BlkConfigRegister implements Register {
    CAPACITY(0x00, 8, Access.READ_ONLY),
    SEG_MAX(0x0c, 4, Access.READ_ONLY),
    CYLINDERS(0x10, 2, Access.READ_ONLY),
    HEADS(0x12, 1, Access.READ_ONLY),
    SECTORS(0x13, 1, Access.READ_ONLY),
    BLK_SIZE(0x14, 4, Access.READ_ONLY),
    PHYSICAL_BLOCK_EXP(0x18, 1, Access.READ_ONLY),
    ALIGNMENT_OFFSET(0x19, 1, Access.READ_ONLY),
    MIN_IO_SIZE(0x1a, 2, Access.READ_ONLY),
    OPT_IO_SIZE(0x1c, 4, Access.READ_ONLY),
    WRITEBACK(0x20, 1, Access.READ_WRITE),
    NUM_QUEUES(0x22, 2, Access.READ_ONLY),
    MAX_DISCARD_SECTORS(0x24, 4, Access.READ_ONLY),
    MAX_DISCARD_SEG(0x28, 4, Access.READ_ONLY),
    DISCARD_SECTOR_ALIGNMENT(0x2c, 4, Access.READ_ONLY),
    MAX_WRITE_ZEROES_SECTORS(0x30, 4, Access.READ_ONLY),
    MAX_WRITE_ZEROES_SEG(0x34, 4, Access.READ_ONLY),
    WRITE_ZEROES_MAY_UNMAP(0x38, 1, Access.READ_ONLY);

    private final int offset;
    private final int size;
    private final Access access;

    BlkConfigRegister(int offset, int size, Access access) {
        this.offset = offset;
        this.size = size;
        this.access = access;
    }

    @Override
    public int offset() {
        return offset;
    }

    @Override
    public int size() {
        return size;
    }

    @Override
    public Access access() {
        return access;
    }

    @Override
    public long resetValue() {
        return 0;
    }

    @Override
    public String spec() {
        return "VIRTIO 1.2, 5.2.4";
    }
}
