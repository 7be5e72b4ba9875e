package org.benchtop.ide.piix;

import org.benchtop.spi.device.Register;

/** The bus-master registers of one channel (82371FB/SB data sheet, 2.7; Programming Interface for Bus Master IDE 1.0). */
enum BusMasterRegister implements Register {
    COMMAND(0, 1),
    STATUS(2, 1),
    TABLE(4, 4);

    private final int offset;
    private final int size;

    BusMasterRegister(int offset, int size) {
        this.offset = offset;
        this.size = size;
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
        return Access.READ_WRITE;
    }

    @Override
    public long resetValue() {
        return 0;
    }

    @Override
    public String spec() {
        return "82371SB, 2.7";
    }
}
