package org.benchtop.scsi.megasas;

import org.benchtop.spi.device.Register;

/** Registers of a SAS1078 in MFI mode, as the driver's header {@code megaraid_sas.h} of Linux lays them out. */
enum MfiRegister implements Register {
    OUTBOUND_MSG_0(0x18, Access.READ_ONLY, Megasas.FIRMWARE_READY),
    INBOUND_DOORBELL(0x20, Access.WRITE_ONLY, 0),
    OUTBOUND_INTR_STATUS(0x30, Access.READ_ONLY, 0),
    OUTBOUND_INTR_MASK(0x34, Access.READ_WRITE, 0xffff_ffffL),
    INBOUND_QUEUE_PORT(0x40, Access.WRITE_ONLY, 0),
    OUTBOUND_DOORBELL(0x9c, Access.READ_ONLY, 0),
    OUTBOUND_DOORBELL_CLEAR(0xa0, Access.READ_WRITE, 0),
    OUTBOUND_SCRATCH_PAD_0(0xb0, Access.READ_ONLY, Megasas.FIRMWARE_READY),
    OUTBOUND_SCRATCH_PAD_1(0xb4, Access.READ_ONLY, 0),
    INBOUND_LOW_QUEUE_PORT(0xc0, Access.WRITE_ONLY, 0),
    INBOUND_HIGH_QUEUE_PORT(0xc4, Access.WRITE_ONLY, 0);

    private final int offset;
    private final Access access;
    private final long resetValue;

    MfiRegister(int offset, Access access, long resetValue) {
        this.offset = offset;
        this.access = access;
        this.resetValue = resetValue;
    }

    @Override
    public int offset() {
        return offset;
    }

    @Override
    public int size() {
        return 4;
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
        return "megaraid_sas.h";
    }
}
