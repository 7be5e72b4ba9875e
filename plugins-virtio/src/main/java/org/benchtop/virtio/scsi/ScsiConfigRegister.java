package org.benchtop.virtio.scsi;

import org.benchtop.spi.device.Register;

/** {@code struct virtio_scsi_config} (VIRTIO 1.2, 5.6.4). */
enum ScsiConfigRegister implements Register {
    NUM_QUEUES(0x00, 4, Access.READ_ONLY),
    SEG_MAX(0x04, 4, Access.READ_ONLY),
    MAX_SECTORS(0x08, 4, Access.READ_ONLY),
    CMD_PER_LUN(0x0c, 4, Access.READ_ONLY),
    EVENT_INFO_SIZE(0x10, 4, Access.READ_ONLY),
    SENSE_SIZE(0x14, 4, Access.READ_WRITE),
    CDB_SIZE(0x18, 4, Access.READ_WRITE),
    MAX_CHANNEL(0x1c, 2, Access.READ_ONLY),
    MAX_TARGET(0x1e, 2, Access.READ_ONLY),
    MAX_LUN(0x20, 4, Access.READ_ONLY);

    private final int offset;
    private final int size;
    private final Access access;

    ScsiConfigRegister(int offset, int size, Access access) {
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
        return "VIRTIO 1.2, 5.6.4";
    }
}
