package org.benchtop.pc.legacy;

import static org.benchtop.pc.common.RegisterSpec.readWrite;
import static org.benchtop.pc.common.RegisterSpec.writeOnly;

import org.benchtop.pc.common.RegisterSpec;

/** The ports of an 8254 as offsets from 0x40. */
enum PitRegister implements RegisterSpec.Table {
    COUNTER0(readWrite(0, 1, 0, "231164 counter 0: interrupt 0")),
    COUNTER1(readWrite(1, 1, 0, "231164 counter 1: memory refresh")),
    COUNTER2(readWrite(2, 1, 0, "231164 counter 2: speaker")),
    CONTROL(writeOnly(3, 1, "231164 control word"));

    private final RegisterSpec row;

    PitRegister(RegisterSpec row) {
        this.row = row;
    }

    @Override
    public RegisterSpec row() {
        return row;
    }
}
