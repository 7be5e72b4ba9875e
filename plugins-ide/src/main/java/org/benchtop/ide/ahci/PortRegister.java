package org.benchtop.ide.ahci;

import org.benchtop.spi.device.Register;

/** The registers of one port (AHCI 1.3.1, 3.3). */
enum PortRegister implements Register {
    CLB(0x00, Access.READ_WRITE),
    CLBU(0x04, Access.READ_WRITE),
    FB(0x08, Access.READ_WRITE),
    FBU(0x0c, Access.READ_WRITE),
    IS(0x10, Access.READ_WRITE),
    IE(0x14, Access.READ_WRITE),
    CMD(0x18, Access.READ_WRITE),
    TFD(0x20, Access.READ_ONLY),
    SIG(0x24, Access.READ_ONLY),
    SSTS(0x28, Access.READ_ONLY),
    SCTL(0x2c, Access.READ_WRITE),
    SERR(0x30, Access.READ_WRITE),
    SACT(0x34, Access.READ_WRITE),
    CI(0x38, Access.READ_WRITE);

    private final int offset;
    private final Access access;

    PortRegister(int offset, Access access) {
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
        return switch (this) {
            case CMD -> 0x0000_0006;
            case TFD -> 0x7f;
            case SIG -> 0xffff_ffffL;
            default -> 0;
        };
    }

    @Override
    public String spec() {
        return "AHCI 1.3.1, 3.3";
    }
}
