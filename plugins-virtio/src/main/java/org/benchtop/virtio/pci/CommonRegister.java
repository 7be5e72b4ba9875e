package org.benchtop.virtio.pci;

import org.benchtop.spi.device.Register;

/** {@code struct virtio_pci_common_cfg} (VIRTIO 1.2, 4.1.4.3); 64-bit fields as two registers of 32 bits. */
enum CommonRegister implements Register {
    DEVICE_FEATURE_SELECT(0x00, 4, Access.READ_WRITE, 0),
    DEVICE_FEATURE(0x04, 4, Access.READ_ONLY, 0),
    DRIVER_FEATURE_SELECT(0x08, 4, Access.READ_WRITE, 0),
    DRIVER_FEATURE(0x0c, 4, Access.READ_WRITE, 0),
    CONFIG_MSIX_VECTOR(0x10, 2, Access.READ_WRITE, 0xffff),
    NUM_QUEUES(0x12, 2, Access.READ_ONLY, 0),
    DEVICE_STATUS(0x14, 1, Access.READ_WRITE, 0),
    CONFIG_GENERATION(0x15, 1, Access.READ_ONLY, 0),
    QUEUE_SELECT(0x16, 2, Access.READ_WRITE, 0),
    QUEUE_SIZE(0x18, 2, Access.READ_WRITE, 0),
    QUEUE_MSIX_VECTOR(0x1a, 2, Access.READ_WRITE, 0xffff),
    QUEUE_ENABLE(0x1c, 2, Access.READ_WRITE, 0),
    QUEUE_NOTIFY_OFF(0x1e, 2, Access.READ_ONLY, 0),
    QUEUE_DESC(0x20, 4, Access.READ_WRITE, 0),
    QUEUE_DESC_HIGH(0x24, 4, Access.READ_WRITE, 0),
    QUEUE_DRIVER(0x28, 4, Access.READ_WRITE, 0),
    QUEUE_DRIVER_HIGH(0x2c, 4, Access.READ_WRITE, 0),
    QUEUE_DEVICE(0x30, 4, Access.READ_WRITE, 0),
    QUEUE_DEVICE_HIGH(0x34, 4, Access.READ_WRITE, 0),
    QUEUE_NOTIFY_DATA(0x38, 2, Access.READ_ONLY, 0),
    QUEUE_RESET(0x3a, 2, Access.READ_WRITE, 0);

    /** The length of the structure. */
    static final int SIZE = 0x3c;

    private final int offset;
    private final int size;
    private final Access access;
    private final long resetValue;

    CommonRegister(int offset, int size, Access access, long resetValue) {
        this.offset = offset;
        this.size = size;
        this.access = access;
        this.resetValue = resetValue;
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
        return resetValue;
    }

    @Override
    public String spec() {
        return "VIRTIO 1.2, 4.1.4.3";
    }
}
