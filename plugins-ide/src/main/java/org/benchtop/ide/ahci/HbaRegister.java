package org.benchtop.ide.ahci;

import org.benchtop.spi.device.Register;

/** Generic host control (AHCI 1.3.1, 3.1). */
enum HbaRegister implements Register {
    CAP(0x00, Access.READ_ONLY),
    GHC(0x04, Access.READ_WRITE),
    IS(0x08, Access.READ_WRITE),
    PI(0x0c, Access.READ_ONLY),
    VS(0x10, Access.READ_ONLY),
    CAP2(0x24, Access.READ_ONLY);

    private final int offset;
    private final Access access;

    HbaRegister(int offset, Access access) {
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
        return this == GHC ? 0x8000_0000L : this == VS ? 0x0001_0300 : 0;
    }

    @Override
    public String spec() {
        return "AHCI 1.3.1, 3.1";
    }
}
