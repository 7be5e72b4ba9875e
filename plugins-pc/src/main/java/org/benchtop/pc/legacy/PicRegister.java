package org.benchtop.pc.legacy;

import static org.benchtop.pc.common.RegisterSpec.readWrite;

import org.benchtop.pc.common.RegisterSpec;

/** The ports of one 8259A, and, for people, what it keeps inside. */
enum PicRegister implements RegisterSpec.Table {
    COMMAND(readWrite(0, 1, 0, "231468 ICW1, OCW2, OCW3; reads IRR or ISR")),
    MASK(readWrite(1, 1, 0, "231468 ICW2 to ICW4, OCW1; reads the mask"));

    private final RegisterSpec row;

    PicRegister(RegisterSpec row) {
        this.row = row;
    }

    @Override
    public RegisterSpec row() {
        return row;
    }
}
