package com.acme.benchtop;

import org.benchtop.spi.device.Register;

/** The registers of the counter, in BAR0. */
enum AcmeRegister implements Register {
    /** Always 0x454d4341, "ACME". */
    ID(0x00, 4, Access.READ_ONLY, 0x454d_4341),
    /** Bit 0 lets the counter run, bit 1 enables interrupts. */
    CONTROL(0x04, 4, Access.READ_WRITE, 0),
    /** Microseconds between two counts, at least 10; 0 takes the period of the options. */
    PERIOD(0x08, 4, Access.READ_WRITE, 0),
    /** Bit 0: limit reached. Bit 1: count written to memory. Bit 2: memory could not be written. Write ones to clear. */
    STATUS(0x0c, 4, Access.READ_WRITE, 0),
    /** The count. */
    COUNT(0x10, 8, Access.READ_ONLY, 0),
    /** The count that sets status bit 0 and starts over; 0 for none. */
    LIMIT(0x18, 8, Access.READ_WRITE, 0),
    /** Where the doorbell writes the count. */
    TARGET(0x20, 8, Access.READ_WRITE, 0),
    /** Any write writes the count to guest memory, later. */
    DOORBELL(0x28, 4, Access.WRITE_ONLY, 0);

    private final int offset;
    private final int size;
    private final Access access;
    private final long resetValue;

    AcmeRegister(int offset, int size, Access access, long resetValue) {
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
        return "README.md";
    }
}
