package org.benchtop.scsi.pvscsi;

import org.benchtop.spi.device.Register;

/** Registers of BAR 0, as the driver's header {@code vmw_pvscsi.h} of Linux names them. */
enum PvscsiRegister implements Register {
    COMMAND(0x0000, Access.WRITE_ONLY),
    COMMAND_DATA(0x0004, Access.WRITE_ONLY),
    COMMAND_STATUS(0x0008, Access.READ_ONLY),
    LAST_STS_0(0x0100, Access.READ_WRITE),
    LAST_STS_1(0x0104, Access.READ_WRITE),
    LAST_STS_2(0x0108, Access.READ_WRITE),
    LAST_STS_3(0x010c, Access.READ_WRITE),
    INTR_STATUS(0x100c, Access.READ_WRITE),
    INTR_MASK(0x2010, Access.READ_WRITE),
    KICK_NON_RW_IO(0x3014, Access.WRITE_ONLY),
    DEBUG(0x3018, Access.READ_WRITE),
    KICK_RW_IO(0x4018, Access.WRITE_ONLY);

    private final int offset;
    private final Access access;

    PvscsiRegister(int offset, Access access) {
        this.offset = offset;
        this.access = access;
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
        return 0;
    }

    @Override
    public String spec() {
        return "vmw_pvscsi.h";
    }
}
